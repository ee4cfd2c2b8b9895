//! Attacks on the slash of a provider: who pays it, who gets it, and when it comes too late.

use gantry_market::constants::{FLAG_DEVICE_CHANGED, FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Lease, Payout, DISPUTE_BAD_OUTPUT, LEASE_ENDED, NODE_ACTIVE};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::measure::{Measured, PROCESSORS};
use gantry_market_tests::{ix, pda, Actor, Deal, Machine, Testbed};
use solana_address::Address;
use solana_signer::Signer;

use super::money::{wealth, Usd};
use super::{Row, NEW_RULE};

/// A bad leaf of a node for a lease or for none.
pub fn bad_leaf(w: &Testbed, node: Address, lease: Address, period: u64, flags: u16) -> LeafData {
    let good = w.good_leaf(node, lease, period);
    LeafData { flags, up_secs: 0, verified_secs: 0, checks_passed: 0, ..good }
}

/// Ends the running period, reports these flags of the node, and opens its fault with the leaf of `lease`.
pub fn found_out(w: &mut Testbed, keeper: &Actor, node: Address, lease: Address, flags: u16) -> Address {
    let period = w.period();
    w.warp_past_period(period);
    let leaf = bad_leaf(w, node, lease, period, flags);
    let proof = w.finalise(keeper, &[leaf]).remove(0);
    w.ok(ix::fault_open(w, &keeper.wallet(), &proof), &[&keeper.key]);
    ix::fault_of(&proof)
}

/// Applies a fault, compensates these leases, and closes it when the time for claims is over.
pub fn punished(w: &mut Testbed, fault: &Address, leases: &[Address]) {
    w.warp(300);
    w.ok(ix::slash_apply(w, fault), &[]);
    for lease in leases {
        w.ok(ix::slash_compensate(w, fault, lease), &[]);
    }
    w.warp(240);
    w.ok(ix::slash_close(w, fault), &[]);
}

/// Ends and closes a lease, so that its fee is swept.
pub fn closed(w: &mut Testbed, customer: &Actor, lease: &Address) {
    if w.read::<Lease>(lease).status != LEASE_ENDED {
        w.ok(ix::lease_end(w, &customer.wallet(), lease, 0), &[&customer.key]);
    }
    w.warp(300);
    w.ok(ix::lease_close(w, &customer.wallet(), lease), &[&customer.key]);
}

/// The owner of a node rents all of it itself at the reference price and pays for two hours, is found out, and claims.
/// Finding C 2.
pub fn own_customers_take_the_victims_pool() -> Row {
    let mut w = Testbed::new();
    let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(20_000_000_000));
    let machine = w.machine_of(&provider, ix::spec(2), 2_500_000);
    let own = w.customer(100_000_000);
    let before = wealth(&w, &[&provider, &own]);
    let order = w.order(&own, OrderArgs { gpus_per_node: 2, duration_secs: 10_000, ..ix::order_args(1) });
    let lease = w.award(&keeper, &own, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.warp(7_200);
    let receipt = ix::receipt(&w, &lease, &machine.key, &own.key, 1, 7_200);
    w.ok_all(&receipt, &[]);
    let fault = found_out(&mut w, &keeper, machine.node, lease, FLAG_DEVICE_CHANGED);
    punished(&mut w, &fault, &[lease]);
    closed(&mut w, &own, &lease);
    let profit = wealth(&w, &[&provider, &own]) - before;
    assert_eq!(profit, -13_200_000_000, "what the row says of it");
    Row {
        source: "C 2",
        attack: "A provider that is caught in fraud has rented its node to itself, and its own customer takes the pool of \
                 the slash (20 of stake)",
        instead: "no fraud",
        before: "0: all 20 came back, none burned",
        profit: Usd(profit),
        assumption: "The fraud itself brings less. Own customers save the cheat 6.8 of the 20 that it would lose \
                     without them, so only what is burned deters. `gantry market show` prints the relation \"cheating \
                     loses\"",
    }
}

/// A cheat's node with a victim's lease, ten minutes of which are paid, and one of its own customer.
struct Cheat {
    w: Testbed,
    deal: Deal,
    own: Actor,
    sham: Option<Address>,
}

fn cheat(price: Option<u64>) -> Cheat {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let own = w.customer(1_000_000_000_000);
    let (wallet, provider) = (deal.provider.wallet(), deal.provider.provider());
    let sham = price.map(|price| {
        let ask = ix::node_update(&wallet, &provider, &deal.machine.node, price, NODE_ACTIVE);
        w.ok(ask, &[&deal.provider.key]);
        let order = w.order(&own, OrderArgs { max_price: price, ..ix::order_args(2) });
        w.award(&deal.keeper, &own, &order, &deal.provider, &deal.machine)
    });
    w.warp(60);
    for lease in [Some(deal.lease), sham].into_iter().flatten() {
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&deal.machine.key]);
    }
    w.warp(600);
    Cheat { w, deal, own, sham }
}

impl Cheat {
    fn pays(&mut self) {
        self.w.settle(&self.deal, 1, 600);
        if let Some(sham) = self.sham {
            let receipt = ix::receipt(&self.w, &sham, &self.deal.machine.key, &self.own.key, 1, 600);
            self.w.ok_all(&receipt, &[]);
        }
    }

    fn caught(&mut self, lease: Address, flags: u16) -> Address {
        found_out(&mut self.w, &self.deal.keeper, self.deal.machine.node, lease, flags)
    }

    fn punished(&mut self, fault: &Address) {
        let leases: Vec<Address> = self.sham.into_iter().chain([self.deal.lease]).collect();
        punished(&mut self.w, fault, &leases);
        closed(&mut self.w, &self.deal.customer, &self.deal.lease);
        if let Some(sham) = self.sham {
            closed(&mut self.w, &self.own, &sham);
        }
    }

    fn wealth(&self) -> i128 {
        wealth(&self.w, &[&self.deal.provider, &self.own])
    }
}

/// Finding R 1.
pub fn a_sham_lease_at_an_invented_price() -> Row {
    let loss = |price| {
        let mut c = cheat(price);
        let victim = c.deal.customer.wallet();
        c.pays();
        let lease = c.deal.lease;
        let fault = c.caught(lease, FLAG_DEVICE_CHANGED);
        c.punished(&fault);
        let got: Payout = c.w.read(&pda::payout(&victim, &fault));
        (c.wealth(), got.amount)
    };
    let ((with, beside_it), (without, alone)) = (loss(Some(2_000_000_000)), loss(None));
    assert_eq!(beside_it, alone, "the victim gets what it paid, whoever is beside it");
    Row {
        source: "C 2, R 1",
        attack: "Beside a victim, the cheat's own customer pays 2,000 USDC an hour, so that most of the harm is its own",
        instead: "is caught as well, without that customer",
        before: "the victim got 0, the cheat 20 of 20",
        profit: Usd(with - without),
        assumption: "",
    }
}

/// Finding C 3.
pub fn the_finder_strips_the_victim() -> Row {
    let play = |of_lease: bool| {
        let mut c = cheat(None);
        c.pays();
        let before = wealth(&c.w, &[&c.deal.keeper]);
        let leaf = if of_lease { c.deal.lease } else { Address::default() };
        let fault = c.caught(leaf, FLAG_DEVICE_CHANGED);
        c.punished(&fault);
        wealth(&c.w, &[&c.deal.keeper]) - before
    };
    Row {
        source: "C 3",
        attack: "The keeper that opens a fault picks the leaf without a lease, so that nobody was harmed and the finder \
                 is paid more",
        instead: "the leaf of the victim's lease",
        before: "+2, and the victim got 0",
        profit: Usd(play(false) - play(true)),
        assumption: "",
    }
}

/// Finding R 2.
pub fn receipts_are_held_back() -> Row {
    let play = |held_back: bool| {
        let mut c = cheat(None);
        if !held_back {
            c.pays();
        }
        let lease = c.deal.lease;
        let fault = c.caught(lease, FLAG_WORK_FAILED);
        if held_back {
            // Noted, not paid: neither now nor when the slash is over.
            c.pays();
        }
        c.punished(&fault);
        c.wealth()
    };
    Row {
        source: "R 2",
        attack: "A provider holds its receipts back until the slash is over: nobody has paid, so nobody was harmed",
        instead: "is caught as well, with the receipts settled",
        before: "0",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Finding R 3.
pub fn a_small_fault_shields_from_a_large_one() -> Row {
    let play = |small_first: bool| {
        let mut c = cheat(None);
        let small = small_first.then(|| c.caught(Address::default(), FLAG_WORK_FAILED));
        let large = c.caught(Address::default(), FLAG_DEVICE_CHANGED);
        c.w.warp(300);
        for fault in small.into_iter().chain([large]) {
            c.w.ok(ix::slash_apply(&c.w, &fault), &[]);
        }
        c.wealth()
    };
    Row {
        source: "R 3",
        attack: "A provider lets a small fault of its node be found first, so that the large one of the same cause \
                 costs nothing more",
        instead: "the large one alone",
        before: "0",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Two nodes are found out in the same period.
/// Finding R 4.
pub fn nodes_share_one_stake() -> Row {
    let play = |shared: bool| {
        let mut w = Testbed::new();
        let keeper = w.keeper(w.params.min_bond);
        let first = w.provider(if shared { 20_000_000_000 } else { 10_000_000_000 });
        let second = if shared { first.again() } else { w.provider(10_000_000_000) };
        let machines = [w.machine(&first, 1), w.machine(&second, 1)];
        w.warp(60);
        let own: Vec<&Actor> = if shared { vec![&first] } else { vec![&first, &second] };
        let before = wealth(&w, &own);
        let period = w.period();
        w.warp_past_period(period);
        let leaf = |m: &Machine| bad_leaf(&w, m.node, Address::default(), period, FLAG_DEVICE_CHANGED);
        let leaves = [leaf(&machines[0]), leaf(&machines[1])];
        let proofs = w.finalise(&keeper, &leaves);
        for proof in &proofs {
            w.ok(ix::fault_open(&w, &keeper.wallet(), proof), &[&keeper.key]);
        }
        w.warp(300);
        for proof in &proofs {
            w.ok(ix::slash_apply(&w, &ix::fault_of(proof)), &[]);
        }
        wealth(&w, &own) - before
    };
    Row {
        source: "R 4",
        attack: "Two cheating nodes stand under one provider, so that one stake pays for both",
        instead: "each node under a provider of its own",
        before: "0",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

/// Finding R 5.
pub fn the_node_leaves_before_it_is_found_out() -> Row {
    let play = |leaves: bool| {
        let mut c = cheat(None);
        let (provider, node) = (c.deal.provider.again(), c.deal.machine.node);
        c.w.ok(ix::lease_end(&c.w, &c.deal.customer.wallet(), &c.deal.lease, 0), &[&c.deal.customer.key]);
        let period = c.w.period();
        let closing = ix::node_close(&provider, &c.deal.machine.key.pubkey(), 2);
        if leaves {
            c.w.ok(ix::node_retire(&provider, &node), &[&provider.key]);
            c.w.warp_past_period(period + 3);
            assert!(c.w.send(&[closing], &[&provider.key]).is_err());
            let unstake = ix::provider_request_unstake(&provider, 20_000_000_000);
            assert!(c.w.send(&[unstake], &[&provider.key]).is_err());
        }
        c.w.warp_past_period(period + 3);
        let leaf = bad_leaf(&c.w, node, Address::default(), period, FLAG_DEVICE_CHANGED);
        let proof = c.w.finalise(&c.deal.keeper, &[leaf]).remove(0);
        let keeper = &c.deal.keeper;
        c.w.ok(ix::fault_open(&c.w, &keeper.wallet(), &proof), &[&keeper.key]);
        c.w.warp(300);
        c.w.ok(ix::slash_apply(&c.w, &ix::fault_of(&proof)), &[]);
        c.wealth()
    };
    Row {
        source: "R 5",
        attack: "A cheat retires and closes its node three periods later, before its report is final",
        instead: "stays and is caught",
        before: "+20: the node was closed, and no fault could be opened",
        profit: Usd(play(true) - play(false)),
        assumption: "a report becomes final within the retention of reports",
    }
}

/// A node of eight GPUs is offline for a period: sold as one lease, or as eight.
/// Finding C 5.
pub fn one_large_lease_instead_of_eight() -> Row {
    let play = |gpus: u8| {
        let mut w = Testbed::new();
        let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(80_000_000_000));
        let machine = w.machine(&provider, 8);
        let customer = w.customer(1_000_000_000);
        let leases: Vec<Address> = (0..8 / gpus)
            .map(|at| {
                let args = OrderArgs { gpus_per_node: gpus, ..ix::order_args(u64::from(at)) };
                let order = w.order(&customer, args);
                let lease = w.award(&keeper, &customer, &order, &provider, &machine);
                w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
                lease
            })
            .collect();
        w.warp(60);
        let before = wealth(&w, &[&provider]);
        let period = w.period();
        w.warp_past_period(period);
        let leaf = |lease: &Address| LeafData {
            downtime_secs: 60,
            ..bad_leaf(&w, machine.node, *lease, period, FLAG_OFFLINE)
        };
        let leaves: Vec<LeafData> = leases.iter().map(leaf).collect();
        let proofs = w.finalise(&keeper, &leaves);
        for proof in &proofs {
            w.ok(ix::fault_open(&w, &keeper.wallet(), proof), &[&keeper.key]);
        }
        w.warp(300);
        for proof in &proofs {
            w.ok(ix::slash_apply(&w, &ix::fault_of(proof)), &[]);
        }
        wealth(&w, &[&provider]) - before
    };
    Row {
        source: "C 5d",
        attack: "A provider sells its eight GPUs as one lease, so that an outage is one fault",
        instead: "eight leases of one GPU",
        before: "+28: it lost 4 of 80 instead of 32",
        profit: Usd(play(8) - play(1)),
        assumption: "",
    }
}

/// Finding C 6.
pub fn one_payment_is_made_good_twice() -> Row {
    let play = |twice: bool| {
        let mut c = cheat(None);
        c.pays();
        let (customer, keeper, lease) = (c.deal.customer.again(), c.deal.keeper.again(), c.deal.lease);
        c.w.ok(ix::dispute_open(&c.w, &lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&customer.key]);
        c.w.ok(ix::dispute_vote(&keeper, &lease, 1), &[&keeper.key]);
        c.w.ok(ix::dispute_uphold(&c.w, &customer.wallet(), &lease), &[&customer.key]);
        let mut faults = vec![pda::dispute_fault(&lease)];
        if twice {
            faults.push(c.caught(Address::default(), FLAG_WORK_FAILED));
        }
        c.w.warp(300);
        for fault in &faults {
            c.w.ok(ix::slash_apply(&c.w, fault), &[]);
            c.w.ok(ix::slash_compensate(&c.w, fault, &lease), &[]);
        }
        wealth(&c.w, &[&customer])
    };
    Row {
        source: "C 6g",
        attack: "A customer whose dispute was upheld claims the same payment from the node's fault too",
        instead: "the dispute alone",
        before: "+0.333333",
        profit: Usd(play(true) - play(false)),
        assumption: "",
    }
}

fn dies(c: &mut Cheat) {
    let (key, node) = (&c.deal.machine.key, &c.deal.machine.node);
    let dead = ix::node_report_dead(&c.w, &key.pubkey(), node);
    c.w.ok(dead, &[key]);
}

/// What a cheat has that dies, and whose check failed before, or did not.
fn died_and_failed(died: bool, failed: bool) -> i128 {
    let mut c = cheat(None);
    if died {
        dies(&mut c);
    }
    if failed {
        let fault = c.caught(Address::default(), FLAG_WORK_FAILED);
        c.w.warp(300);
        c.w.ok(ix::slash_apply(&c.w, &fault), &[]);
    }
    c.wealth()
}

/// Finding R 10.
pub fn a_cheat_that_failed_its_check_reports_a_death() -> Row {
    Row {
        source: "R 10",
        attack: "A cheat that has failed a check reports that its GPU died, before the report of that period",
        instead: "waits for the slash of a tenth (2 of 20)",
        before: NEW_RULE,
        profit: Usd(died_and_failed(true, true) - died_and_failed(false, true)),
        assumption: "",
    }
}

/// Before the draws came out of blocks of the period itself, a node knew half a minute before it who would be asked, and
/// a report of death kept the question away.
/// Finding R 10.
pub fn a_cheat_that_is_drawn_reports_a_death() -> Row {
    Row {
        source: "R 10",
        attack: "A cheat that sees in a block that it is drawn reports that its GPU died before it is asked; keepers judge \
                 it as if it had not",
        instead: "fails the check (2 of 20)",
        before: "+1.800000, when draws were known before the period",
        profit: Usd(died_and_failed(true, true) - died_and_failed(false, true)),
        assumption: "what it says then is judged; a node that is silent altogether is not (R 11)",
    }
}

/// Finding R 10.
pub fn a_cheat_reports_a_death_before_any_draw() -> Row {
    Row {
        source: "R 10",
        attack: "A cheat reports that its GPU died before it can be drawn",
        instead: "hibernates, which costs nothing",
        before: NEW_RULE,
        profit: Usd(died_and_failed(true, false) - died_and_failed(false, false)),
        assumption: "",
    }
}

/// What who brings a proof has of the slash, with little harm and with much: nothing, so that no harm can take it.
/// Finding C 6.
pub fn much_harm_leaves_the_finder_nothing() -> Row {
    let part = |paid: bool| {
        let mut c = cheat(Some(2_500_000));
        if paid {
            c.pays();
        }
        let finder = c.w.actor();
        let before = wealth(&c.w, &[&finder]);
        let node = c.deal.machine.node;
        let measured = Measured::new(node, c.w.period(), PROCESSORS, (5, 5), 3);
        c.w.accuse(&finder, &c.deal.machine.key, &measured);
        let proof = ix::prove_wrong_cell(&c.w, &finder, &node, &measured.siblings().1);
        c.w.ok(proof, &[&finder.key]);
        c.w.ok(ix::slash_apply(&c.w, &pda::work_fault(&node, &finder.wallet(), measured.period)), &[]);
        wealth(&c.w, &[&finder]) - before
    };
    let (with, without) = (part(true), part(false));
    assert_eq!((with, without), (0, 0));
    Row {
        source: "C 6i",
        attack: "A cheat's own customers pay so much that the harm takes the whole slash, so that nobody looks for proofs: \
                 what who brings the proof loses by it",
        instead: "a customer that did not pay",
        before: "+2: the whole finder's part",
        profit: Usd(without - with),
        assumption: "",
    }
}
