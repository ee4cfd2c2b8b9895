//! What rent costs changes between the opening and the closing of accounts.

use gantry_market::state::{Candidate, REPORT_LEN};
use gantry_market_tests::hostile::harness::{Harness, Stats};
use gantry_market_tests::hostile::run::play;
use gantry_market_tests::{bench, ix, pda, Testbed};

use crate::report_tail::{bytes, ready, rent, vote, wrong};

/// Lamports a byte that one transaction after the other finds.
const RENTS: [u64; 5] = [6_960, 20_000, 696, 13_920, 3_480];

/// One sequence with every instruction, in which all must succeed.
#[test]
fn every_instruction_succeeds_though_rent_changes() {
    let mut w = Testbed::new();
    w.rents = RENTS.to_vec();
    bench::play(&mut w);
}

/// An account that is used again needs no more rent than it has: the first vote opened it when rent was lower.
#[test]
fn accounts_are_used_again_when_rent_has_risen() {
    let mut w = Testbed::new();
    let customer = w.customer(1_000_000);
    let (keepers, model) = ([w.keeper(10_000_000_000), w.keeper(10_000_000_000)], ix::h100());
    let period = w.period();
    w.warp_past_period(period);
    w.ok(ix::report_vote(&keepers[0], period, [5; 32]), &[&keepers[0].key]);
    w.rents = vec![10 * RENTS[0]];
    w.next_rent();
    w.gift(&customer.payment, 1_000_000);
    w.ok(ix::credits_deposit(&w, &customer, 1_000_000), &[&customer.key]);
    w.ok(ix::report_vote(&keepers[1], period, [5; 32]), &[&keepers[1].key]);
    let authority = w.authority.insecure_clone();
    w.ok(ix::gpu_model_propose(&w, model), &[&authority]);
}

/// The rules of random sequences say of every account that closes that all it holds goes to who paid it, of every other
/// that it keeps what it holds, and at the end that everybody can leave.
#[test]
fn what_an_account_holds_goes_back_to_who_paid_it_though_rent_changes() {
    let mut start = Harness::new(0);
    start.w.rents = RENTS.to_vec();
    let mut stats = Stats::default();
    for seed in 0..4 {
        let (found, failure) = play(&start, seed, 1_200);
        stats.add(&found);
        assert!(failure.is_none(), "seed {seed}: {:?}", failure.map(|failure| failure.violation));
    }
    for closes in [
        "order_cancel",
        "lease_close",
        "node_close",
        "report_close",
        "fraud_proof_close",
        "slash_close",
        "payout_claim",
    ] {
        assert!(stats.successes.contains_key(closes), "{closes} never succeeded");
    }
}

/// An account that gets longer is topped up to what all of it costs then, and holds no less once that is too much.
#[test]
fn a_report_gets_longer_though_rent_changes() {
    let (mut w, all, period) = ready(&[1; 6]);
    let at = pda::report(period);
    w.rents = vec![696];
    for (number, keeper) in all[..4].iter().enumerate() {
        vote(&mut w, keeper, period, wrong(number));
    }
    let low = rent(&w, REPORT_LEN);
    assert_eq!(w.lamports(&at), low);
    w.rents = vec![20_000];
    let longer = REPORT_LEN + size_of::<Candidate>();
    vote(&mut w, &all[4], period, wrong(4));
    let high = rent(&w, longer);
    assert_eq!((bytes(&w, period), w.lamports(&at)), (longer, high));
    assert!(high > 2 * low);
    w.rents = vec![696];
    vote(&mut w, &all[5], period, wrong(5));
    assert_eq!((bytes(&w, period), w.lamports(&at)), (longer + size_of::<Candidate>(), high));
    let before = w.lamports(&all[0].wallet());
    w.warp(i64::from(w.params.report_retention_secs) + 1);
    w.ok(ix::report_close(period, &all[0].wallet()), &[]);
    assert_eq!(w.lamports(&all[0].wallet()), before + high);
}
