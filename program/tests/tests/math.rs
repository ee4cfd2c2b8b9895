//! Properties of the pure functions, each over 100,000 cases against an independent calculation.

use gantry_market::constants::{BPS, FULL_AGE_SECS};
use gantry_market::instructions::report::leaf::{lease_costs, node_costs};
use gantry_market::math::bid::price_of;
use gantry_market::math::fees::bps_of;
use gantry_market::math::figures::{in_class, share_bps};
use gantry_market::math::guarantee::{discount_bps, kept};
use gantry_market::math::merkle::root_of;
use gantry_market::math::periods::{period_end, period_of};
use gantry_market::math::pricing::cost;
use gantry_market::math::reputation::{dispute_bps, failure_weight, next_uptime_bps, reputation, Record};
use gantry_market::math::score::{factor_bps, penalty_bps, score};
use gantry_market::math::slashing::{harm_in_stake, split};
use gantry_market::math::window::{mark, CLOSED, PERIODS};
use gantry_market::state::{Availability, Lease, Market, Node, LEASE_RUNNING, NODE_ACTIVE, NODE_HIBERNATED};
use gantry_market_tests::leaves::merkle;
use gantry_market_tests::random::Random;

const CASES: usize = 100_000;

fn fits(wide: u128) -> Option<u64> {
    u64::try_from(wide).ok()
}

#[test]
fn cost_is_the_exact_quotient_or_an_overflow() {
    let mut r = Random::new(1);
    for _ in 0..CASES {
        let (price, gpus, seconds) = (r.magnitude(), r.below(256) as u8, r.u32());
        let exact = u128::from(price) * u128::from(gpus) * u128::from(seconds) / 3_600;
        assert_eq!(cost(price, gpus, seconds).ok(), fits(exact), "{price} {gpus} {seconds}");
    }
}

#[test]
fn cost_never_gains_by_being_split() {
    let mut r = Random::new(2);
    for _ in 0..CASES {
        let (price, gpus) = (r.below(1 << 40), 1 + r.below(8) as u8);
        let (a, b) = (r.below(31_536_000) as u32, r.below(31_536_000) as u32);
        let parts = cost(price, gpus, a).unwrap() + cost(price, gpus, b).unwrap();
        let whole = cost(price, gpus, a + b).unwrap();
        assert!(whole == parts || whole == parts + 1, "{price} {gpus} {a} {b}");
    }
}

#[test]
fn fee_is_the_exact_share_and_never_more_than_the_whole() {
    let mut r = Random::new(3);
    for _ in 0..CASES {
        let (amount, bps) = (r.magnitude(), r.u16());
        let exact = u128::from(amount) * u128::from(bps) / u128::from(BPS);
        assert_eq!(bps_of(amount, bps).ok(), fits(exact), "{amount} {bps}");
        if u64::from(bps) <= BPS {
            assert!(bps_of(amount, bps).unwrap() <= amount);
        }
    }
}

#[test]
fn a_split_burns_at_least_half_and_loses_nothing() {
    let mut r = Random::new(4);
    for _ in 0..CASES {
        let (amount, harm, bps) = (r.magnitude(), r.magnitude(), r.below(1_001) as u16);
        let shares = split(amount, bps).unwrap();
        for shares in [shares, shares.without_finder().unwrap(), shares.claimed(harm).unwrap()] {
            let sum = u128::from(shares.pool) + u128::from(shares.finder) + u128::from(shares.burned);
            assert_eq!(sum, u128::from(amount));
            assert!(u128::from(shares.burned) * 2 >= u128::from(amount), "at least half is burned");
            assert!(shares.finder <= bps_of(amount, bps).unwrap(), "a finder gets at most its share");
        }
        assert_eq!(shares.burned, amount - amount / 2, "and no more than half, before what nobody claims");
        assert_eq!(shares.finder, bps_of(amount, bps).unwrap(), "the finder's share is whole");
        assert_eq!(
            shares.claimed(harm).unwrap().pool,
            shares.pool.min(harm),
            "victims get their harm at most"
        );
        assert_eq!(shares.without_finder().unwrap().finder, 0);
    }
}

#[test]
fn harm_in_stake_is_the_exact_quotient_or_an_overflow() {
    let mut r = Random::new(5);
    for _ in 0..CASES {
        let (harm, price) = (r.magnitude(), r.magnitude());
        let exact = (u128::from(harm) * 1_000_000_000).checked_div(u128::from(price));
        assert_eq!(harm_in_stake(harm, price).ok(), exact.and_then(fits), "{harm} {price}");
    }
}

#[test]
fn score_lies_between_the_price_less_a_twentieth_and_half_as_much_again() {
    let mut r = Random::new(6);
    for _ in 0..CASES {
        let (price, bps, guarantee) = (r.magnitude(), r.below(10_001) as u16, r.below(10_001) as u16);
        let factor = 10_000 + (10_000 - u128::from(bps)) / 2 - u128::from(guarantee) / 20;
        let exact = u128::from(price) * factor / 10_000;
        assert_eq!(score(price, bps, guarantee).ok(), fits(exact), "{price} {bps} {guarantee}");
        assert_eq!(u128::from(factor_bps(bps, guarantee)), factor);
        assert!(penalty_bps(bps) <= 5_000 && discount_bps(guarantee) <= 500);
        if let Ok(found) = score(price, bps, guarantee) {
            let found = u128::from(found);
            assert!(found >= u128::from(price) * 19 / 20 && found <= u128::from(price) * 3 / 2);
            if bps < 10_000 {
                assert!(
                    u128::from(score(price, bps + 1, guarantee).unwrap()) <= found,
                    "reputation never hurts"
                );
            }
            if guarantee < 10_000 {
                assert!(
                    u128::from(score(price, bps, guarantee + 1).unwrap()) <= found,
                    "a guarantee never hurts"
                );
            }
        }
    }
    // More than there is counts as all there is.
    assert_eq!(score(1_000, u16::MAX, 0).ok(), Some(1_000));
    assert_eq!(score(1_000, u16::MAX, u16::MAX).ok(), Some(950));
}

#[test]
fn a_promise_is_kept_by_the_promised_share_and_by_no_less() {
    let mut r = Random::new(21);
    for _ in 0..CASES {
        let counted = r.magnitude();
        let (up, guarantee) = (r.magnitude().min(counted), 9_000 + r.below(1_001) as u16);
        let exact = u128::from(up) * 10_000 >= u128::from(counted) * u128::from(guarantee);
        assert_eq!(kept(up, counted, guarantee), exact, "{up} of {counted}, {guarantee}");
        assert!(kept(counted, counted, guarantee), "who was always up has kept every guarantee");
        // The least that keeps it.
        let least = (u128::from(counted) * u128::from(guarantee)).div_ceil(10_000) as u64;
        assert!(kept(least, counted, guarantee));
        assert!(least == 0 || !kept(least - 1, counted, guarantee));
        if kept(up, counted, guarantee) {
            assert!(kept(up, counted, guarantee - 1), "a lower guarantee is kept too");
        }
    }
    assert!(kept(0, 0, 10_000), "nothing counted, nothing broken");
}

/// Whatever a node goes through, what is counted lies within its guarantee, and up time within what is counted.
#[test]
fn a_commitment_counts_no_second_twice_and_none_outside() {
    let mut r = Random::new(22);
    let mut steps = 0;
    while steps < CASES {
        let length = 1 + r.below(100) as u32;
        let mut node: Node = bytemuck::Zeroable::zeroed();
        (node.spec.gpus, node.price, node.status) = (1, 1, NODE_ACTIVE);
        node.availability = Availability::starting(1, 1);
        let mut period = 100 + r.below(100);
        node.guaranteed_since = ((period + 1) * u64::from(length)) as i64;
        node.guaranteed_until = node.guaranteed_since + (1 + r.below(30) * u64::from(length)) as i64;
        node.guarantee_bps = 9_000 + r.below(1_001) as u16;
        let (mut up, mut counted) = (0, 0);
        let mut suspended: Option<i64> = None;
        for _ in 0..40 {
            steps += 1;
            // Each period's leaf comes once, while the node is in the state that the period ended in.
            let end = ((period + 1) * u64::from(length)) as i64;
            let start = end - i64::from(length);
            let seconds = r.below(u64::from(length) + 1) as u32;
            node.count_period(period, seconds, length).unwrap();
            if start >= node.guaranteed_since && end <= node.guaranteed_until && suspended.is_none() {
                up += u64::from(seconds);
                counted += u64::from(length);
            }
            match (suspended, r.below(6)) {
                (None, 0) => {
                    node.suspend(r.below(2) == 1, end);
                    suspended = Some(end);
                }
                (Some(at), 0 | 1) => {
                    node.set_status(NODE_ACTIVE, end).unwrap();
                    let away = end.min(node.guaranteed_until) - at.max(node.guaranteed_since);
                    counted += away.max(0) as u64;
                    suspended = None;
                }
                (Some(_), 2) => {
                    let guilty = node.convicted == 1;
                    node.acquit(end);
                    if !guilty {
                        // The time is forgiven.
                        suspended = None;
                        if end >= node.guaranteed_until {
                            assert_eq!(node.status, NODE_HIBERNATED);
                            node.status = NODE_ACTIVE;
                        }
                    }
                }
                _ => {}
            }
            assert_eq!((node.guarantee_up_secs, node.guarantee_counted_secs), (up, counted));
            node.invariant().unwrap();
            period += 1;
        }
        let end = (period * u64::from(length)) as i64;
        if let Some(at) = suspended {
            counted += (end.min(node.guaranteed_until) - at.max(node.guaranteed_since)).max(0) as u64;
        }
        let whole = node.guaranteed_until - node.guaranteed_since;
        assert_eq!(node.close_guarantee(end).unwrap().counted_secs, counted);
        assert!(up <= counted && counted as i64 <= whole, "{counted} of {whole}");
        node.invariant().unwrap();
        assert!(!node.is_guaranteed() && node.guarantee_counted_secs == 0);
    }
}

#[test]
fn the_price_of_a_score_is_the_highest_that_scores_no_more() {
    let mut r = Random::new(12);
    for _ in 0..CASES {
        let (price, own, other) = (r.magnitude() >> 2, r.below(10_001) as u16, r.below(10_001) as u16);
        let (guarantee, others) = (r.below(10_001) as u16, r.below(10_001) as u16);
        let bar = score(price, other, others).expect("fits");
        let paid = price_of(bar, own, guarantee).expect("fits");
        assert!(score(paid, own, guarantee).expect("fits") <= bar, "{price} {own} {other}");
        assert!(score(paid + 1, own, guarantee).expect("fits") > bar, "{price} {own} {other}");
        // Whoever bids at most that is paid at least its bid.
        let bid = if paid == 0 { 0 } else { r.below(paid + 1) };
        assert!(score(bid, own, guarantee).expect("fits") <= bar && bid <= paid);
    }
    assert!(price_of(u64::MAX, 0, 0).is_ok() && price_of(u64::MAX, 10_000, 0).is_ok());
    // A bidder that is committed is paid more than it could ever bid.
    assert!(price_of(u64::MAX, 10_000, 10_000).is_err());
}

fn record(r: &mut Random) -> Record {
    let weight = r.below(1 << 50);
    Record {
        uptime_bps: r.below(10_001) as u16,
        fees_completed: r.below(1 << 50),
        fees_failed: r.below(1 << 50),
        rating_sum: weight * (1 + r.below(5)),
        rating_weight: weight,
        days: r.below(256) as u8,
        dispute_bps: if r.below(2) == 0 { 0 } else { r.below(10_001) as u16 },
        dispute_lost_at: r.below(2_000_000_000) as i64,
    }
}

/// The definition, in plain integers.
fn reputation_by_hand(record: &Record, now: i64) -> u128 {
    let uptime = u128::from(record.uptime_bps);
    let prior = 144_000_000u128;
    let completed = prior + u128::from(record.fees_completed);
    let completion = completed * 10_000 / (completed + u128::from(record.fees_failed));
    let (sum, weight) = (u128::from(record.rating_sum), u128::from(record.rating_weight));
    let ratings = ((sum - weight) * 2_500 + prior * 7_500) / (prior + weight);
    let age = u128::from(record.days.min(180)) * 10_000 / 180;
    let left = FULL_AGE_SECS as i64 - (now - record.dispute_lost_at).clamp(0, FULL_AGE_SECS as i64);
    let lost = (u128::from(record.dispute_bps) * left as u128).div_ceil(u128::from(FULL_AGE_SECS));
    ((uptime * 50 + completion * 20 + ratings * 20 + age * 10) / 100).saturating_sub(lost)
}

#[test]
fn reputation_follows_its_definition() {
    let mut r = Random::new(7);
    for _ in 0..CASES {
        let record = record(&mut r);
        let now = r.below(2_000_000_000) as i64;
        let found = reputation(&record, now);
        assert_eq!(u128::from(found), reputation_by_hand(&record, now), "{record:?} {now}");
        assert!(found <= 10_000);
    }
}

#[test]
fn good_deeds_never_hurt_and_bad_ones_never_help() {
    let mut r = Random::new(8);
    for _ in 0..CASES {
        let base = record(&mut r);
        let now = r.below(2_000_000_000) as i64;
        let before = reputation(&base, now);
        let done = Record { fees_completed: base.fees_completed + 1_000_000, ..base };
        let failed = Record { fees_failed: base.fees_failed + 1_000_000, ..base };
        let five = Record { rating_sum: base.rating_sum + 5, rating_weight: base.rating_weight + 1, ..base };
        let one = Record { rating_sum: base.rating_sum + 1, rating_weight: base.rating_weight + 1, ..base };
        assert!(reputation(&done, now) >= before);
        assert!(reputation(&failed, now) <= before);
        assert!(reputation(&five, now) >= before);
        assert!(reputation(&one, now) <= before);
        let up = Record { days: base.days.saturating_add(1), ..base };
        assert!(reputation(&up, now) >= before);
        assert!(reputation(&base, now + 1) >= before);
        let disputed = dispute_bps(base.dispute_bps, base.dispute_lost_at, now);
        let lost = Record { dispute_bps: disputed, dispute_lost_at: now, ..base };
        assert!(reputation(&lost, now) <= before);
    }
}

/// Finding R 19.
#[test]
fn a_failure_weighs_its_funded_time_between_a_tenth_of_the_prior_and_all_of_it() {
    let mut r = Random::new(11);
    for _ in 0..CASES {
        let fee = r.magnitude();
        let weight = failure_weight(fee);
        assert!((14_400_000..=144_000_000).contains(&weight));
        assert!(weight == fee || !(14_400_000..=144_000_000).contains(&fee));
    }
}

#[test]
fn reputation_survives_any_bytes() {
    let mut r = Random::new(9);
    for _ in 0..CASES {
        let record = Record {
            uptime_bps: r.u16(),
            fees_completed: r.magnitude(),
            fees_failed: r.magnitude(),
            rating_sum: r.magnitude(),
            rating_weight: r.magnitude(),
            days: r.below(256) as u8,
            dispute_bps: r.u16(),
            dispute_lost_at: r.magnitude() as i64,
        };
        assert!(reputation(&record, r.magnitude() as i64) <= 10_000);
    }
}

#[test]
fn uptime_moves_towards_its_sample() {
    let mut r = Random::new(10);
    for _ in 0..CASES {
        let (old, period) = (r.below(10_001) as u16, 1 + r.below(86_400) as u32);
        let up = r.below(u64::from(period) + 1) as u32;
        let sample = (u64::from(up) * 10_000 / u64::from(period)) as u16;
        let next = next_uptime_bps(old, up, period);
        let up = if sample > old { 63 } else { 0 };
        let exact = (u64::from(old) * 63 + u64::from(sample) + up) / 64;
        assert_eq!(u64::from(next), exact);
        assert!(next <= old.max(sample) && next + 1 >= old.min(sample), "{old} {sample} {next}");
    }
}

#[test]
fn a_node_that_is_always_up_reaches_and_keeps_full_uptime() {
    assert_eq!(next_uptime_bps(10_000, 60, 60), 10_000);
    let mut bps = 0;
    for _ in 0..2_000 {
        bps = next_uptime_bps(bps, 60, 60);
    }
    assert_eq!(bps, 10_000);
}

#[test]
fn periods_tile_time() {
    let mut r = Random::new(11);
    for _ in 0..CASES {
        let (now, length) = (r.below(1 << 40) as i64, 1 + r.below(1 << 20) as u32);
        let period = period_of(now, length).unwrap();
        let end = period_end(period, length).unwrap();
        assert!(now < end && now >= end - i64::from(length));
        assert_eq!(period_of(end, length).unwrap(), period + 1);
    }
    assert!(period_of(-1, 60).is_err());
    assert!(period_of(1, 0).is_err());
    assert!(period_end(u64::MAX, 60).is_err());
    assert!(period_end(u64::MAX / 60, 60).is_err());
}

#[test]
fn a_period_is_applied_once_in_any_order() {
    let mut r = Random::new(18);
    for _ in 0..1_000 {
        let start = r.below(1_000);
        let (mut last, mut window) = (start, CLOSED);
        let mut applied = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let period = match r.below(50) {
                0 => last + r.below(2 * PERIODS),
                _ => (last + 2).saturating_sub(r.below(PERIODS + 4)),
            };
            // Nothing from before the start, nothing older than the window, nothing twice.
            let fresh = period > start && period + PERIODS > last && !applied.contains(&period);
            match mark(last, window, period) {
                Some(next) => {
                    assert!(fresh, "{period} after {last}");
                    applied.insert(period);
                    (last, window) = next;
                    assert_eq!(last, *applied.iter().max().unwrap());
                }
                None => assert!(!fresh, "{period} after {last}"),
            }
        }
    }
    assert!(mark(0, CLOSED, u64::MAX).is_some());
    assert!(mark(u64::MAX, CLOSED, 0).is_none());
}

#[test]
fn every_leaf_proves_itself_and_nothing_else() {
    let mut r = Random::new(12);
    for size in 1..=130usize {
        let records: Vec<[u8; 176]> = (0..size).map(|_| r.bytes()).collect();
        let slices: Vec<&[u8]> = records.iter().map(|record| record.as_slice()).collect();
        let (root, ways) = merkle(&slices);
        let depth = usize::BITS - (size - 1).leading_zeros();
        for (index, (path, siblings)) in ways.iter().enumerate() {
            assert!(siblings.len() <= depth as usize, "a proof has at most ceil(log2 n) entries");
            assert_eq!(root_of(slices[index], *path, siblings), root);
            let mut other = records[index];
            other[r.below(176) as usize] ^= 1 << r.below(8);
            assert_ne!(root_of(&other, *path, siblings), root);
            if !siblings.is_empty() {
                let flipped = path ^ 1 << r.below(siblings.len() as u64);
                assert_ne!(root_of(slices[index], flipped, siblings), root);
                let mut bent = siblings.clone();
                let at = r.below(bent.len() as u64) as usize;
                bent[at][r.below(32) as usize] ^= 1 << r.below(8);
                assert_ne!(root_of(slices[index], *path, &bent), root);
                assert_ne!(root_of(slices[index], *path, &siblings[1..]), root);
            }
        }
    }
}

#[test]
fn a_leaf_is_never_taken_for_an_inner_node() {
    let mut r = Random::new(13);
    let (left, right): ([u8; 32], [u8; 32]) = (r.bytes(), r.bytes());
    let (root, _) = merkle(&[&left, &right]);
    let hashes: Vec<[u8; 32]> = [left, right].iter().map(|x| root_of(x, 0, &[])).collect();
    let concatenated = [hashes[0], hashes[1]].concat();
    assert_ne!(root_of(&concatenated, 0, &[]), root);
}

/// A running lease with its money set aside, as an award and a start leave it.
fn lease(r: &mut Random) -> Lease {
    let mut lease: Lease = bytemuck::Zeroable::zeroed();
    lease.price = 1 + r.below(1 << 40);
    lease.gpus = 1 + r.below(8) as u8;
    lease.fee_bps = 1_000 + r.below(501) as u16;
    lease.started_at = 1_000_000;
    let duration = 1 + r.below(100_000);
    lease.funded_until = lease.started_at + duration as i64;
    lease.reserved = lease.owed(duration as u32).unwrap();
    lease.status = LEASE_RUNNING;
    lease
}

#[test]
fn settling_pays_what_is_owed_once_and_never_more_than_was_set_aside() {
    let mut r = Random::new(14);
    let mut settlements = 0;
    while settlements < CASES {
        let mut lease = lease(&mut r);
        let funded = lease.reserved;
        let (mut now, mut received) = (lease.started_at, 0u64);
        for _ in 0..20 {
            now += r.below(10_000) as i64;
            let before = lease.paid_secs;
            match r.below(4) {
                0 => {
                    let most = u64::from(lease.billable_secs(now)) + 1;
                    lease.receipt_secs = lease.receipt_secs.max(r.below(most) as u32);
                }
                1 => lease.verified_secs = lease.verified_secs.saturating_add(r.below(9_000) as u32),
                2 => {
                    let most = u64::from(lease.billable_secs(now) - lease.paid_secs) + 1;
                    lease.downtime_secs += r.below(most) as u32;
                }
                _ => {}
            }
            received += lease.settle(now).unwrap();
            settlements += 1;
            assert_eq!(lease.settle(now).unwrap(), 0, "the same second is paid once");
            assert!(lease.paid_secs >= before, "paid-for seconds never decrease");
            assert!(lease.paid_secs <= lease.billable_secs(now));
            assert_eq!(lease.paid, lease.owed(lease.paid_secs).unwrap());
            assert_eq!(received, lease.provider_total().unwrap(), "rounding does not add up");
            assert_eq!(lease.reserved + received, funded, "nothing is lost");
            assert!(lease.reserved >= lease.fee_total().unwrap(), "the fee is still there");
            lease.invariant(now).unwrap();
        }
        lease.ended_at = now.min(lease.funded_until);
        let excess = lease.excess().unwrap();
        lease.reserved -= excess;
        let rest = lease.billable_secs(now) - lease.paid_secs;
        lease.receipt_secs = lease.paid_secs + rest;
        received += lease.settle(now).unwrap();
        assert_eq!(lease.paid, lease.owed(lease.billable_secs(now)).unwrap(), "the tail can be paid");
        assert_eq!(lease.reserved, lease.fee_total().unwrap(), "and leaves exactly the fee");
        assert_eq!(excess + received + lease.reserved, funded);
    }
}

#[test]
fn gpus_are_leased_once() {
    let mut r = Random::new(15);
    for _ in 0..2_000 {
        let mut node: Node = bytemuck::Zeroable::zeroed();
        node.spec.gpus = 1 + r.below(8) as u8;
        (node.price, node.status) = (1, 1);
        let mut now = 1_000;
        node.availability = Availability::starting(node.spec.gpus, now);
        let mut log = vec![(now, node.spec.gpus)];
        let mut held: Vec<u16> = vec![];
        for _ in 0..50 {
            now += r.below(400) as i64;
            if r.below(2) == 0 {
                let (free, count) = (node.free_gpus(), 1 + r.below(8) as u8);
                match node.take_gpus(count, now) {
                    Ok(mask) => {
                        assert!(count <= free);
                        assert_eq!(mask.count_ones(), u32::from(count));
                        assert!(held.iter().all(|other| other & mask == 0));
                        held.push(mask);
                    }
                    Err(_) => assert!(count > free),
                }
            } else if !held.is_empty() {
                let mask = held.swap_remove(r.below(held.len() as u64) as usize);
                node.free_gpus_of(mask, now).unwrap();
                assert!(node.free_gpus_of(mask, now).is_err(), "a bit is given back once");
            }
            if node.availability.since.contains(&now) {
                log.push((now, node.free_gpus()));
            }
            let from = now - r.below(5_000) as i64;
            let to = from + r.below(100) as i64;
            if let Some(free) = node.availability.free_throughout(from, to) {
                let before = log.iter().rev().find(|(at, _)| *at <= from);
                let within = log.iter().filter(|(at, _)| (from..=to).contains(at));
                let fewest = before.into_iter().chain(within).map(|(_, free)| *free).min();
                assert!(
                    fewest.is_some_and(|fewest| free <= fewest),
                    "r09: no more is said to be free than was"
                );
            }
            let sum: u32 = held.iter().map(|mask| mask.count_ones()).sum();
            assert_eq!(node.gpu_mask.count_ones(), sum);
            assert_eq!(node.live_leases as usize, held.len());
            node.invariant().unwrap();
        }
    }
}

#[test]
fn keepers_places_are_taken_once() {
    let mut r = Random::new(16);
    let mut market: Market = bytemuck::Zeroable::zeroed();
    let mut taken = std::collections::BTreeSet::new();
    for _ in 0..CASES {
        if r.below(100) < 60 {
            match market.take_keeper_slot() {
                Ok(index) => assert!(taken.insert(index)),
                Err(_) => assert_eq!(taken.len(), 256),
            }
        } else {
            let index = r.below(300) as u16;
            assert_eq!(market.free_keeper_slot(index).is_ok(), taken.remove(&index));
        }
        assert_eq!(market.keeper_count as usize, taken.len());
    }
}

#[test]
fn the_gravest_flag_decides_what_a_fault_costs() {
    let mut r = Random::new(19);
    for _ in 0..CASES {
        let mut params = gantry_market_tests::testbed::test_params();
        params.slash_fraud_bps = r.below(10_001) as u16;
        params.slash_work_failed_bps = r.below(10_001) as u16;
        params.slash_bad_work_bps = r.below(10_001) as u16;
        params.slash_offline_bps = r.below(10_001) as u16;
        let mut node: Node = bytemuck::Zeroable::zeroed();
        node.required_stake = r.magnitude();
        let mut lease: Lease = bytemuck::Zeroable::zeroed();
        lease.slash_offline_bps = r.below(10_001) as u16;
        lease.slash_bad_work_bps = r.below(10_001) as u16;
        (node.spec.gpus, lease.gpus) = (8, 1 + r.below(8) as u8);
        let of = |stake: u128, bps: u16| stake * u128::from(bps) / 10_000;
        let whole = u128::from(node.required_stake);
        let want = [of(whole, params.slash_fraud_bps), of(whole, params.slash_work_failed_bps), 0, 0];
        assert_eq!(node_costs(&params, &node, 0).unwrap().map(u128::from), want);
        assert!(want.iter().all(|cost| *cost <= whole), "a slash is never more than the node's stake");
        // Of a lease, the part that its GPUs are; nothing was paid yet, and an hour costs more than this.
        (lease.paid_secs, lease.price, params.stake_price) = (0, 1 << 40, 1);
        let part = whole * u128::from(lease.gpus) / 8;
        let want = [0, 0, of(part, lease.slash_bad_work_bps), of(part, lease.slash_offline_bps)];
        let found = lease_costs(&params, &node, &lease, 1 << 30).unwrap().map(u128::from);
        assert_eq!((found[2], found[3].min(want[3])), (want[2], found[3]));
    }
}

#[test]
fn what_an_ended_lease_keeps_is_what_it_may_owe() {
    let mut r = Random::new(20);
    for _ in 0..CASES {
        let mut lease = lease(&mut r);
        let funded = lease.reserved;
        let now = lease.started_at + r.below(120_000) as i64;
        lease.receipt_secs = r.below(u64::from(lease.billable_secs(now)) + 1) as u32;
        let received = lease.settle(now).unwrap();
        lease.ended_at = now.min(lease.funded_until);
        let released = lease.excess().unwrap();
        let kept = lease.reserved - released;
        let most = lease.owed(lease.billable_secs(lease.ended_at)).unwrap();
        assert_eq!(kept + received, most, "pay so far and what is kept are the most that can be owed");
        assert_eq!(kept + received + released, funded, "nothing is lost");
    }
}

#[test]
fn a_share_is_the_lesser_figures_and_never_more_than_the_whole() {
    let mut r = Random::new(119);
    for _ in 0..CASES {
        // Often near to what is asked for, where it matters.
        let asked = [r.u32() >> r.below(32), r.u32() >> r.below(32)];
        let figures =
            asked
                .map(|asked| if r.below(2) == 0 { r.u32() } else { asked.saturating_sub(r.below(9) as u32) });
        let one = |at: usize| match asked[at] {
            0 => 10_000,
            asked => (u128::from(figures[at]) * 10_000 / u128::from(asked)).min(10_000),
        };
        let share = share_bps(figures[0], figures[1], asked[0], asked[1]);
        assert_eq!(u128::from(share), one(0).min(one(1)));
        // A better machine never has less.
        assert!(share_bps(figures[0].saturating_add(1), figures[1], asked[0], asked[1]) >= share);
    }
}

#[test]
fn a_window_is_of_its_class_by_its_mean() {
    let mut r = Random::new(120);
    for _ in 0..CASES {
        let shares: Vec<u16> = (0..r.below(7)).map(|_| 5_000 + r.below(4_001) as u16).collect();
        let sum: u64 = shares.iter().map(|share| u64::from(*share)).sum();
        let of_class = !shares.is_empty() && sum >= 7_000 * shares.len() as u64;
        assert_eq!(in_class(&shares), of_class);
    }
}
