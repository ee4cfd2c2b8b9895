//! Interruptible leases: a node's spot price, a short notice, and what leaving costs.

use gantry_market::constants::{AWARD_VIEW_SECS, FAILURE_PART, PRIOR_FEES, SPOT_NOTICE_SECS};
use gantry_market::errors::MarketError;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{Keeper, Lease, Node, ENDED_BY_PROVIDER, LEASE_RUNNING, NODE_ACTIVE};
use gantry_market_tests::testbed::test_params;
use gantry_market_tests::{ix, pda, Actor, Deal, Machine, Testbed};
use solana_address::Address;
use solana_instruction::Instruction;

const BOND: u64 = 10_000_000_000;
const PRICE: u64 = 2_000_000;
const SPOT_BPS: u16 = 4_000;
const SPOT: u64 = 800_000;

fn spot_args(nonce: u64) -> OrderArgs {
    OrderArgs { interruptible: 1, ..ix::order_args(nonce) }
}

fn set_spot(w: &mut Testbed, provider: &Actor, machine: &Machine, bps: u16) {
    let node: Node = w.read(&machine.node);
    let update = ix::node_offer(&provider.wallet(), &machine.node, &node, node.price, NODE_ACTIVE);
    w.ok(ix::with_spot(update, bps), &[&provider.key]);
}

/// A machine with two GPUs at 2 USDC whose spot price is 0.80 USDC, and a lease of one of them for an hour.
fn awarded_in(mut w: Testbed) -> (Testbed, Deal) {
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine_of(&provider, ix::spec(2), PRICE);
    set_spot(&mut w, &provider, &machine, SPOT_BPS);
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, spot_args(1));
    let lease = w.award(&keeper, &customer, &order, &provider, &machine);
    (w, Deal { keeper, provider, machine, customer, order, lease })
}

fn running() -> (Testbed, Deal) {
    let (mut w, deal) = awarded_in(Testbed::new());
    w.ok(ix::lease_start(&w, &deal.lease, [3; 32]), &[&deal.machine.key]);
    (w, deal)
}

fn leave(w: &Testbed, deal: &Deal, immediate: u8) -> Instruction {
    ix::lease_end(w, &deal.provider.wallet(), &deal.lease, immediate)
}

#[test]
fn an_interruptible_order_takes_the_spot_price_and_another_the_whole_price() {
    let (mut w, deal) = awarded_in(Testbed::new());
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.price, lease.reserved, lease.interruptible), (SPOT, SPOT, 1));
    let order = w.order(&deal.customer, ix::order_args(2));
    w.award(&deal.keeper, &deal.customer, &order, &deal.provider, &deal.machine);
    let firm: Lease = w.read(&pda::lease(&order, &deal.machine.node));
    assert_eq!((firm.price, firm.interruptible, firm.notice_secs), (PRICE, 0, w.params.notice_secs));
}

#[test]
fn a_node_without_a_spot_price_gets_no_interruptible_work() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine_of(&provider, ix::spec(2), PRICE);
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, spot_args(1));
    let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
    w.refused(award.clone(), &[keeper.signing()], MarketError::NoSpotPrice);
    set_spot(&mut w, &provider, &machine, 10_000);
    w.ok(award, &[keeper.signing()]);
    assert_eq!(w.read::<Lease>(&pda::lease(&order, &machine.node)).price, PRICE);
}

#[test]
fn a_spot_price_above_the_orders_maximum_is_refused() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(20_000_000_000);
    let machine = w.machine_of(&provider, ix::spec(2), PRICE);
    set_spot(&mut w, &provider, &machine, SPOT_BPS);
    let customer = w.customer(100_000_000);
    for (nonce, max_price, fits) in [(1, SPOT - 1, false), (2, SPOT, true)] {
        let order = w.order(&customer, OrderArgs { max_price, ..spot_args(nonce) });
        let award = ix::order_award(&keeper, &customer, &order, &provider.provider(), &machine.node);
        if fits {
            w.ok(award, &[keeper.signing()]);
        } else {
            w.refused(award, &[keeper.signing()], MarketError::PriceTooHigh);
        }
    }
}

#[test]
fn a_spot_price_is_at_most_the_price_and_a_new_one_begins_a_new_ask() {
    let (mut w, deal) = awarded_in(Testbed::new());
    let node: Node = w.read(&deal.machine.node);
    let update = ix::node_offer(&deal.provider.wallet(), &deal.machine.node, &node, PRICE, NODE_ACTIVE);
    let over = ix::with_spot(update.clone(), 10_001);
    w.refused(over, &[&deal.provider.key], MarketError::SpotPriceOutOfRange);
    w.warp(10);
    w.ok(ix::with_spot(update.clone(), SPOT_BPS), &[&deal.provider.key]);
    assert_eq!(w.read::<Node>(&deal.machine.node).ask_since, node.ask_since);
    w.ok(ix::with_spot(update, SPOT_BPS + 1), &[&deal.provider.key]);
    assert_eq!(w.read::<Node>(&deal.machine.node).ask_since, w.now());
}

#[test]
fn what_may_be_interrupted_is_not_sealed_guaranteed_compared_or_ended_by_its_job() {
    let mut w = Testbed::new();
    let customer = w.customer(100_000_000);
    let wrong = [
        OrderArgs { interruptible: 2, ..ix::order_args(1) },
        OrderArgs { interruptible: 1, ..ix::sealed_args(1) },
        OrderArgs { run_to_completion: 1, ..spot_args(1) },
        OrderArgs { redundant: 1, nodes: 3, run_to_completion: 1, no_migration: 1, ..spot_args(1) },
    ];
    let mut guaranteed = spot_args(1);
    guaranteed.requirement.guaranteed = 1;
    for args in wrong.into_iter().chain([guaranteed]) {
        w.refused(ix::order_create(&customer, args), &[&customer.key], MarketError::InvalidRequirement);
    }
}

#[test]
fn the_notice_is_two_minutes_or_the_markets_own_if_that_is_shorter() {
    let (w, deal) =
        awarded_in(Testbed::with(gantry_market::state::Params { notice_secs: 3_600, ..test_params() }));
    assert_eq!(deal.state(&w).notice_secs, SPOT_NOTICE_SECS);
    let (w, deal) = awarded_in(Testbed::new());
    assert_eq!(deal.state(&w).notice_secs, w.params.notice_secs);
}

/// Who lures customers with a low price cannot put them out at once.
#[test]
fn a_notice_takes_effect_after_five_notices_at_the_earliest() {
    let (mut w, deal) = running();
    let started = w.now();
    w.ok(leave(&w, &deal, 0), &[&deal.provider.key]);
    w.warp(299);
    w.refused(leave(&w, &deal, 0), &[&deal.provider.key], MarketError::TooEarly);
    w.warp(1);
    w.ok(leave(&w, &deal, 0), &[&deal.provider.key]);
    let lease = deal.state(&w);
    let ended = (lease.end_reason, lease.ended_at, lease.kept_word, lease.downtime_secs);
    assert_eq!(ended, (ENDED_BY_PROVIDER, started + 300, 1, 0));
    assert_eq!(w.read::<Node>(&deal.machine.node).jobs_failed, 0);
}

#[test]
fn a_later_notice_has_its_full_time() {
    let (mut w, deal) = running();
    w.warp(1_000);
    w.ok(leave(&w, &deal, 0), &[&deal.provider.key]);
    w.warp(59);
    w.refused(leave(&w, &deal, 0), &[&deal.provider.key], MarketError::TooEarly);
    assert_eq!(deal.state(&w).status, LEASE_RUNNING);
    w.warp(1);
    w.ok(leave(&w, &deal, 0), &[&deal.provider.key]);
    assert_eq!(deal.state(&w).kept_word, 1);
}

/// Leaving without notice is a failed lease, which weighs what the node had promised: what it served, and the notice.
#[test]
fn a_lease_that_fails_weighs_what_was_served_and_its_notice() {
    let weigh = |interruptible: u8| {
        let mut w = Testbed::new();
        let keeper = w.keeper(w.params.min_bond);
        let provider = w.provider(20_000_000_000);
        // Dear enough that a failure weighs more than the least.
        let machine = w.machine_of(&provider, ix::spec(2), 1_000_000_000);
        set_spot(&mut w, &provider, &machine, 10_000);
        let customer = w.customer(100_000_000_000);
        let args = OrderArgs { interruptible, max_price: 1_000_000_000, ..ix::order_args(1) };
        let order = w.order(&customer, args);
        let lease = w.award(&keeper, &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        w.warp(600);
        let end = ix::lease_end(&w, &provider.wallet(), &lease, 1);
        w.ok(end, &[&provider.key]);
        let node: Node = w.read(&machine.node);
        assert_eq!(node.jobs_failed, 1);
        node.fees_failed
    };
    // Of 1,000 USDC an hour and 12 %: an hour; nine minutes, since one is forfeited, and a minute of notice.
    assert_eq!(weigh(0), 120_000_000);
    assert_eq!(weigh(1), 19_999_999);
    const { assert!(19_999_999 > PRIOR_FEES / FAILURE_PART) };
}

/// A machine that is passed over, and one at 2 USDC whose spot price is 0.80 USDC and that gets the orders.
struct PassedOver {
    w: Testbed,
    keeper: Actor,
    customer: Actor,
    finder: Actor,
    passed: Machine,
    other: Actor,
    awarded: Machine,
}

fn passed_over(price: u64, spot_bps: u16) -> PassedOver {
    let mut w = Testbed::new();
    let keeper = w.keeper(BOND);
    let (provider, other) = (w.provider(20_000_000_000), w.provider(20_000_000_000));
    let passed = w.machine_of(&provider, ix::spec(2), price);
    let awarded = w.machine_of(&other, ix::spec(2), PRICE);
    set_spot(&mut w, &provider, &passed, spot_bps);
    set_spot(&mut w, &other, &awarded, SPOT_BPS);
    let (customer, finder) = (w.customer(100_000_000), w.actor());
    w.warp(AWARD_VIEW_SECS + 1);
    PassedOver { w, keeper, customer, finder, passed, other, awarded }
}

impl PassedOver {
    /// An order that goes to the other machine, and the proof that it should not have.
    fn award(&mut self, args: OrderArgs) -> (Address, Instruction) {
        let order = self.w.order(&self.customer, args);
        self.w.warp(5);
        let lease = self.w.award(&self.keeper, &self.customer, &order, &self.other, &self.awarded);
        (lease, ix::prove_better_ask(&self.w, &self.finder, &lease, &self.passed.node))
    }
}

/// A keeper gives its customer's order to a dear node while a lower spot price stood there all the time.
#[test]
fn a_lower_spot_price_is_a_better_ask() {
    // Its whole price is the higher one, and its spot price the lower one.
    let mut c = passed_over(3_000_000, 2_000);
    let (lease, proof) = c.award(spot_args(1));
    c.w.ok(proof, &[&c.finder.key]);
    assert_eq!(c.w.read::<Lease>(&lease).price, 600_000);
    assert!(c.w.read::<Keeper>(&c.keeper.keeper()).bond < BOND);

    // Of an order that is not interruptible the whole price counts: there the other node is the better one.
    let (_, proof) = c.award(ix::order_args(2));
    c.w.refused(proof, &[&c.finder.key], MarketError::NotBetter);
}

/// A node that takes no interruptible work is not passed over.
#[test]
fn a_node_without_a_spot_price_is_no_better_ask() {
    let mut c = passed_over(1_000, 0);
    let (_, proof) = c.award(spot_args(1));
    c.w.refused(proof, &[&c.finder.key], MarketError::NotBetter);
}
