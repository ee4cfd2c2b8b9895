//! What a broken uptime guarantee costs, and who gets what of it.

use gantry_market::errors::MarketError;
use gantry_market::state::{Fault, Lease, Node, Payout, Provider};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::{ix, pda, Actor, Machine, Testbed};
use solana_address::Address;

const STAKE: u64 = 10_000_000_000;
/// What ten minutes of the node's GPU cost, µUSDC.
const PAID: u64 = 333_333;

/// A machine of one GPU that is guaranteed for twenty periods, at the end of the period before, and its customer.
struct Scene {
    w: Testbed,
    keeper: Actor,
    provider: Actor,
    machine: Machine,
    customer: Actor,
    since: i64,
    until: i64,
    /// Leases that are not closed.
    open: Vec<Address>,
}

/// `stake_price` is µUSDC for a stake token, as if it had been that when the guarantee was given.
fn guaranteed(stake_price: u64) -> Scene {
    let mut w = Testbed::quick();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(STAKE);
    let machine = w.machine(&provider, 1);
    let customer = w.customer(100_000_000);
    let first = w.period() + 1;
    let (since, until) = ((first * 60) as i64, ((first + 20) * 60) as i64);
    w.ok(ix::node_guarantee(&provider, &machine.node, until, 9_500), &[&provider.key]);
    w.alter(&machine.node, |n: &mut Node| n.guarantee_stake_price = stake_price);
    w.set_now(since);
    Scene { w, keeper, provider, machine, customer, since, until, open: Vec::new() }
}

impl Scene {
    /// A lease of the customer that runs from now on, of which this many seconds are paid, and then ends.
    fn served(&mut self, nonce: u64, seconds: u32) -> Address {
        let order = self.w.order(&self.customer, ix::order_args(nonce));
        let lease = self.w.award(&self.keeper, &self.customer, &order, &self.provider, &self.machine);
        self.w.ok(ix::lease_start(&self.w, &lease, [3; 32]), &[&self.machine.key]);
        self.w.warp(i64::from(seconds));
        let key = &self.machine.key;
        let receipt = ix::receipt(&self.w, &lease, key, &self.customer.key, 1, seconds);
        self.w.ok_all(&receipt, &[]);
        let end = ix::lease_end(&self.w, &self.customer.wallet(), &lease, 0);
        self.w.ok(end, &[&self.customer.key]);
        self.open.push(lease);
        lease
    }

    fn close(&mut self, lease: &Address) {
        let close = ix::lease_close(&self.w, &self.customer.wallet(), lease);
        self.w.ok(close, &[&self.customer.key]);
        self.open.retain(|open| open != lease);
    }

    /// The machine was away in the period that runs.
    fn away(&mut self) {
        let period = self.w.period();
        self.w.warp_past_period(period);
        let leaf = self.w.good_leaf(self.machine.node, Address::default(), period);
        let proof = self.w.finalise(&self.keeper, &[LeafData { up_secs: 0, ..leaf }]).remove(0);
        self.w.ok(ix::report_apply(&proof), &[]);
    }

    /// Resolves the guarantee.
    fn resolved(&mut self) -> Address {
        self.w.set_now(self.until + 120 + 300);
        let resolve = ix::guarantee_resolve_of(&self.w, &self.keeper, &self.machine.node, &self.open);
        self.w.ok(resolve, &[&self.keeper.key]);
        pda::guarantee_fault(&self.machine.node, self.until)
    }

    fn applied(&mut self) -> Address {
        let fault = self.resolved();
        self.w.ok(ix::slash_apply(&self.w, &fault), &[]);
        fault
    }

    fn node(&self) -> Node {
        self.w.read(&self.machine.node)
    }

    fn payout(&self, fault: &Address) -> u64 {
        self.w.read::<Payout>(&pda::payout(&self.customer.wallet(), fault)).amount
    }
}

#[test]
fn a_broken_guarantee_compensates_its_customers() {
    let mut s = guaranteed(1_000_000);
    let supply = s.w.supply(&s.w.stake_mint);
    let lease = s.served(1, 600);
    s.away();
    let fault = s.applied();
    // Of a token half is burned, and the tenth of a finder. The rest is for twenty minutes of one GPU: ten of them were
    // the lease's, and cost it more than that.
    s.w.ok(ix::slash_compensate(&s.w, &fault, &lease), &[]);
    assert_eq!(s.payout(&fault), 200_000_000);
    assert_eq!(s.w.read::<Lease>(&lease).compensated, 200_000);
    s.close(&lease);
    // The rest of the pool is burned as well.
    let until = s.w.read::<Fault>(&fault).claims_until;
    s.w.set_now(until);
    s.w.ok(ix::slash_close(&s.w, &fault), &[]);
    assert_eq!(supply - s.w.supply(&s.w.stake_mint), 800_000_000);
}

/// Money that no lease has paid is no harm, whatever the pool holds.
#[test]
fn a_lease_gets_no_more_than_it_has_paid() {
    let mut s = guaranteed(1_000_000);
    let lease = s.served(1, 60);
    s.away();
    // Ten tokens are required, all of them are at stake.
    s.w.alter(&s.machine.node, |n: &mut Node| n.slash_guarantee_bps = 10_000);
    let fault = s.applied();
    s.w.ok(ix::slash_compensate(&s.w, &fault, &lease), &[]);
    assert_eq!(s.payout(&fault), 33_333_000);
}

/// What is broken is known by then, so no lease closes past the fault that is to compensate it. One that was closed
/// before has no claim.
#[test]
fn no_lease_closes_before_it_is_compensated() {
    let mut s = guaranteed(1_000_000);
    let lease = s.served(1, 600);
    s.away();
    let fault = s.resolved();
    let close = ix::lease_close(&s.w, &s.customer.wallet(), &lease);
    s.w.refused(close.clone(), &[&s.customer.key], MarketError::FaultPending);
    s.w.ok(ix::slash_apply(&s.w, &fault), &[]);
    s.w.refused(close.clone(), &[&s.customer.key], MarketError::FaultPending);
    s.w.ok(ix::slash_compensate(&s.w, &fault, &lease), &[]);
    s.w.ok(close, &[&s.customer.key]);
}

#[test]
fn it_costs_an_eighth_of_the_revenue_under_it_if_that_is_more() {
    // At a cent a token a tenth of the stake is a cent; of 33.3333 cents an eighth is 4.1666 tokens.
    for (stake_price, amount) in [(10_000, 4_166_600_000), (1_000_000, 1_000_000_000)] {
        let mut s = guaranteed(stake_price);
        let lease = s.served(1, 600);
        s.close(&lease);
        assert_eq!(s.node().guarantee_revenue, PAID);
        s.away();
        let fault = s.applied();
        assert_eq!(s.w.read::<Fault>(&fault).amount, amount);
        assert_eq!(s.w.read::<Provider>(&s.provider.provider()).slashed_total, amount);
        assert_eq!(s.node().guarantee_revenue, 0);
    }
    // Never more than the node has.
    let mut s = guaranteed(1);
    let lease = s.served(1, 600);
    s.close(&lease);
    s.away();
    let fault = s.applied();
    assert_eq!(s.w.read::<Fault>(&fault).amount, STAKE);
}

/// Revenue of before the guarantee, and of after it, was not earned by it.
#[test]
fn only_what_was_paid_for_guaranteed_time_counts() {
    let mut s = guaranteed(1_000_000);
    // As if it had begun five of the ten minutes later.
    s.w.alter(&s.machine.node, |n: &mut Node| n.guaranteed_since += 300);
    let lease = s.served(1, 600);
    s.close(&lease);
    assert_eq!(s.node().guarantee_revenue, PAID / 2);
    // Or had ended as much earlier.
    let mut s = guaranteed(1_000_000);
    let lease = s.served(1, 600);
    s.w.alter(&s.machine.node, |n: &mut Node| n.guaranteed_until = s.since + 300);
    s.close(&lease);
    assert_eq!(s.node().guarantee_revenue, PAID / 2);
}

/// Its customer bought all of the guaranteed time: it gets back half of what the guarantee costs, and no more.
#[test]
fn an_owner_of_node_and_customers_loses_by_it() {
    for stake_price in [1_000, 10_000, 1_000_000] {
        let mut s = guaranteed(stake_price);
        let leases = [s.served(1, 600), s.served(2, 540)];
        s.away();
        let ready = s.w.fork();
        // Whether it counts the revenue first or claims for it.
        for close_first in [true, false] {
            s.w = ready.fork();
            s.open = leases.to_vec();
            if close_first {
                s.close(&leases[0]);
            }
            let fault = s.applied();
            for lease in &leases[usize::from(close_first)..] {
                s.w.ok(ix::slash_compensate(&s.w, &fault, lease), &[]);
            }
            let amount = s.w.read::<Fault>(&fault).amount;
            assert!(amount >= 1_000_000_000 && s.payout(&fault) * 2 <= amount, "{stake_price}");
        }
    }
}
