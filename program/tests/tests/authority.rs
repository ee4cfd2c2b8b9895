//! What the authority can do at worst: pause, and propose whatever the program takes. Neither slashes anybody who did
//! nothing, nor keeps anybody's money or stake for longer than was agreed.

use gantry_market::constants::{BPS, MAX_WAIT_SECS, QUORUM_BPS_MAX, STEP};
use gantry_market::instructions::market::gpu_model_propose::GpuModelArgs;
use gantry_market::state::{Credits, GpuModel, Keeper, Lease, Node, Params, Provider, LEASE_ENDED};
use gantry_market_tests::testbed::H100;
use gantry_market_tests::{ix, pda, Actor, Deal, Testbed};
use solana_signer::Signer;

fn dearer(amount: u64) -> u64 {
    amount.saturating_mul(STEP)
}

fn harsher(bps: u16) -> u16 {
    bps.saturating_mul(STEP as u16).min(BPS as u16)
}

/// Everything that a hostile authority would choose: all slashes a step dearer, all waits as long as they may be.
pub(crate) fn worst(params: &Params) -> Params {
    Params {
        min_bond: dearer(params.min_bond),
        weight_cap: dearer(params.weight_cap),
        stake_price: params.stake_price / 2,
        dispute_deposit: u64::MAX,
        appeal_secs: 0,
        challenge_secs: MAX_WAIT_SECS,
        unstake_cooldown_secs: MAX_WAIT_SECS,
        keeper_activation_secs: MAX_WAIT_SECS,
        keeper_exit_secs: MAX_WAIT_SECS,
        migration_grace_secs: 0,
        notice_secs: MAX_WAIT_SECS,
        rating_secs: MAX_WAIT_SECS,
        report_retention_secs: MAX_WAIT_SECS - params.period_secs,
        quorum_bps: QUORUM_BPS_MAX,
        slash_fraud_bps: harsher(params.slash_fraud_bps),
        slash_bad_work_bps: harsher(params.slash_bad_work_bps),
        slash_work_failed_bps: harsher(params.slash_work_failed_bps),
        slash_offline_bps: harsher(params.slash_offline_bps),
        slash_guarantee_bps: harsher(params.slash_guarantee_bps),
        slash_unjust_award_bps: harsher(params.slash_unjust_award_bps),
        slash_equivocation_bps: harsher(params.slash_equivocation_bps),
        ..*params
    }
}

/// Pauses all, and puts the worst parameters and the worst model into force.
pub(crate) fn seize(w: &mut Testbed) {
    let authority = w.authority.insecure_clone();
    w.ok(ix::market_propose_params(w, worst(&w.params)), &[&authority]);
    let model = ix::h100();
    let harsh =
        GpuModelArgs { min_stake: 2 * model.min_stake, min_operations: u32::MAX, min_tier: 1, ..model };
    w.ok(ix::gpu_model_propose(w, harsh), &[&authority]);
    w.ok(ix::market_propose_roles(w, authority.pubkey(), w.treasury), &[&authority]);
    w.warp(i64::from(w.params.timelock_secs));
    w.ok(ix::market_apply_params(), &[]);
    w.ok(ix::gpu_model_apply(H100), &[]);
    w.ok(ix::market_apply_roles(w), &[]);
    w.ok(ix::market_pause(&authority.pubkey(), 3), &[&authority]);
    w.params = w.market().params;
}

fn stakes(w: &Testbed, deal: &Deal) -> (u64, u64) {
    let provider: Provider = w.read(&deal.provider.provider());
    let keeper: Keeper = w.read(&deal.keeper.keeper());
    (provider.stake, keeper.bond)
}

#[test]
fn a_hostile_authority_slashes_nobody() {
    let mut w = Testbed::new();
    let deal = w.running_with(gantry_market::instructions::order::order_create::OrderArgs {
        duration_secs: 7_200,
        ..ix::order_args(1)
    });
    let (before, terms) = (stakes(&w, &deal), w.read::<Node>(&deal.machine.node));
    seize(&mut w);
    assert_eq!(stakes(&w, &deal), before);
    // The node is measured by the terms that it knows, and needs no more stake than when it registered.
    let node: Node = w.read(&deal.machine.node);
    let model: GpuModel = w.read(&pda::gpu_model(H100));
    assert!(node.terms_at < model.since && model.min_operations > node.min_operations);
    assert_eq!(
        (node.min_operations, node.min_bandwidth, node.required_stake),
        (terms.min_operations, terms.min_bandwidth, terms.required_stake)
    );
    // A lease that was agreed keeps its terms.
    let lease: Lease = w.read(&deal.lease);
    assert_eq!((lease.slash_offline_bps, lease.slash_bad_work_bps), (500, 5_000));
    assert_eq!((lease.notice_secs, lease.rating_secs), (60, 600));
}

#[test]
fn a_paused_market_under_a_hostile_authority_pays_and_gives_back() {
    let mut w = Testbed::new();
    let (idle, leaver): (Actor, Actor) = (w.provider(20_000_000_000), w.keeper(w.params.min_bond));
    w.ok(ix::provider_request_unstake(&idle, 20_000_000_000), &[&idle.key]);
    w.ok(ix::keeper_request_exit(&leaver), &[&leaver.key]);
    let deal = w.running();
    w.warp(600);
    let before = w.tokens(&deal.payout());
    seize(&mut w);
    // Work that was done is paid, what is left comes back to the customer, at the times of then.
    w.settle(&deal, 1, 600);
    assert_eq!(w.tokens(&deal.payout()) - before, 333_333 - 39_999);
    let customer = &deal.customer;
    if w.read::<Lease>(&deal.lease).status != LEASE_ENDED {
        w.ok(ix::lease_end(&w, &customer.wallet(), &deal.lease, 0), &[&customer.key]);
    }
    w.warp(i64::from(MAX_WAIT_SECS));
    w.ok(ix::lease_close(&w, &customer.wallet(), &deal.lease), &[&customer.key]);
    let credits: Credits = w.read(&customer.credits());
    let free = credits.balance - credits.reserved;
    assert_eq!((credits.reserved, credits.live_leases), (0, 0));
    w.ok(ix::credits_withdraw(customer, free), &[&customer.key]);
    // Stake and bond that were asked back come when they were due.
    w.ok(ix::provider_withdraw_stake(&idle), &[&idle.key]);
    w.ok(ix::keeper_withdraw(&leaver), &[&leaver.key]);
    assert_eq!(w.read::<Provider>(&idle.provider()).unstaking, 0);
}
