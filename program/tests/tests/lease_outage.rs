use gantry_market::constants::{FLAG_BAD_OUTPUT, FLAG_OFFLINE, OUTAGE_MOVE_SECS, OUTAGE_SECS, PAUSE_AWARDS};
use gantry_market::errors::MarketError;
use gantry_market::events::LeaseFailed;
use gantry_market::instructions::order::order_create::OrderArgs;
use gantry_market::state::{
    Credits, Fault, Lease, Node, Provider, FAULT_OUTAGE, FAULT_PENDING, LEASE_AWARDED, LEASE_ENDED,
    LEASE_FAILED,
};
use gantry_market_tests::events::{assert_emitted, emitted};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::setups::Silence;
use gantry_market_tests::testbed::H100;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, pda, Testbed};
use solana_instruction_error::InstructionError;
use solana_signer::Signer;

/// A node that is away by all keepers' votes.
fn away() -> (Testbed, Silence) {
    let mut w = Testbed::new();
    let s = w.silent();
    s.voted(&mut w, 3);
    (w, s)
}

#[test]
fn a_lease_moves_seconds_after_its_node_fell_silent() {
    let (mut w, s) = away();
    assert_eq!(w.now() - s.answer, OUTAGE_SECS);
    let meta = w.ok_all(&s.moves(&w), &[&s.keepers[0].key]);
    let old: Lease = s.deal.state(&w);
    assert_eq!((old.status, old.ended_at, old.away, old.kept_word), (LEASE_ENDED, s.answer, 1, 0));
    let new: Lease = w.read(&pda::lease(&s.deal.lease, &s.spare.node));
    assert_eq!((new.status, new.continues, new.duration_secs), (LEASE_AWARDED, 1, 3_570));
    let credits: Credits = w.read(&s.deal.customer.credits());
    assert_eq!(credits.reserved, old.reserved + new.reserved);
    let node: Node = w.read(&s.deal.machine.node);
    assert_eq!((node.jobs_failed, node.live_leases, node.pending_faults), (1, 0, 1));
    let period = w.period();
    assert_emitted(&meta, &LeaseFailed { lease: s.deal.lease, period, ended_at: s.answer });
    assert_eq!(emitted(&meta).len(), 4, "a fault, the end of the one lease, and the move");
}

/// The same fault as of a report that the node was away: what it costs, whom it compensates.
#[test]
fn it_costs_what_a_report_would() {
    let outage = {
        let (mut w, s) = away();
        w.ok(s.fail(&w), &[&s.keepers[0].key]);
        let fault: Fault = w.read(&pda::outage_fault(&s.deal.lease));
        assert_eq!((fault.kind, fault.status, fault.flags), (FAULT_OUTAGE, FAULT_PENDING, FLAG_OFFLINE));
        assert_eq!((fault.lease, fault.rent_payer), (s.deal.lease, s.keepers[0].wallet()));
        let (from, until) = (fault.window_from, fault.window_until);
        assert!(from <= s.answer && s.answer < until && until - from == i64::from(w.params.period_secs));
        assert_eq!(fault.applicable_at, w.now() + i64::from(w.params.appeal_secs));
        let provider: Provider = w.read(&s.deal.provider.provider());
        assert_eq!(
            (provider.pending_faults, w.read::<Node>(&s.deal.machine.node).reserved_stake),
            (1, fault.amount)
        );
        fault
    };
    let mut w = Testbed::new();
    let deal = w.running();
    let period = w.period() + 1;
    w.warp_past_period(period);
    let good = w.good_leaf(deal.machine.node, deal.lease, period);
    let leaf = LeafData { flags: FLAG_OFFLINE, up_secs: 10, verified_secs: 10, downtime_secs: 50, ..good };
    let proofs = w.finalise(&deal.keeper, &[leaf]);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proofs[0]), &[&deal.keeper.key]);
    let report: Fault = w.read(&ix::fault_of(&proofs[0]));
    assert_eq!((outage.costs, outage.amount, outage.gpus), (report.costs, report.amount, report.gpus));
    assert!(outage.amount > 0);
}

/// What is paid stays paid: the lease ends where its payment ends.
#[test]
fn what_is_paid_is_not_taken_back() {
    let mut w = Testbed::new();
    let s = w.silent();
    w.set_now(s.answer + 4);
    // Node and customer have signed for more than keepers saw.
    w.settle(&s.deal, 1, 34);
    s.voted(&mut w, 3);
    w.ok_all(&s.moves(&w), &[&s.keepers[0].key]);
    let lease = s.deal.state(&w);
    assert_eq!((lease.paid_secs, lease.ended_at), (34, s.answer + 4));
    assert_eq!(lease.undelivered_secs().ok(), Some(3_566));
}

/// The report of the same seconds: verified ones are paid once, silence is charged once.
#[test]
fn the_report_neither_pays_nor_charges_twice() {
    let (mut w, s) = away();
    w.ok_all(&s.moves(&w), &[&s.keepers[0].key]);
    let start = s.deal.state(&w).started_at;
    let (first, last) = (start / 60, s.answer / 60);
    let stake = w.read::<Node>(&s.deal.machine.node).reserved_stake;
    let mut verified = 0;
    for period in first..=last {
        let up = (s.answer.min(60 * (period + 1)) - start.max(60 * period)) as u32;
        verified += up;
        let good = w.good_leaf(s.deal.machine.node, s.deal.lease, period as u64);
        // These keepers count the silence after the lease's end as well.
        let down = if period == last { 60 - up } else { 0 };
        let flags = if down > w.params.migration_grace_secs { FLAG_OFFLINE } else { 0 };
        let leaf = LeafData { flags, up_secs: up, verified_secs: up, downtime_secs: down, ..good };
        w.warp_past_period(period as u64);
        let proofs = s.keepers.iter().map(|keeper| w.finalise(keeper, &[leaf])).last().expect("three");
        w.refused(ix::fault_open_of(&w, &w.payer.pubkey(), &proofs[0], false), &[], MarketError::NoFault);
        w.ok(ix::report_apply(&proofs[0]), &[]);
    }
    assert_eq!(i64::from(verified), s.answer - start);
    for _ in 0..2 {
        w.ok(ix::lease_settle_report(&w, &s.deal.lease), &[]);
        assert_eq!(s.deal.state(&w).paid_secs, verified);
    }
    assert_eq!(w.read::<Node>(&s.deal.machine.node).reserved_stake, stake, "the fault is there already");
}

/// A fault of another kind has its own place: silence shields from nothing.
#[test]
fn silence_is_no_shield() {
    let (mut w, s) = away();
    w.ok(s.fail(&w), &[&s.keepers[0].key]);
    let period = w.period();
    w.warp_past_period(period);
    let good = w.good_leaf(s.deal.machine.node, s.deal.lease, period);
    let leaf = LeafData { flags: FLAG_BAD_OUTPUT, ..good };
    let proofs = s.keepers.iter().map(|keeper| w.finalise(keeper, &[leaf])).last().expect("three");
    w.ok(ix::fault_open_of(&w, &w.payer.pubkey(), &proofs[0], false), &[]);
    assert_eq!(s.deal.state(&w).pending_faults, 2);
}

#[test]
fn refusals() {
    let (mut w, s) = away();
    let key = &s.keepers[0].key;
    let (outsider, other) = (w.actor(), s.deal.machine.node);
    let keeper = s.keepers[0].keeper();
    w.refused(swap(s.fail(&w), &keeper, &s.keepers[1].keeper()), &[key], MarketError::Unauthorised);
    let pending = w.pending_keeper(w.params.min_bond);
    w.refused(ix::lease_outage(&w, &pending, &s.deal.lease), &[&pending.key], MarketError::KeeperNotActive);
    assert!(!w.exists(&outsider.keeper()));
    w.refused(swap(s.fail(&w), &other, &s.spare.node), &[key], MarketError::WrongAccount);
    let guardian = w.guardian.insecure_clone();
    w.ok(ix::market_pause(&guardian.pubkey(), PAUSE_AWARDS), &[&guardian]);
    w.refused(s.fail(&w), &[key], MarketError::AwardsPaused);
    w.ok(ix::market_pause(&guardian.pubkey(), 0), &[&guardian]);
    let seen = s.outage(&w).seen_at;
    w.set_now(seen + OUTAGE_MOVE_SECS + 1);
    w.refused(s.fail(&w), &[key], MarketError::NoOutage);
    w.set_now(seen + OUTAGE_MOVE_SECS);
    w.ok(s.fail(&w), &[key]);
    assert_eq!(s.deal.state(&w).status, LEASE_FAILED);
    // Not twice. The fault's address is taken: that is seen first.
    assert!(w.send(&[s.fail(&w)], &[key]).is_err());
}

#[test]
fn a_lease_that_has_ended_fails_no_more() {
    let (mut w, s) = away();
    let end = ix::lease_end(&w, &s.deal.customer.wallet(), &s.deal.lease, 0);
    w.ok(end, &[&s.deal.customer.key]);
    w.refused(s.fail(&w), &[&s.keepers[0].key], MarketError::WrongLeaseStatus);
}

/// A customer for whom it is better to wait has said so.
#[test]
fn a_lease_that_may_not_move_goes_on() {
    let mut w = Testbed::new();
    let s = w.silent_with(OrderArgs { no_migration: 1, ..ix::order_args(1) });
    s.voted(&mut w, 3);
    w.refused(s.fail(&w), &[&s.keepers[0].key], MarketError::MigrationNotAllowed);
}

/// A node that starts a lease is there: votes about an earlier silence do not end it.
#[test]
fn a_start_is_a_sign_of_life() {
    let mut w = Testbed::new();
    let s = w.silent();
    let order = w.order(&s.deal.customer, ix::order_args(2));
    let lease = w.award(&s.deal.keeper, &s.deal.customer, &order, &s.deal.provider, &s.deal.machine);
    w.warp(1);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&s.deal.machine.key]);
    s.voted(&mut w, 3);
    let fail = ix::lease_outage(&w, &s.keepers[0], &lease);
    w.refused(fail, &[&s.keepers[0].key], MarketError::NoOutage);
    w.ok(s.fail(&w), &[&s.keepers[0].key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let (mut w, s) = away();
    let (keeper, key, deal) = (&s.keepers[0], &s.keepers[0].key, &s.deal);
    w.refused(unsigned(s.fail(&w), &keeper.wallet()), &[], InstructionError::MissingRequiredSignature);
    let model = pda::gpu_model(H100);
    let outage = pda::outage(&deal.machine.node);
    let all = [
        keeper.keeper(),
        pda::market(),
        outage,
        deal.provider.provider(),
        deal.machine.node,
        model,
        deal.lease,
    ];
    for at in all {
        let fake = w.forged(&at);
        w.refused(swap(s.fail(&w), &at, &fake), &[key], InstructionError::IllegalOwner);
    }
    w.refused(
        swap(s.fail(&w), &deal.provider.provider(), &s.other.provider()),
        &[key],
        MarketError::WrongAccount,
    );
}

/// Another node that is away, with its provider: neither fails a lease of this one.
#[test]
fn the_outage_of_another_node_fails_no_lease() {
    let mut w = Testbed::new();
    let s = w.silent();
    let customer = w.customer(100_000_000);
    let order = w.order(&customer, ix::order_args(1));
    let lease = w.award(&s.keepers[0], &customer, &order, &s.other, &s.spare);
    w.ok(ix::lease_start(&w, &lease, [3; 32]), &[&s.spare.key]);
    let answer = w.now();
    w.warp(OUTAGE_SECS);
    for keeper in &s.keepers {
        w.ok(ix::outage_vote(keeper, &s.spare.node, answer), &[keeper.signing()]);
    }
    let own = ix::lease_outage(&w, &s.keepers[0], &lease);
    let mut wrong = s.fail(&w);
    for (from, to) in [
        (pda::outage(&s.deal.machine.node), pda::outage(&s.spare.node)),
        (s.deal.provider.provider(), s.other.provider()),
        (s.deal.machine.node, s.spare.node),
    ] {
        wrong = swap(wrong, &from, &to);
        w.refused(wrong.clone(), &[s.keepers[0].signing()], MarketError::WrongAccount);
    }
    w.ok(own, &[s.keepers[0].signing()]);
}
