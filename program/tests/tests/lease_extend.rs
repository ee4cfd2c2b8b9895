use gantry_market::constants::MAX_DURATION_SECS;
use gantry_market::errors::MarketError;
use gantry_market::events::LeaseExtended;
use gantry_market::state::{Credits, Lease};
use gantry_market_tests::events::assert_emitted;
use gantry_market_tests::setups::ASK;
use gantry_market_tests::transactions::{swap, unsigned};
use gantry_market_tests::{ix, Testbed};
use solana_instruction_error::InstructionError;

#[test]
fn more_time_at_the_leases_own_price() {
    let mut w = Testbed::new();
    let deal = w.running();
    let provider = deal.provider.provider();
    // The ask rises. The lease keeps the price that it was awarded at.
    let update = ix::node_update(&deal.provider.wallet(), &provider, &deal.machine.node, ASK * 9, 1);
    w.ok(update, &[&deal.provider.key]);
    let until = deal.state(&w).funded_until;
    w.warp(3_599);
    let meta = w.ok(ix::lease_extend(&w, &deal.lease, 1_800), &[&deal.customer.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.funded_until, lease.reserved), (until + 1_800, 3_000_000));
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 3_000_000);
    assert_emitted(
        &meta,
        &LeaseExtended {
            lease: deal.lease,
            seconds: 1_800,
            reserved: 3_000_000,
            funded_until: until + 1_800,
        },
    );
}

#[test]
fn many_small_steps_cost_what_one_large_one_costs() {
    let mut w = Testbed::new();
    let deal = w.running();
    // 2 USDC an hour are 555.5… µUSDC a second: seconds alone would be rounded down.
    for _ in 0..90 {
        w.ok(ix::lease_extend(&w, &deal.lease, 1), &[&deal.customer.key]);
    }
    assert_eq!(deal.state(&w).reserved, 2_000_000 + 50_000);
}

#[test]
fn not_one_of_a_redundant_job() {
    let mut w = Testbed::new();
    let job = w.redundant();
    let extend = ix::lease_extend(&w, &job.runs[0].lease, 60);
    w.refused(extend, &[&job.customer.key], MarketError::WrongOutputState);
}

#[test]
fn an_extended_lease_is_paid_to_its_last_second() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.ok(ix::lease_extend(&w, &deal.lease, 3_600), &[&deal.customer.key]);
    w.warp(8_000);
    w.settle(&deal, 1, 7_200);
    assert_eq!(deal.state(&w).paid, 4_000_000);
    w.ok(ix::lease_end(&w, &deal.keeper.wallet(), &deal.lease, 0), &[&deal.keeper.key]);
    let lease: Lease = deal.state(&w);
    assert_eq!((lease.reserved, lease.paid_secs), (480_000, 7_200));
}

#[test]
fn money_and_time_have_bounds() {
    let mut w = Testbed::new();
    let deal = w.running();
    let key = &deal.customer.key;
    w.refused(ix::lease_extend(&w, &deal.lease, 0), &[key], MarketError::InvalidDuration);
    let longest = MAX_DURATION_SECS - 3_600;
    w.refused(ix::lease_extend(&w, &deal.lease, longest + 1), &[key], MarketError::InvalidDuration);
    w.refused(ix::lease_extend(&w, &deal.lease, u32::MAX), &[key], MarketError::Overflow);
    // 98 USDC are free: 49 hours.
    w.refused(ix::lease_extend(&w, &deal.lease, longest), &[key], MarketError::InsufficientFunds);
    w.refused(ix::lease_extend(&w, &deal.lease, 49 * 3_600 + 2), &[key], MarketError::InsufficientFunds);
    w.ok(ix::lease_extend(&w, &deal.lease, 49 * 3_600), &[key]);
    assert_eq!(w.read::<Credits>(&deal.customer.credits()).reserved, 100_000_000);
}

#[test]
fn only_a_running_lease_that_is_still_funded_and_not_given_up() {
    let mut w = Testbed::new();
    let waiting = w.awarded();
    let early = ix::lease_extend(&w, &waiting.lease, 60);
    w.refused(early, &[&waiting.customer.key], MarketError::WrongLeaseStatus);

    let deal = w.running();
    w.warp(3_600);
    let late = ix::lease_extend(&w, &deal.lease, 60);
    w.refused(late.clone(), &[&deal.customer.key], MarketError::TooLate);
    w.warp(-1);
    w.ok(ix::lease_end(&w, &deal.provider.wallet(), &deal.lease, 0), &[&deal.provider.key]);
    w.refused(late.clone(), &[&deal.customer.key], MarketError::WrongLeaseStatus);
    w.ok(ix::lease_end(&w, &deal.customer.wallet(), &deal.lease, 0), &[&deal.customer.key]);
    w.refused(late, &[&deal.customer.key], MarketError::WrongLeaseStatus);
}

#[test]
fn a_paused_market_still_extends() {
    let mut w = Testbed::new();
    let deal = w.running();
    w.pause();
    w.ok(ix::lease_extend(&w, &deal.lease, 60), &[&deal.customer.key]);
}

#[test]
fn wrong_signers_and_accounts_are_refused() {
    let mut w = Testbed::new();
    let deal = w.running();
    let stranger = w.customer(10_000_000);
    let good = ix::lease_extend(&w, &deal.lease, 60);
    let silent = unsigned(good.clone(), &deal.customer.wallet());
    w.refused(silent, &[], InstructionError::MissingRequiredSignature);
    let theft = swap(good.clone(), &deal.customer.wallet(), &stranger.wallet());
    w.refused(theft, &[&stranger.key], MarketError::Unauthorised);
    let (credits, lease) = (w.forged(&deal.customer.credits()), w.forged(&deal.lease));
    let cases = [
        ("credits", deal.customer.credits(), stranger.credits(), MarketError::WrongAccount.into()),
        ("credits' program", deal.customer.credits(), credits, InstructionError::IllegalOwner.into()),
        ("lease's program", deal.lease, lease, InstructionError::IllegalOwner.into()),
    ];
    w.refuses_swaps(&good, &[&deal.customer.key], &cases);
}
