//! Attacks by uptime guarantees that are not kept.

use gantry_market::constants::FLAG_WORK_FAILED;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::math::reputation::reputation_bps;
use gantry_market::math::score::score;
use gantry_market::state::{Lease, Node, DISPUTE_BAD_OUTPUT, NODE_ACTIVE};
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::{ix, pda, Testbed};
use solana_account::Account;
use solana_address::Address;

use super::money::{wealth, Usd};
use super::slashes::closed;
use super::{Row, NEW_RULE, SEEN};

/// A guarantee that is broken, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guarantee {
    None,
    Broken,
    /// And the lease under it is not closed before it is resolved.
    BrokenOpen,
    /// Nor paid: the provider's payout account is gone until then.
    BrokenHidden,
}

impl Guarantee {
    fn open(self) -> bool {
        matches!(self, Self::BrokenOpen | Self::BrokenHidden)
    }
}

/// What a provider has that sells a GPU for so many hours, with 10 of stake. A guarantee of uninterrupted uptime is worth a
/// twentieth of the price: with one it sells at 2 USDC an hour, without at 1.90. `own` counts the customer too.
fn sold(guarantee: Guarantee, hours: u32, own: bool) -> i128 {
    let mut w = Testbed::quick();
    let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(10_000_000_000));
    let price = if guarantee == Guarantee::None { 1_900_000 } else { 2_000_000 };
    let machine = w.machine_of(&provider, ix::spec(1), price);
    let customer = w.customer(10_000_000_000);
    let all = if own { vec![&provider, &customer] } else { vec![&provider] };
    let before = wealth(&w, &all);
    let since = ((w.period() + 1) * 60) as i64;
    let until = since + i64::from(hours) * 3_600;
    if guarantee != Guarantee::None {
        w.ok(ix::node_guarantee(&provider, &machine.node, until, 10_000), &[&provider.key]);
    }
    w.set_now(since);
    let order = w.order(&customer, OrderArgs { duration_secs: 2 * hours * 3_600, ..ix::order_args(1) });
    let lease = w.award(&keeper, &customer, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.set_now(until - 60);
    let served = hours * 3_600 - 60;
    let paid = ix::receipt(&w, &lease, &machine.key, &customer.key, 1, served);
    if guarantee == Guarantee::BrokenHidden {
        let gone = w.token_account(w.payment_mint, provider.wallet(), 0);
        w.ok(ix::provider_set_payout(&provider, gone), &[&provider.key]);
        w.svm.set_account(gone, Account::default()).expect("account is written");
        assert!(w.send(&paid, &[]).is_err(), "nobody is paid");
        // What reports have verified meanwhile.
        let last = w.period() - 1;
        w.alter(&lease, |l: &mut Lease| (l.verified_secs, l.last_report_period) = (served, last));
    } else {
        w.ok_all(&paid, &[]);
    }
    // It is away in the last period.
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(machine.node, Address::default(), period);
    let proof = w.finalise(&keeper, &[LeafData { up_secs: 0, ..leaf }]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    if !guarantee.open() {
        closed(&mut w, &customer, &lease);
    }
    if guarantee != Guarantee::None {
        w.set_now(until + 120 + 300);
        let open: &[Address] = if guarantee.open() { &[lease] } else { &[] };
        w.ok(ix::guarantee_resolve_of(&w, &keeper, &machine.node, open), &[&keeper.key]);
        let fault = pda::guarantee_fault(&machine.node, until);
        w.ok(ix::slash_apply(&w, &fault), &[]);
        if guarantee.open() {
            w.ok(ix::slash_compensate(&w, &fault, &lease), &[]);
            w.ok(ix::provider_set_payout(&provider, provider.payment), &[&provider.key]);
            w.ok(ix::lease_settle_report(&w, &lease), &[]);
            closed(&mut w, &customer, &lease);
        }
    }
    wealth(&w, &all) - before
}

/// A rival is the customer of a guaranteed node, of which a wrong fault is found and voided.
/// Finding C 5.
pub fn a_voided_fault_breaks_a_rivals_guarantee() -> Row {
    let mut w = Testbed::quick();
    let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(10_000_000_000));
    let machine = w.machine(&provider, 1);
    let rival = w.customer(100_000_000);
    let since = ((w.period() + 1) * 60) as i64;
    let until = since + 1_200;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 10_000), &[&provider.key]);
    w.set_now(since);
    let order = w.order(&rival, ix::order_args(1));
    let lease = w.award(&keeper, &rival, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    w.warp(50);
    w.ok_all(&ix::receipt(&w, &lease, &machine.key, &rival.key, 1, 50), &[]);
    let before = wealth(&w, &[&rival]);
    w.ok(ix::dispute_open(&w, &lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&rival.key]);
    let period = w.period();
    w.warp_past_period(period);
    let good = w.good_leaf(machine.node, Address::default(), period);
    let proof = w.finalise(&keeper, &[LeafData { flags: FLAG_WORK_FAILED, ..good }]).remove(0);
    w.ok(ix::fault_open(&w, &keeper.wallet(), &proof), &[&keeper.key]);
    let fault = ix::fault_of(&proof);
    let text = statement(&machine.node, period, 3, true);
    let appeal = ix::slash_appeal(&w, &fault, &keeper, text);
    w.ok_all(&[signed(&keeper.key, &text), appeal], &[]);
    assert_eq!(w.read::<Node>(&machine.node).status, NODE_ACTIVE, "the dispute keeps nobody suspended");
    w.set_now(until + 120 + 300);
    w.ok(ix::guarantee_resolve(&w, &keeper, &machine.node), &[&keeper.key]);
    assert!(!w.exists(&pda::guarantee_fault(&machine.node, until)), "it was kept");
    w.ok(ix::dispute_resolve(&w, &lease), &[]);
    Row {
        source: "C 5b",
        attack: "A rival disputes a lease of a guaranteed node while a wrong fault of it is open. The node would stay \
                 suspended when the fault is voided, and break its guarantee",
        instead: "no dispute",
        before: SEEN,
        profit: Usd(wealth(&w, &[&rival]) - before),
        assumption: "",
    }
}

/// Finding C 8.
pub fn a_guarantee_is_given_and_not_kept() -> Row {
    Row {
        source: "C 8b, R 18",
        attack: "A provider guarantees 100 % for 20 hours, sells them a twentieth dearer for it (2 USDC an hour), and does not \
                 keep it",
        instead: "no guarantee, and 1.90 USDC",
        before: "+0.584, and customers got nothing",
        profit: Usd(sold(Guarantee::Broken, 20, false) - sold(Guarantee::None, 20, false)),
        assumption: "",
    }
}

/// Finding R 18.
pub fn own_customers_are_compensated_for_a_broken_guarantee() -> Row {
    Row {
        source: "R 18",
        attack: "A provider does not keep a guarantee of 100 %, and its own customer, which bought the 20 hours, claims from \
                 its fault",
        instead: "its own customer, and no guarantee",
        before: NEW_RULE,
        profit: Usd(sold(Guarantee::BrokenOpen, 20, true) - sold(Guarantee::None, 20, true)),
        assumption: "",
    }
}

/// Finding R 18.
pub fn the_lease_is_kept_open_until_the_guarantee_is_resolved() -> Row {
    Row {
        source: "R 18",
        attack: "A provider does not keep a guarantee of 100 % for 20 hours, for which it sold them a twentieth dearer \
                 (2 USDC an hour). The lease continues until it is resolved",
        instead: "no guarantee, and 1.90 USDC",
        before: NEW_RULE,
        profit: Usd(sold(Guarantee::BrokenOpen, 20, false) - sold(Guarantee::None, 20, false)),
        assumption: "",
    }
}

/// Finding R 18.
pub fn a_guarantee_earns_more_than_the_stake_covers() -> Row {
    Row {
        source: "R 18",
        attack: "A provider does not keep the longest guarantee that its stake of 10 allows, 32 hours at a reference price of \
                 2.50, but asks that",
        instead: "no guarantee, and 1.90 USDC",
        before: NEW_RULE,
        profit: Usd(sold(Guarantee::Broken, 32, false) - sold(Guarantee::None, 32, false)),
        assumption: "customers pay no more than 2.7 times the reference price",
    }
}

/// Finding P 4.
pub fn a_broken_guarantee_hides_what_it_earned() -> Row {
    let honest = sold(Guarantee::None, 32, false);
    let shorter = sold(Guarantee::BrokenHidden, 20, false) - sold(Guarantee::None, 20, false);
    assert!(shorter <= 0, "{}", Usd(shorter));
    Row {
        source: "P 4",
        attack: "A provider does not keep a guarantee of 32 hours. Its payout account is gone until the guarantee is resolved, \
                 so that nothing was paid under it. Then it is paid for all of them",
        instead: "no guarantee, and 1.90 USDC",
        before: "+1.815",
        profit: Usd(sold(Guarantee::BrokenHidden, 32, false) - honest),
        assumption: "",
    }
}

/// What a provider and its own customer have that do not keep a guarantee, and have so many leases of so many seconds open
/// when it is resolved.
fn broken_with(shams: u64, secs: u32) -> i128 {
    let mut w = Testbed::quick();
    let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(20_000_000_000));
    let machine = w.machine(&provider, 2);
    let (victim, own) = (w.customer(10_000_000_000), w.customer(1_000_000_000));
    let before = wealth(&w, &[&provider, &own]);
    let since = ((w.period() + 1) * 60) as i64;
    let until = since + 1_200;
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 10_000), &[&provider.key]);
    w.set_now(since);
    let order = w.order(&victim, ix::order_args(1));
    let lease = w.award(&keeper, &victim, &order, &provider, &machine);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
    let mut open = vec![lease];
    for nonce in 1..=shams {
        let order = w.order(&own, OrderArgs { duration_secs: secs, ..ix::order_args(nonce) });
        let sham = w.award(&keeper, &own, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &sham, [3; 32]), &[&machine.key]);
        w.warp(i64::from(secs));
        w.ok_all(&ix::receipt(&w, &sham, &machine.key, &own.key, 1, secs), &[]);
        w.ok(ix::lease_end(&w, &own.wallet(), &sham, 0), &[&own.key]);
        open.push(sham);
    }
    w.set_now(until - 60);
    w.ok_all(&ix::receipt(&w, &lease, &machine.key, &victim.key, 1, 1_140), &[]);
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(machine.node, Address::default(), period);
    let proof = w.finalise(&keeper, &[LeafData { up_secs: 0, ..leaf }]).remove(0);
    w.ok(ix::report_apply(&proof), &[]);
    w.set_now(until + 120 + 300);
    for some in open.chunks(20) {
        w.ok(ix::guarantee_resolve_of(&w, &keeper, &machine.node, some), &[&keeper.key]);
    }
    let fault = pda::guarantee_fault(&machine.node, until);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    for lease in &open {
        w.ok(ix::slash_compensate(&w, &fault, lease), &[]);
    }
    assert!(w.read::<Lease>(&lease).compensated > 0, "the victim has its part");
    for (at, lease) in open.iter().enumerate() {
        closed(&mut w, if at == 0 { &victim } else { &own }, lease);
    }
    wealth(&w, &[&provider, &own]) - before
}

/// Finding P 15.
pub fn sham_leases_keep_a_guarantee_from_its_resolution() -> Row {
    Row {
        source: "P 15",
        attack: "A provider does not keep a guarantee. Its own customer has 70 leases of nine seconds open then, more than a \
                 transaction has accounts",
        instead: "one lease of as many seconds",
        before: "0, and the victim got 0 of 0.2: its lease was closed before the guarantee could be resolved",
        profit: Usd(broken_with(70, 9) - broken_with(1, 630)),
        assumption: "",
    }
}

/// Finding P 17.
pub fn a_guarantee_that_ends_soon_wins_a_long_order() -> Row {
    let play = |price: u64| {
        let mut w = Testbed::new();
        let keeper = w.keeper(w.params.min_bond);
        let (rival, own) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
        let cheap = w.machine_of(&rival, ix::spec(1), 2_000_000);
        let machine = w.machine_of(&own, ix::spec(1), price);
        let until = w.now() + i64::from(w.params.unstake_cooldown_secs);
        if price > 2_000_000 {
            w.ok(ix::node_guarantee(&own, &machine.node, until, 10_000), &[&own.key]);
        }
        w.set_now(until - 30);
        let customer = w.customer(100_000_000);
        let before = wealth(&w, &[&own]);
        let order = w.order(&customer, OrderArgs { duration_secs: 36_000, ..ix::order_args(1) });
        // An honest keeper: the node gets it if it scores less than the other.
        let other: Node = w.read(&cheap.node);
        let most = score(other.price, reputation_bps(&other, w.now()), 0).expect("fits") - 1;
        let award = ix::order_award_at(&keeper, &customer, &order, &own.provider(), &machine.node, most);
        if w.send(&[award], &[keeper.signing()]).is_ok() {
            let lease = pda::lease(&order, &machine.node);
            w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
            w.warp(36_000);
            w.ok_all(&ix::receipt(&w, &lease, &machine.key, &customer.key, 1, 36_000), &[]);
            closed(&mut w, &customer, &lease);
        }
        wealth(&w, &[&own]) - before
    };
    Row {
        source: "P 17",
        attack: "A node at 2.09 USDC whose guarantee ends in half a minute wins an order of ten hours against one at 2",
        instead: "asks 1.99 USDC",
        before: "+0.88, and passing it over could be proven to be unjust",
        profit: Usd(play(2_090_000) - play(1_990_000)),
        assumption: "",
    }
}
