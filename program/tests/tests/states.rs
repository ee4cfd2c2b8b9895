//! What accounts hold never contradicts itself, and what their functions do where no instruction gets easily. These run
//! without a chain.

use gantry_market::constants::{BPS, RELAPSE_SECS, STAKE_UNIT};
use gantry_market::state::{
    Fault, Guarantee, Node, Provider, Report, ScoreRecord, WorstRecord, FAULT_APPLIED, NODE_ACTIVE,
    NODE_RETIRED, NODE_SUSPENDED, REPORT_FINAL,
};
use gantry_market_tests::{Change, Testbed};

/// A node and its provider, as they are registered.
fn node() -> (Node, Provider) {
    let mut w = Testbed::new();
    let provider = w.provider(40 * STAKE_UNIT);
    let machine = w.machine(&provider, 2);
    (w.read(&machine.node), w.read(&provider.provider()))
}

/// Each change alone is found.
fn each_is_found<T: Copy>(sound: &T, holds: impl Fn(&T) -> bool, cases: &[(&str, Change<T>)]) {
    assert!(holds(sound));
    for (what, change) in cases {
        let mut broken = *sound;
        change(&mut broken);
        assert!(!holds(&broken), "{what}");
    }
}

#[test]
fn a_node_that_contradicts_itself_is_found() {
    each_is_found(
        &node().0,
        |n| n.invariant().is_ok(),
        &[
            ("no GPUs", |n| n.spec.gpus = 0),
            ("GPUs in use that it does not have", |n| n.gpu_mask = 4),
            ("a lease without GPUs", |n| n.live_leases = 1),
            ("for free", |n| n.price = 0),
            ("a spot price above the price", |n| n.spot_bps = 10_001),
            ("more claims missing than GPUs", |n| n.claims_missing = 3),
            ("more checks passed than made", |n| n.checks_passed = n.checks_total + 1),
            ("up for more than all the time", |n| n.uptime_bps = 10_001),
            ("reserved more than there is", |n| n.reserved_stake = n.stake + 1),
            ("more leases cut than open", |n| n.cut_leases = 1),
            ("in its class by no figures", |n| n.class_since = 1),
            ("a freeze without a fault", |n| n.frozen_from = 1),
            ("no status", |n| n.status = 0),
        ],
    );
}

#[test]
fn a_guarantee_that_contradicts_itself_is_found() {
    let (mut n, _) = node();
    let none: [(&str, Change<Node>); 4] = [
        ("a share", |n| n.guarantee_bps = 9_900),
        ("time that counts", |n| n.guarantee_counted_secs = 1),
        ("leases under it", |n| n.guarantee_open = 1),
        ("revenue under it", |n| n.guarantee_revenue = 1),
    ];
    each_is_found(&n, |n| n.invariant().is_ok(), &none);
    (n.guarantee_bps, n.guaranteed_since, n.guaranteed_until) = (9_900, 1_000, 2_000);
    let some: [(&str, Change<Node>); 6] = [
        ("no share", |n| n.guarantee_bps = 0),
        ("more than all the time", |n| n.guarantee_bps = BPS as u16 + 1),
        ("over before it begins", |n| n.guaranteed_since = 2_000),
        ("up for longer than is counted", |n| n.guarantee_up_secs = 1),
        ("more leases than there are", |n| n.guarantee_open = n.open_leases + 1),
        ("of a node that is gone", |n| n.status = NODE_RETIRED),
    ];
    each_is_found(&n, |n| n.invariant().is_ok(), &some);
}

#[test]
fn a_report_that_contradicts_itself_is_found() {
    let mut report: Report = bytemuck::Zeroable::zeroed();
    (report.total_weight, report.reward, report.reward_left) = (10, 5, 5);
    report.candidates[0].weight = 10;
    each_is_found(
        &report,
        |r| r.invariant(&[]).is_ok(),
        &[
            ("more votes than there are", |r| r.candidates[1].weight = 1),
            ("more reward left than there was", |r| r.reward_left = 6),
            ("final at no time", |r| r.status = REPORT_FINAL),
            ("not final, at some time", |r| r.finalised_at = 1),
        ],
    );
}

#[test]
fn a_fault_that_contradicts_itself_is_found() {
    let mut fault: Fault = bytemuck::Zeroable::zeroed();
    (fault.amount, fault.pool, fault.pool_left) = (10, 5, 4);
    (fault.window_from, fault.window_until, fault.claims_until) = (60, 120, 1_000);
    (fault.status, fault.kind) = (FAULT_APPLIED, gantry_market::state::FAULT_REPORT);
    each_is_found(
        &fault,
        |f| f.invariant().is_ok(),
        &[
            ("more left for victims than there was", |f| f.pool_left = 6),
            ("more for victims than was taken", |f| f.pool = 11),
            ("over before it begins", |f| f.window_until = 59),
            ("no status", |f| f.status = 0),
            ("no kind", |f| f.kind = 0),
            ("applied, and nobody may claim", |f| f.claims_until = 0),
        ],
    );
}

/// A second slash moves no end of billing: leases would bill for one more period after each.
#[test]
fn leases_bill_for_one_period_after_the_first_slash_that_leaves_too_little() {
    let (mut n, mut p) = node();
    let required = n.required_stake;
    let more = required + 100;
    p.locked_stake = p.locked_stake - n.stake + more;
    n.stake = more;
    let mut take = |amount: u64, now: i64| {
        let taken = n.take_stake(&mut p, amount, now, 60).expect("it has that much");
        (taken, n.stake, n.billing_until)
    };
    assert_eq!(take(100, 1_000), (100, required, 0), "enough is left");
    assert_eq!(take(1, 2_000), (1, required - 1, 2_060));
    assert_eq!(take(1, 2_030), (1, required - 2, 2_060));
    assert_eq!(take(u64::MAX, 3_000), (required - 2, 0, 2_060));
}

#[test]
fn taking_nothing_ends_no_billing() {
    let (mut n, mut p) = node();
    n.reserved_stake = n.stake;
    n.required_stake = n.stake + 1;
    assert_eq!((n.take_stake(&mut p, 5, 1_000, 60).expect("nothing is free"), n.billing_until), (0, 0));
}

/// Two records of the time: what counts has the lesser part of each.
#[test]
fn the_worst_of_two_records_has_the_lesser_of_all_that_orders_ask_for() {
    let (mut n, _) = node();
    let score = n.record(150).score;
    let record = |since: i64, x: u16| WorstRecord {
        since,
        score: ScoreRecord { uptime_bps: 100 * x, checked: x as u8, tier: x as u8, ..score },
        guarantee: Guarantee { until: 1_000 * i64::from(x), bps: 9_000 + x, pad: [0; 6] },
    };
    for (newer, older) in [(0, 1), (1, 0)] {
        let worst = [record(140, newer), record(100, older)];
        (n.record_since, n.previous_since, n.worst) = (150, 140, worst);
        let found = n.worst_throughout(120, 145).expect("both records are kept");
        assert_eq!((found.guarantee.until, found.guarantee.bps), (0, 9_000));
        assert_eq!((found.score.uptime_bps, found.score.checked, found.score.tier), (0, 0, 0));
    }
}

/// Who is convicted again within a year of the last mending pays twice as much the next time.
#[test]
fn relapses_add_up_within_a_year() {
    let (mut n, _) = node();
    n.mended_at = 1_000;
    for (later, relapses) in [(RELAPSE_SECS - 1, 4), (RELAPSE_SECS, 1), (RELAPSE_SECS + 1, 1)] {
        let mut again = n;
        (again.status, again.convicted, again.relapses) = (NODE_SUSPENDED, 1, 3);
        again.set_status(NODE_ACTIVE, 1_000 + later).expect("it may come back");
        assert_eq!(
            (again.relapses, again.mended_at, again.convicted),
            (relapses, 1_000 + later, 0),
            "{later}"
        );
    }
}
