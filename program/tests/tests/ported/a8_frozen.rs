//! A8: the issuer of the payment token freezes one vault, and others' stake, rent and refunds stay.

use gantry_market::state::{Credits, Node};
use gantry_market_tests::{ix, pda, Deal, Testbed};
use solana_address::Address;

use crate::sums::attempt;

/// Pays half an hour, ends, and waits for all deadlines.
fn paid(w: &mut Testbed) -> Deal {
    let deal = w.running();
    w.warp(1_800);
    w.settle(&deal, 1, 1_800);
    w.ok(ix::lease_end(w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.warp(2_000);
    deal
}

fn closes_with(frozen: impl Fn(&Deal) -> Address) {
    let mut w = Testbed::new();
    let deal = paid(&mut w);
    let rent = w.lamports(&deal.keeper.signer());
    w.freeze(&frozen(&deal), true);
    let close = ix::lease_close(&w, &deal.keeper.wallet(), &deal.lease);
    assert_eq!(attempt(&mut w, &[close], &[&deal.keeper.key]), Ok(()), "the lease does not close");
    let node: Node = w.read(&deal.machine.node);
    assert_eq!((node.open_leases, node.gpu_mask), (0, 0));
    assert!(w.lamports(&deal.keeper.signer()) > rent, "the keeper's rent comes back");
    let credits: Credits = w.read(&deal.customer.credits());
    println!("reserved after the close: {}", credits.reserved);
    assert_eq!((credits.reserved, credits.live_leases), (0, 0), "the rest is the customer's");
    // The provider leaves with all its stake.
    w.ok(ix::node_retire(&deal.provider, &deal.machine.node), &[&deal.provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    let key = solana_signer::Signer::pubkey(&deal.machine.key);
    w.ok(ix::node_close(&deal.provider, &key, deal.machine.gpus), &[&deal.provider.key]);
    w.ok(ix::provider_request_unstake(&deal.provider, 20_000_000_000), &[&deal.provider.key]);
    w.warp(i64::from(w.params.unstake_cooldown_secs));
    w.ok(ix::provider_withdraw_stake(&deal.provider), &[&deal.provider.key]);
}

#[test]
fn a_frozen_vault_of_the_customer_holds_nobody() {
    closes_with(|deal| deal.customer.credits_vault());
}

#[test]
fn a_frozen_fee_vault_holds_nobody() {
    closes_with(|_| pda::fee_vault());
}

/// Others that take money on their way: what stops with either vault frozen, and comes back once it is not.
#[test]
fn declines_and_disputes_pass_a_frozen_vault() {
    for fee in [true, false] {
        let mut w = Testbed::new();
        let deal = w.awarded();
        w.warp(60);
        let at = if fee { pda::fee_vault() } else { deal.customer.credits_vault() };
        w.freeze(&at, true);
        let decline = ix::lease_decline(&w, &deal.lease, 1);
        let outcome = attempt(&mut w, &[decline], &[&deal.machine.key]);
        println!("decline, fee vault {fee}: {outcome:?}");
        if outcome.is_err() {
            w.warp(120);
            let abort = ix::lease_abort(&w, &deal.lease);
            let aborted = attempt(&mut w, &[abort], &[]);
            println!("abort: {aborted:?}, failed {}", w.read::<Node>(&deal.machine.node).jobs_failed);
        }
        assert_eq!(outcome, Ok(()));
    }
}

/// A dispute of a lease whose vault is frozen, and the fault of an upheld one.
#[test]
fn a_dispute_is_resolved() {
    for (uphold, fee) in [(0, true), (0, false), (1, true), (1, false)] {
        let mut w = Testbed::new();
        let deal = w.running();
        w.warp(1_800);
        w.settle(&deal, 1, 1_800);
        let open = ix::dispute_open(&w, &deal.lease, 1, [4; 32]);
        w.ok(open, &[&deal.customer.key]);
        let at = if fee { pda::fee_vault() } else { deal.customer.credits_vault() };
        w.freeze(&at, true);
        w.ok(ix::dispute_vote(&deal.keeper, &deal.lease, uphold), &[deal.keeper.signing()]);
        w.warp(3_600);
        let (what, end) = if uphold == 1 {
            ("uphold", ix::dispute_uphold(&w, &deal.keeper.wallet(), &deal.lease))
        } else {
            ("resolve", ix::dispute_resolve(&w, &deal.lease))
        };
        let outcome = attempt(&mut w, &[end], &[&deal.keeper.key]);
        println!("{what} with frozen {}: {outcome:?}", if fee { "fee vault" } else { "credits" });
        assert_eq!(outcome, Ok(()));
    }
}
