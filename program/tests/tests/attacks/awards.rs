//! Attacks by way of awards that nobody can contest, and of auctions that stop.

use gantry_market::constants::AWARD_VIEW_SECS;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;
use solana_signer::Signer;

use super::money::{wealth, Usd};
use super::slashes::closed;
use super::{Row, NEW_RULE};
use crate::auction_award::{misnamed, stopped};
use crate::prove_omitted_bid::opened;

/// What an owner of both keepers has earned by an auction over two nodes, the first award of which was made.
fn auctioned(stops: bool) -> i128 {
    let (mut s, other) = stopped();
    let keeper = s.keeper.again();
    let before = wealth(&s.w, &[&keeper, &other]);
    if stops {
        s.w.warp(31);
        let completes = s.completes(&other, [9; 32]);
        s.w.ok_all(&completes, &[&other.key]);
    } else {
        let award = s.award(s.bid(1, 1_300_000), None);
        s.ok(&award);
    }
    s.earned([&keeper, &other]);
    wealth(&s.w, &[&keeper, &other]) - before
}

/// Finding R 17.
pub fn a_keeper_stops_and_its_other_keeper_goes_on() -> Row {
    Row {
        source: "C 6h, R 17",
        attack: "A keeper stops after the first award of a sealed order over two nodes. The order would expire, or its \
                 own other keeper would be paid for the rest",
        instead: "continues",
        before: "0: no other keeper could continue, and the order expired",
        profit: Usd(auctioned(true) - auctioned(false)),
        assumption: "another keeper completes it: if it is not the owner's own, the loss is twice as large",
    }
}

/// Finding P 26.
pub fn a_bid_that_should_win_is_named_as_the_losing_one() -> Row {
    let (mut s, stranger) = misnamed();
    let keeper = s.keeper.again();
    let before = wealth(&s.w, &[&keeper]);
    s.w.warp(31);
    let completes = s.completes(&stranger, [9; 32]);
    s.w.ok_all(&completes, &[&stranger.key]);
    s.earned([&keeper, &stranger]);
    let misnames = wealth(&s.w, &[&keeper]) - before;
    Row {
        source: "P 26",
        attack: "A keeper makes the first award of a sealed order over two nodes. It names the bid that should win too as the best \
                 losing one, so that nobody can win behind it",
        instead: "names the right one and makes both awards",
        before: "0: the order expired, and the keeper lost nothing",
        profit: Usd(misnames - auctioned(false)),
        assumption: "another keeper completes it",
    }
}

/// Three nodes bid; the keeper and the winner have one owner.
/// Finding R 9.
pub fn a_dear_losing_bid_is_named() -> Row {
    let play = |bar: u64| {
        let mut c = opened(ix::sealed_args(1));
        let all = [c.keeper.again(), c.provider.again()];
        let all: Vec<&Actor> = all.iter().collect();
        let before = wealth(&c.w, &all);
        c.award(Some(bar));
        let (lease, key) = (c.lease(), c.machines[0].key.insecure_clone());
        c.w.ok(ix::lease_start(&c.w, &lease, [3; 32]), &[&key]);
        if bar > 1_500_000 {
            c.ok();
        }
        c.w.warp(3_600);
        c.w.ok_all(&ix::receipt(&c.w, &lease, &key, &c.customer.key, 1, 3_600), &[]);
        let customer = c.customer.again();
        closed(&mut c.w, &customer, &lease);
        wealth(&c.w, &all) - before
    };
    Row {
        source: "R 9",
        attack: "A keeper leaves out the bid of 1.50 USDC that should set the price of its own winning node, and names one of \
                 2 instead",
        instead: "names the bid of 1.50",
        before: "−1.554",
        profit: Usd(play(2_000_000) - play(1_500_000)),
        assumption: "the node that was left out proves it: it has the keeper's signature that its bid arrived",
    }
}

/// The customer, the keeper and a node at a price of nearly nothing have one owner; the node that serves has not.
/// Finding R 9.
pub fn an_own_customer_has_its_price_lowered() -> Row {
    let play = |proves: bool| {
        let mut w = Testbed::new();
        let keeper = w.keeper(w.params.min_bond);
        let (honest, own) = (w.provider(80_000_000_000), w.provider(80_000_000_000));
        let served = w.machine_of(&honest, ix::spec(8), 2_500_000);
        let decoy = w.machine_of(&own, ix::spec(8), 1);
        let customer = w.customer(1_000_000_000);
        w.warp(AWARD_VIEW_SECS + 1);
        let all = [&keeper, &own, &customer];
        let before = wealth(&w, &all);
        let order = w.order(&customer, OrderArgs { gpus_per_node: 8, ..ix::order_args(1) });
        let lease = w.award(&keeper, &customer, &order, &honest, &served);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&served.key]);
        // As late as an award can be contested, and nothing is paid before.
        w.warp(60);
        if proves {
            let proof = ix::prove_better_ask(&w, &customer, &lease, &decoy.node);
            w.ok(proof, &[&customer.key]);
        }
        w.warp(10);
        w.ok_all(&ix::receipt(&w, &lease, &served.key, &customer.key, 1, 70), &[]);
        let by = if proves { honest.wallet() } else { customer.wallet() };
        w.ok(ix::lease_end(&w, &by, &lease, 0), &[&honest.key, &customer.key]);
        closed(&mut w, &customer, &lease);
        wealth(&w, &all) - before
    };
    Row {
        source: "R 9",
        attack: "A keeper awards its own customer's order to another's node. It proves that its own node at nearly \
                 nothing was better, and the unpaid work would cost nothing (8 GPUs, a bond of 1)",
        instead: "the customer pays",
        before: NEW_RULE,
        profit: Usd(play(true) - play(false)),
        assumption: "the provider ends a lease that was repriced at once, and does not serve for longer than the time to \
                     contest an award without a payment",
    }
}

/// Two nodes of a keeper's own provider at 3 USDC, while two of another's were free at 2.
/// Finding R 9.
pub fn an_order_over_two_nodes_goes_to_own_dear_ones() -> Row {
    let play = |price: u64| {
        let mut w = Testbed::new();
        let keeper = w.keeper(10_000_000_000);
        let (honest, own) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
        let better = [0, 1].map(|_| w.machine_of(&honest, ix::spec(1), 2_000_000));
        let worse = [0, 1].map(|_| w.machine_of(&own, ix::spec(1), price));
        let (customer, finder) = (w.customer(100_000_000), w.actor());
        w.warp(AWARD_VIEW_SECS + 1);
        let all: [&Actor; 2] = [&keeper, &own];
        let before = wealth(&w, &all);
        let order = w.order(&customer, OrderArgs { nodes: 2, max_price: 4_000_000, ..ix::order_args(1) });
        let leases: [Address; 2] = [0, 1].map(|at| w.award(&keeper, &customer, &order, &own, &worse[at]));
        for (lease, machine) in leases.iter().zip(&worse) {
            w.ok(ix::lease_start(&w, lease, [3; 32]), &[&machine.key]);
            let proof = ix::prove_better_ask(&w, &finder, lease, &better[0].node);
            let proven = w.send(&[proof], &[&finder.key]).is_ok();
            assert_eq!(proven, price > 2_000_000);
        }
        w.warp(3_600);
        for (lease, machine) in leases.iter().zip(&worse) {
            w.ok_all(&ix::receipt(&w, lease, &machine.key, &customer.key, 1, 3_600), &[]);
            closed(&mut w, &customer, lease);
        }
        wealth(&w, &all) - before
    };
    Row {
        source: "R 9",
        attack: "A keeper awards an order over two nodes for an hour to its own at 3 USDC although two of another were free at \
                 2",
        instead: "its nodes ask 2 USDC",
        before: "+1.784: it could not be proven",
        profit: Usd(play(3_000_000) - play(2_000_000)),
        assumption: "somebody proves it",
    }
}

/// Keys are tried until the nodes of the keeper's own provider share the last bits of an honest one's first byte each: these
/// alone once stood for a node.
/// Finding P 5.
pub fn ground_addresses_shield_own_dear_nodes() -> Row {
    let play = |price: u64| {
        let mut w = Testbed::new();
        let keeper = w.keeper(10_000_000_000);
        let (honest, own) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
        let better = [0, 1].map(|_| w.machine_of(&honest, ix::spec(1), 2_000_000));
        let worse = better.each_ref().map(|rival| ground(&mut w, &own, &rival.node, price));
        let (customer, finder) = (w.customer(100_000_000), w.actor());
        w.warp(AWARD_VIEW_SECS + 1);
        let all: [&Actor; 2] = [&keeper, &own];
        let before = wealth(&w, &all);
        let order = w.order(&customer, OrderArgs { nodes: 2, max_price: 4_000_000, ..ix::order_args(1) });
        let leases = worse.each_ref().map(|machine| w.award(&keeper, &customer, &order, &own, machine));
        for (lease, machine) in leases.iter().zip(&worse) {
            w.ok(ix::lease_start(&w, lease, [3; 32]), &[&machine.key]);
            let proof = ix::prove_better_ask(&w, &finder, lease, &better[0].node);
            assert_eq!(w.send(&[proof], &[&finder.key]).is_ok(), price > 2_000_000);
        }
        w.warp(3_600);
        for (lease, machine) in leases.iter().zip(&worse) {
            w.ok_all(&ix::receipt(&w, lease, &machine.key, &customer.key, 1, 3_600), &[]);
            closed(&mut w, &customer, lease);
        }
        wealth(&w, &all) - before
    };
    Row {
        source: "P 5, R 9",
        attack: "The same, and the addresses of its nodes were tried out so that they share the bits of the cheap ones, by which \
                 an order remembers its nodes",
        instead: "its nodes ask 2 USDC",
        before: "+1.784: no proof was taken",
        profit: Usd(play(3_000_000) - play(2_000_000)),
        assumption: "somebody proves it",
    }
}

/// A machine of one GPU whose node's address shares the last seven bits of a rival's first byte.
fn ground(w: &mut Testbed, provider: &Actor, rival: &Address, price: u64) -> Machine {
    let wanted = rival.to_bytes()[0] & 127;
    loop {
        let key = w.fresh_key();
        let node = pda::node(&provider.provider(), &key.pubkey());
        if node.to_bytes()[0] & 127 == wanted {
            let register = ix::node_register(provider, &key.pubkey(), ix::spec(1), price);
            w.ok(register, &[&provider.key, &key]);
            return Machine { key, node, gpus: 1 };
        }
    }
}
