use gantry_market::errors::MarketError;
use gantry_market::events::LeaseSettled;
use gantry_market::instructions::lease::lease_settle::SOURCE_REPORT;
use gantry_market::state::{Credits, Lease, LEASE_FAILED};
use gantry_market_tests::actors::START_PAYMENT;
use gantry_market_tests::errors::Code;
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::tokens::{token_2022_program, token_program};
use gantry_market_tests::{ix, Deal, Testbed};
use solana_instruction_error::InstructionError;

/// Ten minutes into a lease of which reports verified five.
fn ready() -> (Testbed, Deal) {
    let mut w = Testbed::new();
    let deal = w.running();
    w.warp(600);
    w.alter(&deal.lease, |l: &mut Lease| l.verified_secs = 300);
    (w, deal)
}

#[test]
fn anyone_has_verified_seconds_paid() {
    let (mut w, deal) = ready();
    let meta = w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.paid_secs, lease.paid, lease.receipt_secs), (300, 166_666, 0));
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 146_667);
    let credits: Credits = w.read(&deal.customer.credits());
    assert_eq!((credits.balance, credits.reserved), (100_000_000 - 146_667, 2_000_000 - 146_667));
    assert_emitted(
        &meta,
        &LeaseSettled {
            lease: deal.lease,
            source: SOURCE_REPORT,
            paid_secs: 300,
            paid: 166_666,
            provider_amount: 146_667,
            fee_total: 19_999,
        },
    );
    // Again: nothing new, and no error.
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(w.tokens(&deal.payout()), START_PAYMENT + 146_667);
}

#[test]
fn receipts_and_reports_do_not_add_up() {
    let (mut w, deal) = ready();
    w.settle(&deal, 1, 200);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(deal.state(&w).paid_secs, 300);
    w.settle(&deal, 2, 400);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!((deal.state(&w).paid_secs, deal.state(&w).paid), (400, 222_222));
}

#[test]
fn verified_seconds_are_bounded_by_time_and_funds() {
    let (mut w, deal) = ready();
    w.alter(&deal.lease, |l: &mut Lease| l.verified_secs = 100_000);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(deal.state(&w).paid_secs, 600);
    w.warp(100_000);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.paid_secs, lease.paid, lease.reserved), (3_600, 2_000_000, 240_000));
}

#[test]
fn a_failed_lease_still_pays_for_what_was_given() {
    let (mut w, deal) = ready();
    let now = w.now();
    w.alter(&deal.lease, |l: &mut Lease| (l.status, l.ended_at) = (LEASE_FAILED, now));
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(deal.state(&w).paid_secs, 300);
}

#[test]
fn not_before_the_start() {
    let mut w = Testbed::new();
    let deal = w.awarded();
    w.refused(ix::lease_settle_report(&w, &deal.lease), &[], MarketError::WrongLeaseStatus);
}

#[test]
fn a_paused_market_still_pays() {
    let (mut w, deal) = ready();
    w.pause();
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!(deal.state(&w).paid_secs, 300);
}

#[test]
fn a_provider_is_paid_where_it_says_and_only_there() {
    let (mut w, deal) = ready();
    let elsewhere = w.token_account(w.payment_mint, deal.provider.wallet(), 0);
    let before = ix::lease_settle_report(&w, &deal.lease);
    w.ok(ix::provider_set_payout(&deal.provider, elsewhere), &[&deal.provider.key]);
    w.refused(before, &[], MarketError::WrongAccount);
    w.ok(ix::lease_settle_report(&w, &deal.lease), &[]);
    assert_eq!((w.tokens(&elsewhere), w.tokens(&deal.payout())), (146_667, START_PAYMENT));
}

#[test]
fn wrong_accounts_are_refused() {
    let (mut w, deal) = ready();
    let (stranger, other) = (w.customer(10_000_000), w.provider(20_000_000_000));
    let good = ix::lease_settle_report(&w, &deal.lease);
    let (credits, vault, provider) =
        (deal.customer.credits(), deal.customer.credits_vault(), deal.provider.provider());
    for at in [deal.lease, credits, provider] {
        let fake = w.forged(&at);
        w.refuses_swaps(&good, &[], &[("program", at, fake, InstructionError::IllegalOwner.into())]);
    }
    let twin = w.twin(&vault);
    let cases: [(_, _, _, Code); 6] = [
        ("credits", credits, stranger.credits(), MarketError::WrongAccount.into()),
        ("vault", vault, stranger.credits_vault(), InstructionError::InvalidSeeds.into()),
        ("vault's address", vault, twin, InstructionError::InvalidSeeds.into()),
        ("provider", provider, other.provider(), MarketError::WrongAccount.into()),
        ("payout", deal.payout(), other.payment, MarketError::WrongAccount.into()),
        ("token program", token_program(), token_2022_program(), InstructionError::IncorrectProgramId.into()),
    ];
    w.refuses_swaps(&good, &[], &cases);
}
