//! Who gains by a fault of the machine, whoever prepares for it, and which seconds it takes from the node.

use gantry_market::constants::{FLAG_DEVICE_CHANGED, FLAG_WORK_FAILED};
use gantry_market::errors::MarketError;
use gantry_market::state::{
    Credits, Fault, Lease, Node, Payout, DISPUTE_BAD_OUTPUT, LEASE_ENDED, LEASE_FAILED, NODE_ACTIVE,
    NODE_HIBERNATED, NODE_SUSPENDED,
};
use gantry_market_tests::ix::signed;
use gantry_market_tests::leaves::{statement, LeafData};
use gantry_market_tests::measure::{Measured, PROCESSORS};
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;

/// A victim that paid ten minutes on one GPU of a cheat's node, and a customer of the cheat's own on the other, at a
/// price that nobody else would pay, and unpaid.
struct Scene {
    w: Testbed,
    deal: Deal,
    own: Actor,
    sham: Address,
    period: u64,
}

fn scene() -> Scene {
    let mut w = Testbed::new();
    let deal = w.awarded();
    let own = w.customer(100_000_000_000);
    let (wallet, provider) = (deal.provider.wallet(), deal.provider.provider());
    w.ok(ix::node_update(&wallet, &provider, &deal.machine.node, 2_000_000_000, 1), &[&deal.provider.key]);
    let mut args = ix::order_args(2);
    args.max_price = 2_000_000_000;
    let order = w.order(&own, args);
    let sham = w.award(&deal.keeper, &own, &order, &deal.provider, &deal.machine);
    w.warp(60);
    for lease in [deal.lease, sham] {
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&deal.machine.key]);
    }
    w.warp(600);
    w.settle(&deal, 1, 600);
    let period = w.period();
    w.warp_past_period(period);
    Scene { w, deal, own, sham, period }
}

impl Scene {
    fn leaf(&self, lease: Address, flags: u16) -> LeafData {
        let good = self.w.good_leaf(self.deal.machine.node, lease, self.period);
        LeafData { flags, up_secs: 0, verified_secs: 0, checks_passed: 0, ..good }
    }

    /// Opens the machine's fault with the leaf of `first` and returns its address.
    fn faulted(&mut self, first: Address, flags: u16) -> Address {
        let leaves = [self.leaf(first, flags), self.leaf(self.deal.lease, flags)];
        let proofs = self.w.finalise(&self.deal.keeper, &leaves);
        self.w.ok(ix::fault_open(&self.w, &self.deal.keeper.wallet(), &proofs[0]), &[&self.deal.keeper.key]);
        ix::fault_of(&proofs[0])
    }

    fn applied(&mut self, fault: &Address) {
        self.w.warp(300);
        self.w.ok(ix::slash_apply(&self.w, fault), &[]);
    }

    fn compensate(&mut self, fault: &Address, lease: &Address) {
        self.w.ok(ix::slash_compensate(&self.w, fault, lease), &[]);
    }

    /// What a wallet has in its payout of a fault.
    fn payout(&self, wallet: &Actor, fault: &Address) -> u64 {
        let at = pda::payout(&wallet.wallet(), fault);
        if self.w.exists(&at) {
            self.w.read::<Payout>(&at).amount
        } else {
            0
        }
    }

    /// Applies a fault that was opened with the leaf of `first`: burned in the end, the victim's and the sham's payout.
    fn slashed(&mut self, first: Address, order: [Address; 2]) -> (u64, u64, u64) {
        let supply = self.w.supply(&self.w.stake_mint);
        let fault = self.faulted(first, FLAG_DEVICE_CHANGED);
        self.applied(&fault);
        for lease in order {
            self.compensate(&fault, &lease);
        }
        self.w.warp(240);
        let (victim, own) = (self.payout(&self.deal.customer, &fault), self.payout(&self.own, &fault));
        self.w.ok(ix::slash_close(&self.w, &fault), &[]);
        (supply - self.w.supply(&self.w.stake_mint), victim, own)
    }

    fn node(&self) -> Node {
        self.w.read(&self.deal.machine.node)
    }
}

/// What the victim has paid: ten minutes at 2 USDC an hour.
const PAID: u64 = 333_333_000;

#[test]
fn the_cheats_own_customer_does_not_take_the_victims_pool() {
    let mut s = scene();
    let order = [s.sham, s.deal.lease];
    assert_eq!(s.slashed(s.sham, order), (20_000_000_000 - PAID, PAID, 0));
}

#[test]
fn a_leaf_without_a_lease_does_not_strip_the_victim() {
    let mut s = scene();
    let order = [s.sham, s.deal.lease];
    assert_eq!(s.slashed(Address::default(), order), (20_000_000_000 - PAID, PAID, 0));
}

#[test]
fn a_claim_depends_on_no_order() {
    let all: Vec<_> = [true, false]
        .into_iter()
        .map(|sham_first| {
            let mut s = scene();
            // The sham is paid too, at its price.
            let key = &s.deal.machine.key;
            let receipt = ix::receipt(&s.w, &s.sham, key, &s.own.key, 1, 600);
            s.w.ok_all(&receipt, &[]);
            let order = if sham_first { [s.sham, s.deal.lease] } else { [s.deal.lease, s.sham] };
            s.slashed(s.sham, order)
        })
        .collect();
    assert_eq!(all[0], all[1]);
    // The sham's harm counts at the reference price: 2.50 USDC an hour.
    assert_eq!((all[0].1, all[0].2), (PAID, 416_666_000));
}

/// A fault of the machine ends the lease late; a dispute that is upheld afterwards is about all of its time.
#[test]
fn an_earlier_conviction_ends_a_lease_that_another_has_ended() {
    let mut s = scene();
    let good = s.w.good_leaf(s.deal.machine.node, s.deal.lease, s.period);
    let proofs = s.w.finalise(&s.deal.keeper, &[good]);
    s.w.ok(ix::report_apply(&proofs[0]), &[]);
    s.period = s.w.period();
    s.w.warp_past_period(s.period);
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.applied(&fault);
    let lease = s.deal.lease;
    s.compensate(&fault, &lease);
    s.w.ok(ix::dispute_open(&s.w, &lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&s.deal.customer.key]);
    s.w.ok(ix::dispute_vote(&s.deal.keeper, &lease, 1), &[&s.deal.keeper.key]);
    let payer = s.w.actor();
    s.w.ok(ix::dispute_uphold(&s.w, &payer.wallet(), &lease), &[&payer.key]);
    s.w.settle(&s.deal, 2, 630);
    s.w.warp(300);
    s.w.ok(ix::slash_apply(&s.w, &pda::dispute_fault(&lease)), &[]);
    s.w.ok(ix::lease_settle_report(&s.w, &lease), &[]);
    assert_eq!(s.w.read::<Lease>(&lease).paid_secs, 600);
}

/// The fault of a later time is applied first and ends the lease. The earlier one is about more of it: its owner cannot
/// say that the machine is mended, and be paid for what was frozen, before the lease is gone.
#[test]
fn a_node_is_not_mended_while_a_lease_has_not_ended_where_the_earliest_conviction_begins() {
    let mut s = scene();
    let earlier = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.period = s.w.period();
    s.w.warp_past_period(s.period);
    let good = s.w.good_leaf(s.deal.machine.node, Address::default(), s.period);
    let proofs = s.w.finalise(&s.deal.keeper, &[good]);
    s.w.ok(ix::report_apply(&proofs[0]), &[]);
    s.period = s.w.period();
    s.w.warp_past_period(s.period);
    let later = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.applied(&later);
    for lease in [s.deal.lease, s.sham] {
        s.compensate(&later, &lease);
    }
    s.w.ok(ix::slash_apply(&s.w, &earlier), &[]);
    let (wallet, provider) = (s.deal.provider.wallet(), s.deal.provider.provider());
    let mend = ix::node_update(&wallet, &provider, &s.deal.machine.node, 2_000_000, 1);
    s.w.refused(mend, &[&s.deal.provider.key], MarketError::StillInUse);
    let lease = s.deal.lease;
    s.compensate(&earlier, &lease);
    let state: Lease = s.w.read(&lease);
    assert_eq!(state.ended_at, state.started_at + 600);
}

/// A second finding of the same cause takes nothing, so its pool is empty. Whoever has it compensate the victim first
/// does not strip the victim of what the first one holds for it.
#[test]
fn a_fault_that_gives_nothing_makes_nothing_good() {
    for empty_first in [false, true] {
        let mut s = scene();
        let full = s.faulted(Address::default(), FLAG_DEVICE_CHANGED);
        s.period = s.w.period();
        s.w.warp_past_period(s.period);
        let empty = s.faulted(Address::default(), FLAG_DEVICE_CHANGED);
        for fault in [&full, &empty] {
            s.applied(fault);
        }
        assert_eq!(s.w.read::<Fault>(&empty).pool, 0);
        let lease = s.deal.lease;
        for fault in if empty_first { [empty, full] } else { [full, empty] } {
            s.compensate(&fault, &lease);
        }
        assert_eq!(s.payout(&s.deal.customer, &full), PAID, "the empty one first: {empty_first}");
        assert_eq!(s.w.read::<Lease>(&lease).compensated, 333_333);
    }
}

#[test]
fn the_pool_is_divided_by_gpu_seconds_in_the_window() {
    let mut s = scene();
    let fault = s.faulted(s.sham, FLAG_WORK_FAILED);
    // 0.8 tokens of 2; each lease had one of two GPUs for 660 of the window's 720 seconds.
    s.w.alter(&s.deal.lease, |l: &mut Lease| l.price = 2_500_000);
    s.w.alter(&s.deal.lease, |l: &mut Lease| l.paid = l.owed(l.paid_secs).expect("fits"));
    s.applied(&fault);
    s.w.alter(&fault, |f: &mut Fault| f.reference_price = 2_500_000_000);
    s.w.alter(&s.deal.lease, |l: &mut Lease| (l.price, l.paid) = (2_500_000_000, 416_666_666));
    s.w.alter(&s.deal.lease, |l: &mut Lease| l.reserved = 100_000_000_000);
    let state: Fault = s.w.read(&fault);
    assert_eq!((state.pool, state.gpus, state.window_until - state.window_from), (800_000_000, 2, 720));
    s.compensate(&fault, &s.deal.lease.clone());
    assert_eq!(s.payout(&s.deal.customer, &fault), 800_000_000 * 660 / (2 * 720));
}

#[test]
fn frozen_seconds_are_not_paid_while_the_fault_is_open() {
    let mut s = scene();
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    assert_eq!(s.node().frozen_from, s.node().registered_at);
    // The claim is noted and waits.
    s.w.settle(&s.deal, 2, 650);
    let lease = s.deal.state(&s.w);
    assert_eq!((lease.receipt_secs, lease.paid_secs), (650, 600));
    let customer = s.deal.customer.wallet();
    s.w.ok(ix::lease_end(&s.w, &customer, &s.deal.lease, 0), &[&s.deal.customer.key]);
    s.w.warp(299);
    let close = ix::lease_close(&s.w, &customer, &s.deal.lease);
    s.w.refused(close, &[&s.deal.customer.key], MarketError::FaultPending);
    // Voided: it is paid, and the deadline for it runs from now on.
    let text = statement(&s.deal.machine.node, s.period, 3, true);
    let appeal = ix::slash_appeal(&s.w, &fault, &s.deal.keeper, text);
    s.w.ok_all(&[signed(&s.deal.keeper.key, &text), appeal], &[]);
    assert_eq!((s.node().frozen_from, s.node().unfrozen_at), (0, s.w.now()));
    let close = ix::lease_close(&s.w, &customer, &s.deal.lease);
    s.w.refused(close, &[&s.deal.customer.key], MarketError::Unsettled);
    s.w.ok(ix::lease_settle_report(&s.w, &s.deal.lease), &[]);
    assert_eq!(s.deal.state(&s.w).paid_secs, 650);
}

#[test]
fn convicted_seconds_are_never_paid_and_come_back() {
    let mut s = scene();
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.w.settle(&s.deal, 2, 650);
    s.applied(&fault);
    s.w.ok(ix::lease_settle_report(&s.w, &s.deal.lease), &[]);
    assert_eq!(s.deal.state(&s.w).paid_secs, 600);
    s.compensate(&fault, &s.deal.lease.clone());
    let lease = s.deal.state(&s.w);
    // It has failed where its payment ends, and may move.
    assert_eq!((lease.status, lease.cut, lease.ended_at), (LEASE_FAILED, 1, lease.started_at + 600));
    assert_eq!((lease.unsettled_secs(s.w.now()), lease.can_migrate().expect("fits")), (0, true));
    let customer = s.deal.customer.wallet();
    s.w.ok(ix::lease_end(&s.w, &customer, &s.deal.lease, 0), &[&s.deal.customer.key]);
    s.w.ok(ix::lease_close(&s.w, &customer, &s.deal.lease), &[&s.deal.customer.key]);
    let credits: Credits = s.w.read(&s.deal.customer.credits());
    assert_eq!((credits.reserved, credits.balance), (0, 100_000_000 - 333_333));
    assert_eq!((s.node().open_leases, s.node().cut_leases), (1, 0));
}

/// Nobody need claim: a lease of a convicted node is ended by anyone, and closes when the time for claims is over.
/// Finding R 2.
#[test]
fn anyone_ends_a_lease_of_a_convicted_node() {
    let mut s = scene();
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    let stranger = s.w.actor();
    let end = ix::lease_end(&s.w, &stranger.wallet(), &s.deal.lease, 0);
    s.w.refused(end.clone(), &[&stranger.key], MarketError::Unauthorised);
    s.applied(&fault);
    s.w.ok(end.clone(), &[&stranger.key]);
    // Its time to move to another node is over: that ran from where its payment ends.
    let lease = s.deal.state(&s.w);
    assert_eq!((lease.status, lease.ended_at), (LEASE_ENDED, lease.started_at + 600));
    let close = ix::lease_close(&s.w, &s.deal.customer.wallet(), &s.deal.lease);
    s.w.refused(close.clone(), &[&s.deal.customer.key], MarketError::FaultPending);
    s.w.warp(240);
    s.w.ok(close, &[&s.deal.customer.key]);
}

/// Finding R 2.
#[test]
fn a_convicted_node_is_mended_only_when_no_lease_from_before_is_left() {
    let mut s = scene();
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.applied(&fault);
    let (wallet, provider) = (s.deal.provider.wallet(), s.deal.provider.provider());
    let update = ix::node_update(&wallet, &provider, &s.deal.machine.node, 2_000_000, NODE_ACTIVE);
    s.w.refused(update.clone(), &[&s.deal.provider.key], MarketError::StillInUse);
    for lease in [s.deal.lease, s.sham] {
        s.compensate(&fault, &lease);
    }
    s.w.ok(ix::provider_stake(&s.w, &s.deal.provider, 2_000_000_000), &[&s.deal.provider.key]);
    s.w.ok(update, &[&s.deal.provider.key]);
    let node = s.node();
    assert_eq!((node.convicted, node.convicted_from, node.status), (0, 0, NODE_ACTIVE));
    // What was cut stays cut.
    s.w.settle(&s.deal, 2, 600);
    assert_eq!(s.deal.state(&s.w).paid_secs, 600);
}

/// Two faults about the same seconds make good no more than was paid.
#[test]
fn what_was_paid_is_made_good_once() {
    let mut s = scene();
    s.w.ok(ix::dispute_open(&s.w, &s.deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&s.deal.customer.key]);
    s.w.ok(ix::dispute_vote(&s.deal.keeper, &s.deal.lease, 1), &[&s.deal.keeper.key]);
    let payer = s.w.actor();
    s.w.ok(ix::dispute_uphold(&s.w, &payer.wallet(), &s.deal.lease), &[&payer.key]);
    let disputed = pda::dispute_fault(&s.deal.lease);
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    s.applied(&fault);
    s.w.ok(ix::slash_apply(&s.w, &disputed), &[]);
    let lease = s.deal.lease;
    for at in [fault, disputed] {
        s.compensate(&at, &lease);
    }
    let finder = 500_000_000;
    let sum = s.payout(&s.deal.customer, &fault) + s.payout(&s.deal.customer, &disputed);
    assert_eq!(sum, PAID + finder);
}

#[test]
fn findings_of_one_cause_cost_what_the_gravest_does() {
    let mut s = scene();
    let first = s.faulted(Address::default(), FLAG_WORK_FAILED);
    assert_eq!(s.node().cause_taken, 2_000_000_000);
    let mut next = |flags| {
        s.period = s.w.period();
        s.w.warp_past_period(s.period);
        let fault = s.faulted(Address::default(), flags);
        (s.w.read::<Fault>(&fault).amount, fault)
    };
    // A lesser or the same finding costs nothing more, a graver one the difference.
    let (nothing, second) = next(FLAG_WORK_FAILED);
    let (difference, third) = next(FLAG_DEVICE_CHANGED);
    assert_eq!((nothing, difference), (0, 18_000_000_000));
    let node = s.node();
    assert_eq!((node.cause_taken, node.reserved_stake), (20_000_000_000, 20_000_000_000));
    assert_eq!(node.pending_node_faults, 3);
    // What is voided does not count for the cause.
    let text = statement(&s.deal.machine.node, s.period, 4, true);
    let appeal = ix::slash_appeal(&s.w, &third, &s.deal.keeper, text);
    s.w.ok_all(&[signed(&s.deal.keeper.key, &text), appeal], &[]);
    let node = s.node();
    assert_eq!((node.cause_taken, node.reserved_stake), (2_000_000_000, 2_000_000_000));
    s.applied(&first);
    s.w.ok(ix::slash_apply(&s.w, &second), &[]);
    let node = s.node();
    assert_eq!((node.stake, node.reserved_stake, node.convicted), (18_000_000_000, 0, 1));
}

#[test]
fn proven_bad_work_ends_the_leases_of_the_node() {
    let mut s = scene();
    let finder = s.w.actor();
    let measured = Measured::new(s.deal.machine.node, s.w.period(), PROCESSORS, (5, 5), 3);
    s.w.accuse(&finder, &s.deal.machine.key, &measured);
    let proof = ix::prove_wrong_cell(&s.w, &finder, &s.deal.machine.node, &measured.siblings().1);
    s.w.ok(proof, &[&finder.key]);
    let node = s.node();
    assert_eq!((node.convicted, node.convicted_from), (1, node.registered_at));
    // What is not paid never will be; what is paid stays paid.
    s.w.settle(&s.deal, 2, 650);
    assert_eq!(s.deal.state(&s.w).paid_secs, 600);
    let stranger = s.w.actor();
    s.w.ok(ix::lease_end(&s.w, &stranger.wallet(), &s.deal.lease, 0), &[&stranger.key]);
    let lease = s.deal.state(&s.w);
    assert_eq!((lease.cut, lease.ended_at), (1, lease.started_at + 600));
    // It waits for the fault that compensates it.
    let close = ix::lease_close(&s.w, &s.deal.customer.wallet(), &s.deal.lease);
    s.w.warp(121);
    let fault = pda::work_fault(&s.deal.machine.node, &finder.wallet(), measured.period);
    if s.deal.state(&s.w).status != LEASE_ENDED {
        s.w.ok(ix::lease_end(&s.w, &stranger.wallet(), &s.deal.lease, 0), &[&stranger.key]);
    }
    s.w.refused(close.clone(), &[&s.deal.customer.key], MarketError::FaultPending);
    s.w.ok(ix::slash_apply(&s.w, &fault), &[]);
    s.compensate(&fault, &s.deal.lease.clone());
    s.w.ok(close, &[&s.deal.customer.key]);
}

/// The other way to be found out has the same pool, for those that have paid; the cheat's own customer has not.
#[test]
fn proven_bad_work_compensates_those_that_paid() {
    let mut s = scene();
    let supply = s.w.supply(&s.w.stake_mint);
    let finder = s.w.actor();
    let measured = Measured::new(s.deal.machine.node, s.w.period() - 1, PROCESSORS, (5, 5), 3);
    s.w.accuse(&finder, &s.deal.machine.key, &measured);
    let proof = ix::prove_wrong_cell(&s.w, &finder, &s.deal.machine.node, &measured.siblings().1);
    s.w.ok(proof, &[&finder.key]);
    let fault = pda::work_fault(&s.deal.machine.node, &finder.wallet(), measured.period);
    s.w.ok(ix::slash_apply(&s.w, &fault), &[]);
    for lease in [s.sham, s.deal.lease] {
        s.compensate(&fault, &lease);
    }
    assert_eq!((s.payout(&s.deal.customer, &fault), s.payout(&s.own, &fault)), (PAID, 0));
    assert_eq!(s.payout(&finder, &fault), 0);
    let until = s.w.read::<Fault>(&fault).claims_until;
    s.w.set_now(until);
    s.w.ok(ix::slash_close(&s.w, &fault), &[]);
    assert_eq!(supply - s.w.supply(&s.w.stake_mint), 10_000_000_000 - PAID);
}

/// A dispute is about a lease, not about the machine: it keeps nobody suspended.
#[test]
fn a_voided_fault_ends_the_suspension_though_a_dispute_is_open() {
    let mut s = scene();
    s.w.ok(ix::dispute_open(&s.w, &s.deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&s.deal.customer.key]);
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED);
    assert_eq!((s.node().status, s.node().pending_faults), (NODE_SUSPENDED, 2));
    let text = statement(&s.deal.machine.node, s.period, 3, true);
    let appeal = ix::slash_appeal(&s.w, &fault, &s.deal.keeper, text);
    s.w.ok_all(&[signed(&s.deal.keeper.key, &text), appeal], &[]);
    // Its agent says when it is awake.
    assert_eq!((s.node().status, s.node().pending_faults), (NODE_HIBERNATED, 1));
}

/// Finding P 13. A wrong fault of the machine holds all of its stake while a dispute is upheld, and is voided then.
#[test]
fn a_fault_under_another_that_is_voided_costs_what_it_says() {
    let play = |wrong: bool| {
        let mut s = scene();
        s.w.ok(ix::dispute_open(&s.w, &s.deal.lease, DISPUTE_BAD_OUTPUT, [7; 32]), &[&s.deal.customer.key]);
        s.w.ok(ix::dispute_vote(&s.deal.keeper, &s.deal.lease, 1), &[&s.deal.keeper.key]);
        let fault = wrong.then(|| s.faulted(Address::default(), FLAG_DEVICE_CHANGED));
        let payer = s.w.actor();
        s.w.ok(ix::dispute_uphold(&s.w, &payer.wallet(), &s.deal.lease), &[&payer.key]);
        let disputed = pda::dispute_fault(&s.deal.lease);
        if let Some(fault) = fault {
            assert_eq!(s.w.read::<Fault>(&disputed).amount, 0, "nothing is free to hold");
            let text = statement(&s.deal.machine.node, s.period, 4, true);
            let appeal = ix::slash_appeal(&s.w, &fault, &s.deal.keeper, text);
            s.w.ok_all(&[signed(&s.deal.keeper.key, &text), appeal], &[]);
        }
        s.applied(&disputed);
        let lease = s.deal.lease;
        s.compensate(&disputed, &lease);
        (s.w.read::<Fault>(&disputed).amount, s.payout(&s.deal.customer, &disputed))
    };
    let (amount, customer) = play(false);
    assert!(amount > 0 && customer > 0);
    assert_eq!(play(true), (amount, customer));
}

/// Finding P 14. A machine that slept for a week serves a victim for ten minutes and is found out.
#[test]
fn a_machine_that_slept_does_not_dilute_its_victims() {
    let play = |slept: i64| {
        let mut w = Testbed::new();
        let (keeper, provider) = (w.keeper(w.params.min_bond), w.provider(20_000_000_000));
        let (machine, customer) = (w.machine(&provider, 2), w.customer(100_000_000));
        let (wallet, at) = (provider.wallet(), machine.node);
        if slept > 0 {
            for status in [NODE_HIBERNATED, NODE_ACTIVE] {
                w.ok(
                    ix::node_update(&wallet, &provider.provider(), &at, 2_000_000, status),
                    &[&provider.key],
                );
                w.warp(slept);
            }
            // Awake for a minute.
            w.warp(60 - slept);
        }
        let order = w.order(&customer, ix::order_args(1));
        let lease = w.award(&keeper, &customer, &order, &provider, &machine);
        w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&machine.key]);
        w.warp(600);
        w.ok_all(&ix::receipt(&w, &lease, &machine.key, &customer.key, 1, 600), &[]);
        let period = w.period();
        w.warp_past_period(period);
        let bad = LeafData {
            flags: FLAG_WORK_FAILED,
            checks_passed: 0,
            ..w.good_leaf(at, Address::default(), period)
        };
        let proof = w.finalise(&keeper, &[bad]).remove(0);
        w.ok(ix::fault_open(&w, &keeper.wallet(), &proof), &[&keeper.key]);
        let fault = ix::fault_of(&proof);
        w.warp(300);
        w.ok(ix::slash_apply(&w, &fault), &[]);
        w.ok(ix::slash_compensate(&w, &fault, &lease), &[]);
        w.read::<Payout>(&pda::payout(&customer.wallet(), &fault)).amount
    };
    let (awake, asleep) = (play(0), play(7 * 86_400));
    assert!(asleep * 10 >= awake * 8, "{asleep} of {awake}");
}

/// What is left of a fault of which only the gravest finding is voided costs its cause what it costs.
#[test]
fn a_partly_voided_fault_frees_the_difference_for_its_cause() {
    let mut s = scene();
    let fault = s.faulted(Address::default(), FLAG_WORK_FAILED | FLAG_DEVICE_CHANGED);
    assert_eq!(s.node().cause_taken, 20_000_000_000);
    let text = statement(&s.deal.machine.node, s.period, 4, true);
    let appeal = ix::slash_appeal(&s.w, &fault, &s.deal.keeper, text);
    s.w.ok_all(&[signed(&s.deal.keeper.key, &text), appeal], &[]);
    let node = s.node();
    assert_eq!((node.cause_taken, node.reserved_stake), (2_000_000_000, 2_000_000_000));
}
