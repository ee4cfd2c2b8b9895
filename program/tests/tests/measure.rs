//! The bytes that the program computes are those of `attest/measure`, whose vectors a third implementation wrote.

use gantry_market::math::hash::sha256_of;
use gantry_market::math::measure::{mix, tag};
use gantry_market::state::{Commitment, MeasureProfile};
use gantry_market_tests::random::Random;
use serde_json::Value;

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hex");
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

pub(crate) fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().expect("length")
}

pub(crate) fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a number")).expect("fits")
}

pub(crate) fn hashes(value: &Value) -> Vec<[u8; 32]> {
    bytes(value).as_chunks::<32>().0.to_vec()
}

/// What attest/measure is tested by.
pub(crate) fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../attest/measure/testdata/vectors.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn profile(value: &Value) -> MeasureProfile {
    MeasureProfile {
        order: number(&value["n"]),
        rows: number(&value["rows"]),
        chain_ms: number(&value["chain_ms"]),
        resident: number(&value["resident"]),
        walk_ms: number(&value["walk_ms"]),
        lanes: number(&value["lanes"]),
        fold: number(&value["fold"]) as u8,
        pad: [0; 3],
    }
}

/// By the definition alone.
fn plain(order: u32, fold: u8, (row_seed, row): (&[u8; 32], u32), (seed, column): (&[u8; 32], u32)) -> u8 {
    let line = |seed: &[u8; 32], index: u32| -> Vec<i32> {
        let hash = sha256_of(&[&sha256_of(&[b"gantry/measure/1/row"]), seed, &index.to_le_bytes()]);
        let k0 = u32::from_le_bytes(hash[..4].try_into().expect("four"));
        let k1 = u32::from_le_bytes(hash[4..8].try_into().expect("four"));
        let word = |w: u32| {
            let x = k0.wrapping_add(w.wrapping_mul(0x9E37_79B9));
            let x = (x ^ x >> 16).wrapping_mul(k1 | 1);
            let x = (x ^ x >> 15).wrapping_mul(0x846C_A68B);
            x ^ x >> 16
        };
        (0..order / 4).flat_map(|w| word(w).to_le_bytes()).map(|byte| i32::from(byte as i8)).collect()
    };
    let a = line(row_seed, row);
    let mut h = 0x85EB_CA6B_u32;
    for offset in 0..u32::from(fold) {
        let entry: i32 = a.iter().zip(line(seed, column + offset)).map(|(x, y)| x * y).sum();
        h = (h ^ entry as u32).wrapping_mul(0x9E37_79B1);
        h ^= h >> 15;
    }
    (h >> 24) as u8
}

#[test]
fn profiles_have_their_hashes() {
    let vectors = vectors();
    for value in vectors["profiles"].as_array().expect("a list") {
        assert_eq!(profile(value).hash(), array::<32>(&value["hash"]));
        profile(value).validate().expect("is sound");
    }
}

#[test]
fn bytes_of_all_orders_are_those_of_the_vectors() {
    let vectors = vectors();
    let cells = vectors["cells"].as_array().expect("a list");
    assert!(
        cells.iter().any(|c| number(&c["n"]) == 16_384) && cells.iter().any(|c| number(&c["n"]) == 8_192)
    );
    for c in cells {
        let fold = number(&c["fold"]);
        let (row_seed, column_seed) = (array(&c["seed"]), array(&c["seed_b"]));
        let column = number(&c["group"]) * fold;
        let right = mix(number(&c["n"]), fold as u8, (&row_seed, number(&c["row"])), (&column_seed, column));
        assert_eq!(u32::from(right), number(&c["mix"]), "{c}");
    }
}

#[test]
fn a_whole_leaf_is_that_of_the_genuine_run() {
    let vectors = vectors();
    let run = &vectors["run"];
    let (leaf, p) = (&run["leaf"], profile(run));
    let seeds = run["seeds"].as_array().expect("a list");
    let row_seed = array(&seeds[number(&leaf["round"]) as usize]);
    let (column_seed, index, of_row) =
        (array(&run["seed_b"]), number(&leaf["index"]), p.row_leaves().expect("a profile"));
    for (group, byte) in bytes(&leaf["bytes"]).into_iter().enumerate() {
        let column = (index % of_row * 256 + group as u32) * u32::from(p.fold);
        assert_eq!(
            mix(p.order, p.fold, (&row_seed, index / of_row), (&column_seed, column)),
            byte,
            "{group}"
        );
    }
}

#[test]
fn the_quick_byte_is_the_plain_one() {
    let mut r = Random::new(210);
    for round in 0..400 {
        let (order, fold) = [(1_024, 4), (1_024, 2), (2_048, 4), (8_192, 4), (16_384, 2)]
            [if round < 390 { round % 2 } else { round % 5 }];
        let (rows, columns): ([u8; 32], [u8; 32]) = (r.bytes(), r.bytes());
        let row = (&rows, r.below(1 << 20) as u32);
        let column = (&columns, r.below(u64::from(order / u32::from(fold))) as u32 * u32::from(fold));
        assert_eq!(mix(order, fold, row, column), plain(order, fold, row, column), "{order} {fold}");
    }
}

#[test]
fn commitments_of_the_genuine_run_are_read() {
    let vectors = vectors();
    let run = &vectors["run"];
    let raw = bytes(&run["commitment"]);
    let commitment = Commitment::parse(&raw).expect("a commitment");
    assert_eq!(commitment.domain, array::<8>(&run["domain"]));
    assert_eq!(
        (commitment.instant, commitment.node.to_bytes()),
        (array(&run["instant"]), array(&run["node"]))
    );
    let entry = commitment.entry(&array(&run["entry"])).expect("its entry");
    assert_eq!((entry.gpu, entry.profile), (1, profile(run).hash()));
    assert_eq!((entry.rounds, entry.rounds_root), (3, array(&run["rounds_root"])));
    assert_eq!(tag(b"commitment"), raw[..32]);
    // Every byte of both counts.
    for at in 0..145 {
        let mut other: [u8; 145] = array(&run["entry"]);
        other[at] ^= 1;
        assert!(commitment.entry(&other).is_err(), "{at}");
    }
    assert!(Commitment::parse(&raw[..raw.len() - 1]).is_err() && Commitment::parse(&raw[..104]).is_err());
}
