//! Attacks on redundant jobs: work that was accepted goes unpaid.

use gantry_market::errors::MarketError;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::Order;
use gantry_market_tests::{ix, Actor, Redundant, Run, Testbed};
use solana_signer::Signer;

use super::money::{wealth, Usd};
use super::Row;

/// Settles and closes what is left of a job, whoever it belongs to.
fn wound_up(w: &mut Testbed, job: &Redundant) {
    for lease in job.leases() {
        if w.exists(&lease) {
            w.ok(ix::lease_settle_report(w, &lease), &[]);
            w.warp(121);
            w.ok(ix::lease_close(w, &job.customer.wallet(), &lease), &[&job.customer.key]);
        }
    }
}

/// The customer owns the third machine, which does not show its output.
/// Finding C 4.
pub fn one_reveal_is_withheld() -> Row {
    let play = |withheld: bool| {
        let mut w = Testbed::new();
        let job = w.withheld();
        let own: [&Actor; 2] = [&job.customer, &job.runs[2].provider];
        if withheld {
            let close = |at: usize| ix::lease_close(&w, &job.customer.wallet(), &job.runs[at].lease);
            let at_once = [ix::output_resolve(&job.order, &job.leases()), close(0), close(1)];
            assert!(w.send(&at_once, &[&job.customer.key]).is_err());
        } else {
            let order: Order = w.read(&job.order);
            w.set_now(order.reveal_by);
            job.reveal(&mut w, 2, 4);
        }
        w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
        if withheld {
            w.ok(ix::output_forfeit(&w, &job.runs[2].lease), &[]);
        }
        wound_up(&mut w, &job);
        wealth(&w, &own)
    };
    Row {
        source: "C 4, R 16",
        attack: "One of three nodes is the customer's own and withholds its reveal, so that the others' work is accepted \
                 and closed unpaid in one transaction",
        instead: "reveals, and the customer pays all three",
        before: "+0.667: the work of both others for nothing",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// The third machine does not start, so that the order lapses while the others work.
/// Finding C 4.
pub fn the_order_is_reopened() -> Row {
    let play = |reopened: bool| {
        let mut w = Testbed::new();
        let job = w.redundant_awarded();
        for run in &job.runs[..2] {
            w.ok(ix::lease_start(&w, &run.lease, [3; 32]), &[&run.machine.key]);
        }
        w.warp(121);
        w.ok(ix::lease_abort(&w, &job.runs[2].lease), &[]);
        if reopened {
            let reopen = ix::order_reopen(&job.customer, &job.order);
            assert!(w.send(&[reopen], &[&job.customer.key]).is_err());
            let resolve = ix::output_resolve(&job.order, &job.leases()[..2]);
            assert!(w.send(&[resolve], &[]).is_err());
        }
        for (at, run) in job.runs[..2].iter().enumerate() {
            let receipt = ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 60);
            w.ok_all(&receipt, &[]);
            job.commit(&mut w, at, 4);
            let end = ix::lease_end(&w, &job.customer.wallet(), &run.lease, 0);
            w.ok(end, &[&job.customer.key]);
        }
        let order: Order = w.read(&job.order);
        w.set_now(order.outputs_by + 1);
        for at in 0..2 {
            job.reveal(&mut w, at, 4);
        }
        w.ok(ix::output_resolve(&job.order, &job.leases()[..2]), &[]);
        wound_up(&mut w, &job);
        wealth(&w, &[&job.customer])
    };
    Row {
        source: "C 4, R 16",
        attack: "A customer reopens a redundant order while two nodes work, so that its deadlines are over and their work \
                 is rejected",
        instead: "waits for the outputs and pays",
        before: "+0.667: the work of both for nothing",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Two of three nodes stand under one provider and show a wrong output; the third did the work.
/// Finding R 16.
pub fn two_nodes_of_one_owner_outvote_the_third() -> Row {
    let mut w = Testbed::new();
    let (keeper, customer) = (w.keeper(w.params.min_bond), w.customer(100_000_000));
    let args = OrderArgs {
        nodes: 3,
        run_to_completion: 1,
        redundant: 1,
        no_migration: 1,
        duration_secs: 600,
        ..ix::order_args(1)
    };
    let order = w.order(&customer, args);
    let (own, honest) = (w.provider(20_000_000_000), w.provider(10_000_000_000));
    let before = wealth(&w, &[&own]);
    let mut job = Redundant { keeper, customer, order, runs: vec![] };
    for provider in [own.again(), own.again(), honest] {
        let machine = w.machine(&provider, 1);
        let lease = w.award(&job.keeper, &job.customer, &order, &provider, &machine);
        job.runs.push(Run { provider, machine, lease });
    }
    for run in &job.runs {
        w.ok(ix::lease_start(&w, &run.lease, [3; 32]), &[&run.machine.key]);
    }
    w.warp(60);
    for (at, run) in job.runs.iter().enumerate() {
        let receipt = ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 60);
        w.ok_all(&receipt, &[]);
        job.commit(&mut w, at, if at < 2 { 9 } else { 4 });
        w.ok(ix::lease_end(&w, &run.machine.key.pubkey(), &run.lease, 0), &[&run.machine.key]);
    }
    for (at, output) in [9, 9, 4].into_iter().enumerate() {
        job.reveal(&mut w, at, output);
    }
    w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
    wound_up(&mut w, &job);
    Row {
        source: "R 16",
        attack: "Two of three nodes of a redundant job have one provider and show the same wrong output, so that the honest \
                 one is outvoted",
        instead: "takes no part",
        before: "+0.058668",
        profit: Usd(wealth(&w, &[&own]) - before),
        assumption: "two providers of one owner cannot be told apart: nodes are drawn at random among those that suit",
    }
}

/// A customer has as many nodes among those drawn as it can without being the majority, and they show another output.
/// Finding P 3.
pub fn half_of_the_nodes_show_another_output() -> Row {
    let play = |shows: bool| {
        let mut w = Testbed::new();
        let (keeper, customer) = (w.keeper(w.params.min_bond), w.customer(100_000_000));
        let of = |nodes| OrderArgs {
            nodes,
            run_to_completion: 1,
            redundant: 1,
            no_migration: 1,
            duration_secs: 600,
            ..ix::order_args(1)
        };
        // Half of four would leave nobody a majority, and a draw that does not suit would be drawn again.
        let even = ix::order_create(&customer, of(4));
        w.refused(even, &[&customer.key], MarketError::InvalidRequirement);
        let order = w.order(&customer, of(3));
        w.warp(1);
        w.refused(ix::order_cancel(&customer, &order), &[&customer.key], MarketError::TooLate);
        let own = w.provider(10_000_000_000);
        let before = wealth(&w, &[&customer, &own]);
        let mut job = Redundant { keeper, customer, order, runs: vec![] };
        for provider in [own.again(), w.provider(10_000_000_000), w.provider(10_000_000_000)] {
            let machine = w.machine(&provider, 1);
            let lease = w.award(&job.keeper, &job.customer, &order, &provider, &machine);
            job.runs.push(Run { provider, machine, lease });
        }
        for run in &job.runs {
            w.ok(ix::lease_start(&w, &run.lease, [3; 32]), &[&run.machine.key]);
        }
        w.warp(60);
        for at in 0..3 {
            let run = &job.runs[at];
            let receipt = ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 60);
            w.ok_all(&receipt, &[]);
            if shows || at > 0 {
                job.commit(&mut w, at, if at == 0 { 9 } else { 4 });
            }
            w.ok(ix::lease_end(&w, &run.machine.key.pubkey(), &run.lease, 0), &[&run.machine.key]);
        }
        let by: Order = w.read(&job.order);
        w.set_now(by.outputs_by + 1);
        for (at, output) in [9, 4, 4].into_iter().enumerate().filter(|(at, _)| shows || *at > 0) {
            job.reveal(&mut w, at, output);
        }
        let by: Order = w.read(&job.order);
        w.set_now(by.reveal_by + 1);
        w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
        wound_up(&mut w, &job);
        wealth(&w, &[&job.customer, &own]) - before
    };
    Row {
        source: "P 3, R 16",
        attack: "Half of the nodes of a redundant job over four are the customer's own and show another output, so that nobody \
                 has a majority and nobody is paid. Draws are cancelled until they suit",
        instead: "of three, its own one shows nothing",
        before: "+4.48: the work of the honest half",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// The customer's own keeper awards two of three nodes to the customer's own, which outvote the third.
/// Finding P 31.
pub fn a_majority_is_the_customers_own() -> Row {
    let play = |outputs: [u8; 3]| {
        let mut w = Testbed::new();
        let job = w.redundant();
        let own: [&Actor; 4] = [&job.keeper, &job.customer, &job.runs[0].provider, &job.runs[1].provider];
        let before = wealth(&w, &own);
        w.warp(600);
        for (at, run) in job.runs.iter().enumerate() {
            let receipt = ix::receipt(&w, &run.lease, &run.machine.key, &job.customer.key, 1, 600);
            w.ok_all(&receipt, &[]);
            job.commit(&mut w, at, outputs[at]);
            w.ok(ix::lease_end(&w, &job.customer.wallet(), &run.lease, 0), &[&job.customer.key]);
        }
        for (at, output) in outputs.into_iter().enumerate() {
            job.reveal(&mut w, at, output);
        }
        w.ok(ix::output_resolve(&job.order, &job.leases()), &[]);
        wound_up(&mut w, &job);
        wealth(&w, &own) - before
    };
    let honest = play([4, 4, 4]);
    Row {
        source: "P 31",
        attack: "A customer's own keeper awards two of three nodes of its redundant order to the customer's own. They show another \
                 output than the third, or two others, so that its work is free",
        instead: "shows what the third shows, and pays",
        before: "+0.33: the work of the third",
        profit: Usd((play([9, 9, 4]) - honest).max(play([8, 9, 4]) - honest)),
        assumption: "the customer pays for the work that lost, to the buy-back",
    }
}
