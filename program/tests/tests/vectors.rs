//! Vectors for the other languages, in idl/vectors: the program's own functions say what is right.

use gantry_market::constants::{LEAF_LEN, MAX_GPUS, MAX_PROOF};
use gantry_market::instructions::lease::lease_settle_receipt::receipt_message;
use gantry_market::math::bid::{commitment, commitment_message, price_of, reveal_ack_message};
use gantry_market::math::evidence::{device_root, standing_tier};
use gantry_market::math::fees::bps_of;
use gantry_market::math::figures::{in_class, share_bps};
use gantry_market::math::guarantee::{discount_bps, kept};
use gantry_market::math::merkle::root_of;
use gantry_market::math::pricing::cost;
use gantry_market::math::reputation::{failure_weight, next_uptime_bps, reputation, Record};
use gantry_market::math::score::{penalty_bps, score};
use gantry_market::math::slashing::{harm_in_stake, split};
use gantry_market::math::window::{mark, CLOSED};
use gantry_market::state::{Leaf, Lease, Manifest, Statement};
use gantry_market_tests::leaves::{manifest, merkle, receipt, statement, LeafData};
use gantry_market_tests::pda;
use gantry_market_tests::random::Random;
use gantry_market_tests::testbed::{key, DOMAIN};
use gantry_market_tests::vectors::{check, hex, read, unhex};
use serde_json::{json, Value};
use solana_address::Address;
use solana_signer::Signer;

/// A value, or null where the program refuses.
fn or_null(result: anchor_lang::Result<u64>) -> Value {
    result.map_or(Value::Null, Value::from)
}

fn file(about: &str, cases: Vec<Value>) -> Value {
    json!({ "about": about, "cases": cases })
}

fn address(fill: u8) -> Address {
    Address::new_from_array([fill; 32])
}

#[test]
fn pdas() {
    let (wallet, other) = (key(7).pubkey(), key(8).pubkey());
    let provider = pda::provider(&wallet);
    let keeper = pda::keeper(&wallet);
    let credits = pda::credits(&wallet);
    let node = pda::node(&provider, &other);
    let order = pda::order(&wallet, 0x0102_0304_0506_0708);
    let lease = pda::lease(&order, &node);
    let device = [0xab; 32];
    let case = |name: &str, inputs: Value, at: Address| json!({ "name": name, "inputs": inputs, "address": at.to_string() });
    let s = |a: &Address| a.to_string();
    check(
        "pdas",
        &json!({
            "about": "Program-derived addresses. Addresses in base58, device identity in hex.",
            "program": gantry_market::ID.to_string(),
            "cases": [
                case("market", json!({}), pda::market()),
                case("fee_vault", json!({}), pda::fee_vault()),
                case("gpu_model", json!({ "id": 1 }), pda::gpu_model(1)),
                case("gpu_model", json!({ "id": 0x0201 }), pda::gpu_model(0x0201)),
                case("provider", json!({ "wallet": s(&wallet) }), provider),
                case("node", json!({ "provider": s(&provider), "node_key": s(&other) }), node),
                case("device", json!({ "identity": hex(&device) }), pda::device(&device)),
                case("keeper", json!({ "wallet": s(&wallet) }), keeper),
                case("stake_vault", json!({ "owner": s(&provider) }), pda::stake_vault(&provider)),
                case("stake_vault", json!({ "owner": s(&keeper) }), pda::stake_vault(&keeper)),
                case("credits", json!({ "customer": s(&wallet) }), credits),
                case("credits_vault", json!({ "credits": s(&credits) }), pda::credits_vault(&credits)),
                case("order", json!({ "customer": s(&wallet), "nonce": 0x0102_0304_0506_0708u64 }), order),
                case("auction", json!({ "order": s(&order) }), pda::auction(&order)),
                case("lease", json!({ "order": s(&order), "node": s(&node) }), lease),
                case("fraud_proof", json!({ "node": s(&node), "finder": s(&wallet) }), pda::fraud_proof(&node, &wallet)),
                case("report", json!({ "period": 500_000u64 }), pda::report(500_000)),
                case("fault", json!({ "node": s(&node), "lease": s(&lease), "period": 500_000u64 }), pda::fault(&node, &lease, 500_000)),
                case("fault", json!({ "node": s(&node), "lease": s(&Address::default()), "period": 1u64 }), pda::fault(&node, &Address::default(), 1)),
            ],
        }),
    );
}

#[test]
fn costs() {
    let mut r = Random::new(101);
    let mut inputs: Vec<(u64, u8, u32)> = vec![
        (0, 1, 1),
        (1, 1, 3_599),
        (1, 1, 3_600),
        (2_500_000, 8, 3_600),
        (2_500_000, 1, 1),
        (2_500_000, 3, 7_201),
        (u64::MAX, 1, 3_600),
        (u64::MAX, 1, 3_601),
        (u64::MAX, 8, u32::MAX),
        (u64::MAX, 0, 9),
        (700_000_000_001, 8, 31_535_999),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.below(u64::from(MAX_GPUS) + 1) as u8, r.u32()));
    }
    let cases = inputs
        .into_iter()
        .map(|(price, gpus, seconds)| json!({ "price": price, "gpus": gpus, "seconds": seconds, "cost": or_null(cost(price, gpus, seconds)) }))
        .collect();
    check(
        "cost",
        &file("price × gpus × seconds / 3600, rounded down; null where it does not fit 64 bits.", cases),
    );
}

#[test]
fn bids() {
    let mut r = Random::new(109);
    let node = key(31);
    let mut cases = vec![];
    for price in [1, 2_000_000, u64::MAX, r.magnitude(), r.magnitude()] {
        let (order, account) = (Address::new_from_array(r.bytes()), Address::new_from_array(r.bytes()));
        let (close_at, salt) = (1_800_000_000 + i64::from(r.u16()), r.bytes::<32>());
        let hidden = commitment(&DOMAIN, &order, &account, close_at, price, &salt);
        let message = commitment_message(&hidden);
        cases.push(json!({
            "domain": hex(&DOMAIN), "order": order.to_string(), "node": account.to_string(), "close_at": close_at,
            "price": price, "salt": hex(&salt), "commitment": hex(&hidden), "message": hex(&message),
            "signer": node.pubkey().to_string(), "signature": hex(node.sign_message(&message).as_ref()),
        }));
    }
    check(
        "bid",
        &file("Sealed bids: what is hidden, its commitment, and what the node signs. Bytes in hex.", cases),
    );
}

#[test]
fn prices_of_scores() {
    let mut r = Random::new(110);
    let mut inputs: Vec<(u64, u16, u16)> = vec![
        (0, 0, 0),
        (0, 10_000, 0),
        (0, 10_000, 10_000),
        (1_612_500, 8_500, 0),
        (1_125_000, 8_500, 0),
        (1_125_000, 8_500, 9_900),
        (u64::MAX, 0, 0),
        (u64::MAX, 0, 10_000),
        (u64::MAX, 10_000, 0),
        (u64::MAX, 10_000, 19),
        (u64::MAX, 10_000, 20),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.below(10_001) as u16, r.below(10_001) as u16));
    }
    let cases = inputs
        .into_iter()
        .map(|(score, bps, guarantee)| json!({ "score": score, "reputation_bps": bps, "guarantee_bps": guarantee, "price": or_null(price_of(score, bps, guarantee)) }))
        .collect();
    check("price_of", &file("((score + 1) × 10,000 - 1) / (10,000 + (10,000 - reputation) / 2 - guarantee / 20), rounded down: the highest price that scores no more; null where it does not fit 64 bits.", cases));
}

#[test]
fn fees() {
    let mut r = Random::new(102);
    let mut inputs: Vec<(u64, u16)> = vec![
        (0, 1_200),
        (1, 1_200),
        (8, 1_200),
        (9, 1_200),
        (1_000_000, 1_200),
        (u64::MAX, 10_000),
        (u64::MAX, 10_001),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.below(10_001) as u16));
    }
    let cases = inputs
        .into_iter()
        .map(|(amount, bps)| json!({ "amount": amount, "bps": bps, "fee": or_null(bps_of(amount, bps)) }))
        .collect();
    check("fee", &file("amount × bps / 10,000, rounded down; null where it does not fit 64 bits.", cases));
}

#[test]
fn scores() {
    let mut r = Random::new(103);
    let mut inputs: Vec<(u64, u16, u16)> = vec![
        (1_000, 0, 0),
        (1_000, 10_000, 0),
        (1_000, 9_999, 0),
        (1_000, 9_998, 0),
        (1_000, 10_000, 10_000),
        (1_000, 10_000, 9_999),
        (100_000, 0, 9_000),
        (3, 1, 20),
        (u64::MAX, 10_000, 0),
        (u64::MAX, 9_998, 0),
        (u64::MAX, 9_998, 20),
        (5, u16::MAX, u16::MAX),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.below(10_001) as u16, r.below(10_001) as u16));
    }
    let cases = inputs
        .into_iter()
        .map(|(price, bps, guarantee)| json!({ "price": price, "reputation_bps": bps, "guarantee_bps": guarantee, "penalty_bps": penalty_bps(bps), "discount_bps": discount_bps(guarantee), "score": or_null(score(price, bps, guarantee)) }))
        .collect();
    check("score", &file("price × (10,000 + (10,000 - reputation) / 2 - guarantee / 20) / 10,000, rounded down; null where it does not fit 64 bits.", cases));
}

#[test]
fn guarantees() {
    let mut r = Random::new(111);
    let mut inputs: Vec<(u64, u64, u16)> = vec![
        (0, 0, 10_000),
        (9_900, 10_000, 9_900),
        (9_899, 10_000, 9_900),
        (59, 60, 9_900),
        (3_600, 3_600, 10_000),
        (3_599, 3_600, 10_000),
        (u64::MAX, u64::MAX, 10_000),
        (u64::MAX - 1, u64::MAX, 10_000),
    ];
    for _ in 0..60 {
        let counted = r.below(31_536_000);
        let up = counted - counted * r.below(1_200) / 10_000;
        inputs.push((up, counted, 9_000 + r.below(1_001) as u16));
    }
    let cases = inputs
        .into_iter()
        .map(|(up, counted, guarantee)| json!({ "up_secs": up, "counted_secs": counted, "guarantee_bps": guarantee, "kept": kept(up, counted, guarantee) }))
        .collect();
    check(
        "guarantee",
        &file("Whether a guarantee was kept: up × 10,000 is at least counted × guarantee.", cases),
    );
}

#[test]
fn reputations() {
    let mut r = Random::new(104);
    let day = 86_400;
    let new = Record {
        uptime_bps: 10_000,
        fees_completed: 0,
        fees_failed: 0,
        rating_sum: 0,
        rating_weight: 0,
        days: 0,
        dispute_bps: 0,
        dispute_lost_at: 0,
    };
    let mut inputs = vec![
        (new, 1_000),
        (new, 1_000 + 400 * day),
        (Record { days: 1, ..new }, 1_000),
        (Record { days: 90, ..new }, 1_000),
        (Record { days: 180, ..new }, 1_000),
        (Record { days: u8::MAX, ..new }, 1_000),
        (Record { fees_failed: 14_400_000, ..new }, 1_000),
        (Record { fees_failed: 144_000_000, ..new }, 1_000),
        (Record { fees_completed: 144_000_000, fees_failed: 144_000_000, ..new }, 1_000),
        (Record { uptime_bps: u16::MAX, ..new }, 1_000),
        (Record { rating_sum: 5, rating_weight: 1, ..new }, 1_000),
        (Record { rating_sum: 1, rating_weight: 1, ..new }, 1_000),
        (Record { rating_sum: 0, rating_weight: 1, ..new }, 1_000),
        (Record { rating_sum: u64::MAX, rating_weight: 1, ..new }, 1_000),
        (Record { dispute_bps: 2_000, dispute_lost_at: 1_000, ..new }, 1_000),
        (Record { dispute_bps: 2_000, dispute_lost_at: 1_000, ..new }, 1_001),
        (Record { dispute_bps: 2_000, dispute_lost_at: 1_000, ..new }, 1_000 + 90 * day),
        (Record { dispute_bps: 2_000, dispute_lost_at: 1_000, ..new }, 1_000 + 180 * day),
        (Record { dispute_bps: 10_000, dispute_lost_at: 2_000, ..new }, 1_000),
        (Record { dispute_bps: u16::MAX, dispute_lost_at: i64::MAX, ..new }, 1_000),
        (Record { fees_completed: u64::MAX, fees_failed: u64::MAX, ..new }, 1_000),
        (Record { fees_completed: u64::MAX, ..new }, 1_000),
        (Record { rating_sum: u64::MAX, rating_weight: u64::MAX, ..new }, 1_000),
        (Record { rating_sum: 720_000_000, rating_weight: 144_000_000, ..new }, 1_000),
    ];
    for _ in 0..60 {
        let weight = r.below(1 << 32);
        let record = Record {
            uptime_bps: r.below(10_001) as u16,
            fees_completed: r.below(10_000_000_000),
            fees_failed: r.below(1_000_000_000),
            rating_sum: weight * (1 + r.below(5)),
            rating_weight: weight,
            days: r.below(200) as u8,
            dispute_bps: (2_000 * r.below(6)) as u16,
            dispute_lost_at: 1_800_000_000 - r.below(16_000_000) as i64,
        };
        inputs.push((record, 1_800_000_000));
    }
    let cases = inputs
        .into_iter()
        .map(|(x, now)| {
            json!({
                "uptime_bps": x.uptime_bps, "fees_completed": x.fees_completed, "fees_failed": x.fees_failed,
                "rating_sum": x.rating_sum, "rating_weight": x.rating_weight, "days": x.days,
                "dispute_bps": x.dispute_bps, "dispute_lost_at": x.dispute_lost_at,
                "now": now, "reputation_bps": reputation(&x, now),
            })
        })
        .collect();
    check(
        "reputation",
        &file("A node's reputation at `now`: uptime 50 %, completion 20 %, ratings 20 %, days that it was up 10 %, less what is left of lost disputes.", cases),
    );
}

#[test]
fn failure_weights() {
    let mut r = Random::new(110);
    let mut inputs = vec![0, 1, 14_399_999, 14_400_000, 14_400_001, 144_000_000, 144_000_001, u64::MAX];
    inputs.extend((0..30).map(|_| r.below(200_000_000)));
    let cases = inputs.into_iter().map(|fee| json!({ "fee": fee, "weight": failure_weight(fee) })).collect();
    check("failure_weight", &file("What a failed lease weighs, by the fee of its funded time.", cases));
}

#[test]
fn next_uptimes() {
    let mut r = Random::new(105);
    let mut inputs: Vec<(u16, u32, u32)> = vec![
        (10_000, 60, 60),
        (10_000, 0, 60),
        (0, 60, 60),
        (0, 1, 3_600),
        (9_999, 61, 60),
        (5_000, 1, 0),
        (u16::MAX, u32::MAX, 1),
    ];
    for _ in 0..60 {
        let period = 1 + r.below(86_400) as u32;
        inputs.push((r.below(10_001) as u16, r.below(u64::from(period) + 1) as u32, period));
    }
    let cases = inputs
        .into_iter()
        .map(|(old, up, period)| json!({ "old_bps": old, "up_secs": up, "period_secs": period, "next_bps": next_uptime_bps(old, up, period) }))
        .collect();
    check(
        "next_uptime",
        &file(
            "(63 × old + sample) / 64, rounded down, where sample = up × 10,000 / period, at most 10,000.",
            cases,
        ),
    );
}

#[test]
fn slash_splits() {
    let mut r = Random::new(106);
    let mut inputs: Vec<(u64, u64, u16)> = vec![
        (0, 0, 1_000),
        (1, 1, 1_000),
        (100, 0, 1_000),
        (100, 40, 1_000),
        (100, 200, 1_000),
        (9, 0, 1_000),
        (u64::MAX, 1, 1_000),
        (u64::MAX, u64::MAX, 0),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.magnitude(), r.below(1_001) as u16));
    }
    let cases = inputs
        .into_iter()
        .map(|(amount, harm, bps)| {
            let shares = split(amount, bps).unwrap();
            let claimed = shares.claimed(harm).unwrap();
            json!({
                "amount": amount, "finder_bps": bps, "harm": harm, "burned": shares.burned, "finder": shares.finder,
                "pool": shares.pool, "claimed": claimed.pool, "burned_then": claimed.burned,
            })
        })
        .collect();
    check(
        "slash_split",
        &file(
            "At least half burned, the finder at most its share of the whole, the rest for the victims up to their harm.",
            cases,
        ),
    );
}

#[test]
fn harms() {
    let mut r = Random::new(107);
    let mut inputs: Vec<(u64, u64)> = vec![
        (0, 1),
        (1, 1_000_000),
        (2_500_000, 1_000_000),
        (2_500_000, 3),
        (1, 0),
        (u64::MAX, 1),
        (18_446_744_073, 1),
        (18_446_744_074, 1),
    ];
    for _ in 0..60 {
        inputs.push((r.magnitude(), r.magnitude()));
    }
    let cases = inputs
        .into_iter()
        .map(|(harm, price)| json!({ "harm": harm, "stake_price": price, "stake": or_null(harm_in_stake(harm, price)) }))
        .collect();
    check("harm", &file("harm × 1,000,000,000 / stake price, rounded down; null where it does not fit 64 bits or the price is 0.", cases));
}

#[test]
fn merkle_trees() {
    let mut r = Random::new(108);
    let mut cases = vec![];
    for size in [1usize, 2, 3, 4, 5, 7, 8, 13] {
        let records: Vec<[u8; 176]> = (0..size).map(|_| r.bytes()).collect();
        let slices: Vec<&[u8]> = records.iter().map(|record| record.as_slice()).collect();
        let (root, ways) = merkle(&slices);
        let proofs: Vec<Value> = ways
            .iter()
            .zip(&slices)
            .map(|((path, siblings), leaf)| {
                assert_eq!(root_of(leaf, *path, siblings), root);
                json!({ "path": path, "siblings": siblings.iter().map(|s| hex(s)).collect::<Vec<_>>() })
            })
            .collect();
        cases.push(json!({ "leaves": slices.iter().map(|l| hex(l)).collect::<Vec<_>>(), "root": hex(&root), "proofs": proofs }));
    }
    check("merkle", &file("Trees over 176-byte leaves, and the proof of each. Bit i of path: the running hash is the right child of the i-th pair.", cases));
}

/// The program accepts the leaves of a report of a million, with the proofs that keepers make.
#[test]
fn proofs_of_a_million_leaves() {
    let file = read("report_million");
    let cases = file["cases"].as_array().expect("is a list");
    assert!(cases.len() >= 12);
    for case in cases {
        let bytes = |value: &Value| unhex(value.as_str().expect("is text"));
        let mut leaf = bytes(&case["leaf"]);
        let root = bytes(&case["root"]);
        let path = u32::try_from(case["path"].as_u64().expect("is a number")).expect("fits 32 bits");
        let siblings: Vec<[u8; 32]> = case["siblings"]
            .as_array()
            .expect("is a list")
            .iter()
            .map(|sibling| bytes(sibling).try_into().expect("has 32 bytes"))
            .collect();
        assert_eq!(leaf.len(), LEAF_LEN);
        assert!(siblings.len() <= MAX_PROOF);
        assert_eq!(root_of(&leaf, path, &siblings)[..], root[..]);
        leaf[40] ^= 1;
        assert_ne!(root_of(&leaf, path, &siblings)[..], root[..]);
    }
}

/// A leaf of arbitrary but well-formed content for periods of 3600 seconds.
fn leaf(r: &mut Random) -> LeafData {
    let total = r.below(1_000) as u16;
    let with_lease = r.below(2) == 1;
    let verified = if with_lease { r.below(3_601) } else { 0 };
    let downtime = if with_lease { r.below(3_601 - verified) } else { 0 };
    LeafData {
        node: Address::new_from_array(r.bytes()),
        period: r.magnitude(),
        checks_passed: r.below(u64::from(total) + 1) as u16,
        checks_total: total,
        tier: r.below(4) as u8,
        flags: r.below(128) as u16,
        operations: 1 + r.u32() / 2,
        up_secs: r.below(3_601) as u32,
        lease: if with_lease { Address::new_from_array(r.bytes()) } else { Address::default() },
        verified_secs: verified as u32,
        downtime_secs: downtime as u32,
        device_root: r.bytes(),
        evidence_hash: r.bytes(),
        bandwidth: r.u32(),
        down_mbps: r.u32(),
        up_mbps: r.u32(),
    }
}

#[test]
fn leaves() {
    let mut r = Random::new(109);
    let mut cases = vec![];
    for _ in 0..16 {
        let x = leaf(&mut r);
        let bytes = x.bytes();
        let parsed = Leaf::parse(&bytes, 3_600).unwrap();
        assert_eq!((parsed.node, parsed.period, parsed.lease), (x.node, x.period, x.lease));
        assert_eq!(
            (parsed.checks_passed, parsed.checks_total, parsed.tier),
            (x.checks_passed, x.checks_total, x.tier)
        );
        assert_eq!((parsed.flags, parsed.operations, parsed.up_secs), (x.flags, x.operations, x.up_secs));
        assert_eq!((parsed.verified_secs, parsed.downtime_secs), (x.verified_secs, x.downtime_secs));
        assert_eq!((parsed.device_root, parsed.evidence_hash), (x.device_root, x.evidence_hash));
        assert_eq!(
            (parsed.bandwidth, parsed.down_mbps, parsed.up_mbps),
            (x.bandwidth, x.down_mbps, x.up_mbps)
        );
        cases.push(json!({
            "node": x.node.to_string(), "period": x.period, "checks_passed": x.checks_passed, "checks_total": x.checks_total,
            "tier": x.tier, "flags": x.flags, "operations": x.operations, "up_secs": x.up_secs,
            "lease": x.lease.to_string(), "verified_secs": x.verified_secs, "downtime_secs": x.downtime_secs,
            "device_root": hex(&x.device_root), "evidence_hash": hex(&x.evidence_hash),
            "bandwidth": x.bandwidth, "down_mbps": x.down_mbps, "up_mbps": x.up_mbps,
            "bytes": hex(&bytes), "hash": hex(&root_of(&bytes, 0, &[])),
        }));
    }
    // What the program refuses, each one step from a leaf that it takes.
    let mut good = leaf(&mut r);
    (good.lease, good.verified_secs, good.downtime_secs) = (address(9), 3_000, 600);
    let broken: Vec<(&str, [u8; 176])> = vec![
        ("padding set", {
            let mut b = good.bytes();
            b[45] = 1;
            b
        }),
        ("reserved set", {
            let mut b = good.bytes();
            b[175] = 1;
            b
        }),
        ("unknown flag", {
            let mut b = good.bytes();
            b[46] |= 128;
            b
        }),
        ("bandwidth of what was not measured", LeafData { operations: 0, bandwidth: 1, ..good }.bytes()),
        ("more passed than made", LeafData { checks_passed: 2, checks_total: 1, ..good }.bytes()),
        ("unknown tier", LeafData { tier: 4, ..good }.bytes()),
        ("up for longer than the period", LeafData { up_secs: 3_601, ..good }.bytes()),
        ("verified and down for longer than the period", LeafData { downtime_secs: 601, ..good }.bytes()),
        ("seconds that overflow", LeafData { verified_secs: u32::MAX, downtime_secs: 1, ..good }.bytes()),
        ("time of no lease", LeafData { lease: Address::default(), ..good }.bytes()),
    ];
    assert!(Leaf::parse(&good.bytes(), 3_600).is_ok());
    let refused: Vec<Value> = broken
        .iter()
        .map(|(why, bytes)| {
            assert!(Leaf::parse(bytes, 3_600).is_err(), "{why}");
            json!({ "why": why, "bytes": hex(bytes) })
        })
        .collect();
    check(
        "leaf",
        &json!({ "about": "176-byte report leaves for periods of 3600 seconds, their hashes, and leaves that are refused.", "period_secs": 3_600, "cases": cases, "refused": refused }),
    );
}

#[test]
fn receipts() {
    let mut r = Random::new(110);
    let mut cases = vec![];
    for n in 0..8u64 {
        let (at, started) = (Address::new_from_array(r.bytes()), r.below(1 << 40) as i64);
        let (sequence, seconds) = if n == 0 { (1, 0) } else { (r.magnitude(), u64::from(r.u32())) };
        let mut lease: Lease = bytemuck::Zeroable::zeroed();
        (lease.domain, lease.started_at) = (DOMAIN, started);
        let message = receipt_message(&lease, &at, sequence, seconds);
        assert_eq!(message, receipt(&DOMAIN, &at, started, sequence, seconds));
        let signer = key(n + 1);
        cases.push(json!({
            "domain": hex(&DOMAIN), "lease": at.to_string(), "started_at": started, "sequence": sequence, "seconds": seconds,
            "bytes": hex(&message), "signer": signer.pubkey().to_string(), "signature": hex(signer.sign_message(&message).as_array()),
        }));
    }
    check(
        "receipt",
        &file(
            "72-byte receipts as node and customer sign them, with an Ed25519 signature over the bytes.",
            cases,
        ),
    );
}

/// Two manifests each, and whether they cost their keeper its bond.
#[test]
fn manifests() {
    let mut r = Random::new(115);
    let mut cases = vec![];
    for n in 0..7u64 {
        let (period, count, digest) = (r.magnitude(), r.u32() >> 8, r.bytes::<32>());
        let one = manifest(period, count, digest);
        let mut other = one;
        match n {
            0 => {}
            1 => other[16..24].copy_from_slice(&period.wrapping_add(1).to_le_bytes()),
            2 => other[8] ^= 1,
            3 => other[24] ^= 1,
            4 => other[28] ^= 1,
            5 => other[32] ^= 1,
            _ => other[63] ^= 1,
        }
        let parsed = [one, other].map(|bytes| Manifest::parse(&bytes).unwrap());
        assert_eq!((parsed[0].domain, parsed[0].period), (DOMAIN, period));
        let equivocates = parsed[0].equivocates(&parsed[1]);
        assert_eq!((equivocates, parsed[1].equivocates(&parsed[0])), (n > 2, n > 2));
        let signer = key(n + 1);
        cases.push(json!({
            "domain": hex(&DOMAIN), "period": period, "count": count, "size": 33 * count, "digest": hex(&digest),
            "bytes": hex(&one), "other": hex(&other), "equivocates": equivocates,
            "signer": signer.pubkey().to_string(), "signature": hex(signer.sign_message(&one).as_array()),
        }));
    }
    let mut bytes = manifest(7, 1, [5; 32]);
    bytes[7] = b'2';
    assert!(Manifest::parse(&bytes).is_err());
    let about = "64-byte manifests as keepers sign them, each with another of the same keeper and whether the two cost \
                 it its bond, and one that is refused.";
    check("manifest", &json!({ "about": about, "cases": cases, "refused": hex(&bytes) }));
}

/// Seconds of a period and of the grace of the market that the statements are heard in.
const PERIOD: u32 = 3_600;
const GRACE: u32 = 60;

#[test]
fn statements() {
    let mut r = Random::new(111);
    let mut cases = vec![];
    let covers = [0, PERIOD - GRACE - 1, PERIOD - GRACE, PERIOD, u32::MAX];
    for kind in 1..=7u8 {
        for (passed, covered) in [false, true].into_iter().flat_map(|p| covers.map(|c| (p, c))) {
            let (node, period) = (Address::new_from_array(r.bytes()), r.magnitude());
            let mut bytes = statement(&node, period, kind, passed);
            let (first, second) = (r.u32(), r.u32());
            let (checked_at, lease, detail) =
                (r.below(1 << 40) as i64, Address::new_from_array(r.bytes()), r.bytes::<32>());
            bytes[60..64].copy_from_slice(&first.to_le_bytes());
            bytes[64..68].copy_from_slice(&second.to_le_bytes());
            bytes[68..72].copy_from_slice(&covered.to_le_bytes());
            bytes[72..80].copy_from_slice(&checked_at.to_le_bytes());
            bytes[80..112].copy_from_slice(lease.as_ref());
            bytes[112..144].copy_from_slice(&detail);
            let parsed = Statement::parse(&bytes).unwrap();
            assert_eq!((parsed.domain, parsed.node, parsed.period), (DOMAIN, node, period));
            assert_eq!((parsed.kind, parsed.passed), (kind, passed));
            assert_eq!((parsed.first_figure, parsed.second_figure), (first, second));
            let signer = key(u64::from(kind));
            cases.push(json!({
                "domain": hex(&DOMAIN), "node": node.to_string(), "period": period, "kind": kind, "passed": passed,
                "first_figure": first, "second_figure": second, "covered_secs": covered, "checked_at": checked_at,
                "lease": lease.to_string(), "detail": hex(&detail), "contradicts": parsed.contradicts(PERIOD, GRACE),
                "bytes": hex(&bytes), "signer": signer.pubkey().to_string(), "signature": hex(signer.sign_message(&bytes).as_array()),
            }));
        }
    }
    let good = statement(&address(5), 7, 1, true);
    let mut refused = vec![];
    for (why, at, value) in [
        ("tag", 0, b'X'),
        ("kind 0", 56, 0),
        ("kind 8", 56, 8),
        ("result 2", 57, 2),
        ("reserved", 58, 1),
        ("reserved", 59, 1),
    ] {
        let mut bytes = good;
        bytes[at] = value;
        assert!(Statement::parse(&bytes).is_err(), "{why}");
        refused.push(json!({ "why": why, "bytes": hex(&bytes) }));
    }
    check(
        "statement",
        &json!({ "about": "144-byte check statements as keepers sign them, the report flags that each contradicts, and statements that are refused.", "period_secs": PERIOD, "grace_secs": GRACE, "cases": cases, "refused": refused }),
    );
}

#[test]
fn windows() {
    let mut r = Random::new(113);
    let mut inputs: Vec<(u64, u32, u64)> = vec![
        (0, CLOSED, 1),
        (5, CLOSED, 5),
        (5, 0, 5),
        (40, 1, 9),
        (40, 1, 8),
        (u64::MAX, 0, 0),
        (0, 0, u64::MAX),
        (u64::MAX, 0, u64::MAX),
        (100, 0x8000_0000, 69),
        (100, 0x7fff_ffff, 69),
    ];
    for _ in 0..80 {
        let last = r.below(200);
        inputs.push((last, (r.u64() >> 32) as u32, (last + 2).saturating_sub(r.below(40))));
    }
    let cases = inputs.into_iter().map(|(last, window, period)| {
        let marked = mark(last, window, period);
        json!({
            "last": last, "window": window, "period": period,
            "fresh": marked.is_some(),
            "next_last": marked.map(|(last, _)| last),
            "next_window": marked.map(|(_, window)| window),
        })
    });
    check(
        "window",
        &file("Whether a period's leaf is still to be applied, and the window after it.", cases.collect()),
    );
}

#[test]
fn settlements() {
    let mut r = Random::new(114);
    let mut cases = vec![];
    for at in 0..120 {
        let mut lease: Lease = bytemuck::Zeroable::zeroed();
        lease.price = if at % 8 == 0 { r.magnitude() } else { 1 + r.below(1 << 40) };
        lease.gpus = 1 + r.below(8) as u8;
        lease.fee_bps = 1_000 + r.below(501) as u16;
        lease.started_at = 1_000_000;
        lease.funded_until = 1_000_001 + r.below(100_000) as i64;
        lease.ended_at = if at % 3 == 0 { 1_000_000 + r.below(120_000) as i64 } else { 0 };
        lease.receipt_secs = r.below(100_000) as u32;
        lease.verified_secs = r.below(100_000) as u32;
        lease.downtime_secs = r.below(20_000) as u32;
        let now = 1_000_000 + r.below(150_000) as i64;
        lease.paid_secs = r.below(u64::from(lease.billable_secs(now)) + 1) as u32;
        let paid = lease.owed(lease.paid_secs);
        lease.paid = paid.as_ref().map_or(0, |paid| *paid);
        cases.push(json!({
            "price": lease.price, "gpus": lease.gpus, "fee_bps": lease.fee_bps,
            "started_at": lease.started_at, "funded_until": lease.funded_until, "ended_at": lease.ended_at,
            "receipt_secs": lease.receipt_secs, "verified_secs": lease.verified_secs,
            "downtime_secs": lease.downtime_secs, "paid_secs": lease.paid_secs, "now": now,
            "billable": lease.billable_secs(now),
            "unsettled": lease.unsettled_secs(now),
            "paid": or_null(paid),
            "fee": or_null(lease.fee_total()),
            "provider": or_null(lease.provider_total()),
        }));
    }
    check("settlement", &file("What a lease may bill, still owes, and has split into fee and pay.", cases));
}

#[test]
fn reveal_acks() {
    let keeper = key(11);
    let mut cases = vec![];
    for (fill, at) in [(0x00, 0), (0xab, 1_800_000_000), (0xff, i64::MAX), (0x01, -1)] {
        let message = reveal_ack_message(&[fill; 32], at);
        cases.push(json!({
            "commitment": hex(&[fill; 32]),
            "received_at": at,
            "message": hex(&message),
            "keeper": keeper.pubkey().to_string(),
            "signature": hex(keeper.sign_message(&message).as_ref()),
        }));
    }
    let about = "What a keeper signs when a bid's reveal reaches it: tag 8, commitment 32, unix second i64. Hex but for the key.";
    check("reveal_ack", &file(about, cases));
}

#[test]
fn evidence() {
    let mut r = Random::new(0x0e71_dece);
    let mut roots = vec![];
    for count in 1..=usize::from(MAX_GPUS) {
        let mut devices = vec![[0u8; 32]; count];
        for device in &mut devices {
            device.iter_mut().for_each(|byte| *byte = r.below(256) as u8);
        }
        devices.sort_unstable();
        let root = device_root(&devices).expect("ascending");
        let devices: Vec<String> = devices.iter().map(|device| hex(device)).collect();
        roots.push(json!({ "devices": devices, "root": hex(&root) }));
    }
    check(
        "device_root",
        &file("Roots over ascending device identities, hashed as report leaves. Hex throughout.", roots),
    );
    let mut tiers = vec![];
    for tier in 0..=3u8 {
        for (expiry, now) in
            [(0, 0), (0, 1), (100, 99), (100, 100), (100, 101), (i64::MAX, i64::MAX), (-5, -6)]
        {
            let standing = standing_tier(tier, expiry, now);
            tiers.push(json!({ "tier": tier, "expiry": expiry, "now": now, "standing": standing }));
        }
    }
    check("standing_tier", &file("What an evidence tier is worth at a time.", tiers));
}

/// Shares of a class, and what windows of them say.
#[test]
fn figures() {
    let mut r = Random::new(118);
    let mut inputs = vec![
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (0, 0, 1_000, 500),
        (1_000, 500, 1_000, 500),
        (2_000, 500, 1_000, 500),
        (700, 350, 1_000, 500),
        (699, 500, 1_000, 500),
        (1_000, 349, 1_000, 500),
        (700, 0, 1_000, 0),
        (0, 350, 0, 500),
        (u32::MAX, u32::MAX, 1, 1),
        (u32::MAX, u32::MAX, u32::MAX, u32::MAX),
        (u32::MAX / 3, u32::MAX, u32::MAX, u32::MAX),
    ];
    for _ in 0..40 {
        let mut near = || 1 + r.below(3_000) as u32;
        inputs.push((near(), near(), near(), near()));
    }
    let cases: Vec<Value> = inputs
        .into_iter()
        .map(|(operations, bandwidth, min_operations, min_bandwidth)| {
            let share = share_bps(operations, bandwidth, min_operations, min_bandwidth);
            json!({
                "operations": operations, "bandwidth": bandwidth, "min_operations": min_operations,
                "min_bandwidth": min_bandwidth, "share": share,
            })
        })
        .collect();
    let mut windows: Vec<Vec<u16>> = vec![
        vec![],
        vec![6_999],
        vec![7_000],
        vec![10_000, 4_000],
        vec![10_000, 3_999],
        vec![0, 10_000, 10_000, 10_000, 10_000, 10_000],
        vec![0, 0, 10_000, 10_000, 10_000, 10_000],
        vec![1_000, 1_000, 10_000, 10_000, 10_000, 10_000],
        vec![6_999; 5],
        vec![6_999; 6],
        vec![6_999, 6_999, 6_999, 6_999, 6_999, 7_000],
        vec![1_666; 6],
    ];
    for _ in 0..20 {
        let len = r.below(7);
        windows.push((0..len).map(|_| r.below(10_001) as u16).collect());
    }
    let windows: Vec<Value> = windows
        .into_iter()
        .map(|shares| json!({ "shares": shares, "in_class": in_class(&shares) }))
        .collect();
    check(
        "figures",
        &json!({
            "about": "Shares of a class in basis points by a machine's figures; and of windows of shares, newest first, \
                      whether the machine is of its class.",
            "cases": cases, "windows": windows,
        }),
    );
}
