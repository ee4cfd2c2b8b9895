//! Whole lives of leases, from the first deposit to the last lamport of rent.

use gantry_market::constants::{FLAG_OFFLINE, FLAG_WORK_FAILED};
use gantry_market::state::{
    Credits, Fault, Keeper, Lease, Node, Provider, LEASE_ENDED, LEASE_FAILED, NODE_SUSPENDED,
};
use gantry_market_tests::actors::{START_LAMPORTS, START_PAYMENT, START_STAKE};
use gantry_market_tests::leaves::LeafData;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_address::Address;

/// Everyone leaves, as far as the market lets them.
fn leave(w: &mut Testbed, deal: &Deal) {
    let (provider, customer, keeper) = (&deal.provider, &deal.customer, &deal.keeper);
    w.ok(ix::node_retire(provider, &deal.machine.node), &[&provider.key]);
    let stake = w.read::<Provider>(&provider.provider()).stake;
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    use solana_signer::Signer;
    let close = ix::node_close(provider, &deal.machine.key.pubkey(), deal.machine.gpus);
    w.ok(close, &[&provider.key]);
    if stake > 0 {
        w.ok(ix::provider_request_unstake(provider, stake), &[&provider.key]);
        w.warp(i64::from(w.params.unstake_cooldown_secs));
        w.ok(ix::provider_withdraw_stake(provider), &[&provider.key]);
    }
    w.ok(ix::provider_close(provider), &[&provider.key]);
    w.ok(ix::credits_close(customer), &[&customer.key]);
    w.ok(ix::keeper_request_exit(keeper), &[&keeper.key]);
    w.warp(i64::from(w.params.keeper_exit_secs));
    if w.read::<Keeper>(&keeper.keeper()).earned > 0 {
        w.ok(ix::rewards_claim(keeper, None), &[]);
    }
    w.ok(ix::keeper_withdraw(keeper), &[&keeper.key]);
}

/// All rent came back: every actor has the lamports it began with.
fn rent_is_back(w: &Testbed, actors: &[&Actor]) {
    for actor in actors {
        assert_eq!(w.lamports(&actor.wallet()), START_LAMPORTS);
    }
}

#[test]
fn a_lease_paid_by_receipts() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(1_800);
    w.settle(&deal, 1, 1_800);
    // Half an hour at 2 USDC an hour: 1 USDC, of which 12 % are the protocol's.
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 880_000);
    assert_eq!(deal.state(&w).paid, 1_000_000);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    assert_eq!(deal.state(&w).status, LEASE_ENDED);
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 120_000);
    w.ok(ix::lease_rate(&w, &deal.lease, 5), &[&deal.customer.key]);
    let close = ix::lease_close(&w, &deal.keeper.wallet(), &deal.lease);
    w.ok(close, &[&deal.keeper.key]);
    assert!(!w.exists(&deal.lease) && !w.exists(&deal.order));
    assert_eq!(w.tokens(&pda::fee_vault()), 120_000);
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.jobs_completed, node.gpu_mask, node.rating_weight), (1, 0, 120_000));
    leave(&mut w, &deal);
    assert_eq!(w.tokens(&deal.customer.payment), START_PAYMENT - 1_000_000);
    assert_eq!(w.tokens(&deal.provider.stake), START_STAKE);
    rent_is_back(&w, &[&deal.customer, &deal.provider, &deal.keeper]);
}

#[test]
fn a_lease_paid_by_reports() {
    let mut w = Testbed::new();
    let deal = w.running();
    let period = w.period();
    w.warp_past_period(period);
    let leaf = w.good_leaf(deal.machine.node, deal.lease, period);
    let proofs = w.finalise(&deal.keeper, &[leaf]);
    w.ok(ix::report_apply(&proofs[0]), &[]);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!(lease.paid_secs, w.params.period_secs);
    // A minute at 2 USDC an hour.
    assert_eq!(lease.paid, 33_333);
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 33_333 - 3_999);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.ok(close, &[&deal.customer.key]);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &deal.keeper.wallet()), &[]);
    leave(&mut w, &deal);
    rent_is_back(&w, &[&deal.customer, &deal.provider, &deal.keeper]);
}

#[test]
fn a_silent_node_fails_its_lease_and_pays_for_it() {
    let mut w = Testbed::new();
    let deal = w.running();
    let period = w.period();
    w.warp_past_period(period);
    let leaf = LeafData {
        flags: FLAG_OFFLINE,
        up_secs: 0,
        verified_secs: 0,
        downtime_secs: w.params.period_secs,
        checks_passed: 0,
        ..w.good_leaf(deal.machine.node, deal.lease, period)
    };
    let proofs = w.finalise(&deal.keeper, &[leaf]);
    w.ok(ix::fault_open(&w, &deal.keeper.wallet(), &proofs[0]), &[&deal.keeper.key]);
    assert_eq!(deal.state(&w).status, LEASE_FAILED);
    let fault = pda::fault(&deal.machine.node, &deal.lease, period);
    let state: Fault = w.read(&fault);
    // 5 % of the 10 stake tokens that one GPU needs.
    assert_eq!(state.amount, 500_000_000);
    // Nobody moved it to another node in time.
    w.warp(i64::from(w.params.period_secs) * 2 + 1);
    w.ok(ix::lease_end(&w, &deal.keeper.wallet(), &deal.lease, 0), &[&deal.keeper.key]);
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 0);
    let supply = w.supply(&w.stake_mint);
    w.warp(i64::from(w.params.appeal_secs));
    w.ok(ix::slash_apply(&w, &fault), &[]);
    assert_eq!(w.read::<Provider>(&deal.provider.provider()).stake, 19_500_000_000);
    w.ok(ix::slash_compensate(&w, &fault, &deal.lease), &[]);
    w.warp(i64::from(w.params.period_secs) * 4);
    w.ok(ix::slash_close(&w, &fault), &[]);
    // Nothing was paid for the silent minute: all of it is burned.
    assert_eq!(w.supply(&w.stake_mint), supply - 500_000_000);
    assert_eq!(w.read::<Node>(&deal.machine.node).jobs_failed, 1);
    let close = ix::lease_close(&w, &deal.customer.wallet(), &deal.lease);
    w.ok(close, &[&deal.customer.key]);
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &deal.keeper.wallet()), &[]);
    leave(&mut w, &deal);
    rent_is_back(&w, &[&deal.customer, &deal.provider, &deal.keeper]);
}

#[test]
fn a_false_machine_is_suspended_and_slashed() {
    let mut w = Testbed::new();
    let keeper = w.keeper(w.params.min_bond);
    let provider = w.provider(10_000_000_000);
    let machine = w.machine(&provider, 1);
    // The period in which a node registers is not held against it.
    let period = w.period() + 1;
    w.warp_past_period(period);
    let leaf = LeafData { flags: FLAG_WORK_FAILED, ..w.good_leaf(machine.node, Address::default(), period) };
    let other = w.good_leaf(Address::new_from_array([1; 32]), Address::default(), period);
    let proofs = w.finalise(&keeper, &[other, leaf]);
    w.ok(ix::fault_open(&w, &keeper.wallet(), &proofs[1]), &[&keeper.key]);
    assert_eq!(w.read::<Node>(&machine.node).status, NODE_SUSPENDED);
    w.warp(i64::from(w.params.appeal_secs));
    let fault = pda::fault(&machine.node, &Address::default(), period);
    w.ok(ix::slash_apply(&w, &fault), &[]);
    // 10 % of 10 stake tokens; what a report finds has no finder.
    assert_eq!(w.read::<Provider>(&provider.provider()).stake, 9_000_000_000);
    w.warp(i64::from(w.params.period_secs) * 4);
    w.ok(ix::slash_close(&w, &fault), &[]);
    assert_eq!(w.tokens(&keeper.stake), START_STAKE - w.params.min_bond);
    assert!(!w.exists(&fault));
}
