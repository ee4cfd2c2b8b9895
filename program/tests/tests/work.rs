//! The entry of a product that the program computes is the one that `attest/work` computes, and a slow and plain
//! computation agrees with the quick one.

use gantry_market::constants::WORK_CHUNK;
use gantry_market::math::hash::{sha256_of, sha256_words};
use gantry_market::math::work::cell;
use gantry_market_tests::random::Random;
use gantry_market_tests::vectors::{check, hex};
use gantry_market_tests::work::{path_length, Opened};
use serde_json::{json, Value};
use solana_address::Address;

/// By the definition alone.
fn plain(seed: &[u8; 32], order: u32, row: u32, column: u32) -> i32 {
    let line = |side: u8, index: u32| -> Vec<i8> {
        (0..order / 32)
            .flat_map(|b| sha256_of(&[seed, &[side], &index.to_le_bytes(), &b.to_le_bytes()]))
            .map(|byte| byte as i8)
            .collect()
    };
    let (a, b) = (line(b'A', row), line(b'B', column));
    a.iter().zip(&b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("hex");
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().expect("length")
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a number")).expect("fits")
}

/// What attest/work wrote.
fn theirs() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../attest/work/testdata/vectors.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn words_are_the_hash() {
    let mut r = Random::new(200);
    for _ in 0..100 {
        let message: [u8; 41] = r.bytes();
        let flat: Vec<u8> = sha256_words(&message).iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(flat, sha256_of(&[&message]));
    }
}

#[test]
fn the_quick_way_is_the_plain_one() {
    let mut r = Random::new(201);
    for _ in 0..2_000 {
        let order = (1 + r.below(128) as u32).min(1 + r.below(16) as u32) * 32;
        let (row, column) = (r.below(u64::from(order)) as u32, r.below(u64::from(order)) as u32);
        let seed = r.bytes();
        assert_eq!(cell(&seed, order, row, column), plain(&seed, order, row, column));
    }
    for order in [32, 2_048, 4_064, 4_096] {
        let seed = r.bytes();
        assert_eq!(cell(&seed, order, order - 1, 0), plain(&seed, order, order - 1, 0));
    }
}

#[test]
fn cells_and_openings_of_the_other_language_are_ours() {
    let all = theirs();
    let cells = all["cells"].as_array().expect("cells");
    assert!(!cells.is_empty());
    for c in cells {
        let got = cell(&array(&c["seed"]), number(&c["n"]), number(&c["row"]), number(&c["col"]));
        assert_eq!(i64::from(got), c["value"].as_i64().expect("a number"));
    }
    let openings = all["openings"].as_array().expect("openings");
    assert!(!openings.is_empty());
    for (o, claim) in openings.iter().zip(all["claims"].as_array().expect("claims")) {
        let raw = bytes(&o["opening"]);
        let word = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().expect("four bytes"));
        let (row, chunk) = (word(0), word(4));
        let siblings: Vec<[u8; 32]> =
            raw[137..].chunks(32).map(|s| s.try_into().expect("32 bytes")).collect();
        assert_eq!(siblings.len(), usize::from(raw[136]));
        for k in 0..WORK_CHUNK {
            let opened = Opened {
                node: Address::default(),
                period: 0,
                seed: array(&o["seed"]),
                order: number(&o["n"]),
                row: row as u16,
                column: (chunk * WORK_CHUNK + k) as u16,
                chunk: raw[8..136].try_into().expect("a chunk"),
                siblings: siblings.clone(),
                root: array(&o["root"]),
            };
            assert_eq!(opened.lead(), Some(opened.root));
            assert_eq!(opened.claimed(), opened.right());
        }
        let parsed = gantry_market::state::WorkClaim::parse(&array(claim)).expect("a work claim");
        assert_eq!((parsed.seed, parsed.root), (array(&o["seed"]), array(&o["root"])));
        assert_eq!(parsed.order, number(&o["n"]));
        assert_eq!(
            (parsed.domain[..2].to_vec(), parsed.node.to_bytes()[..2].to_vec()),
            (vec![1, 2], vec![3, 4])
        );
    }
}

/// For attest/work, which must find the same entry wrong.
#[test]
fn fraud_proofs() {
    let node = Address::new_from_array([3; 32]);
    let places =
        [(32, (31, 0)), (96, (95, 95)), (160, (77, 130)), (4_064, (4_063, 4_063)), (4_096, (17, 4_095))];
    let mut cases = vec![];
    for (at, (order, place)) in places.into_iter().enumerate() {
        let o = Opened::new(node, 500_000 + at as u64, order, place, [1, -1][at % 2]);
        let chunk = u32::from(o.column) / WORK_CHUNK;
        assert_eq!(
            o.siblings.len(),
            path_length(chunk, order / WORK_CHUNK) + path_length(u32::from(o.row), order)
        );
        let mut opening = u32::from(o.row).to_le_bytes().to_vec();
        opening.extend_from_slice(&chunk.to_le_bytes());
        opening.extend_from_slice(&o.chunk);
        opening.push(o.siblings.len() as u8);
        opening.extend(o.siblings.iter().flatten());
        cases.push(json!({
            "claim": hex(&o.work_claim()),
            "opening": hex(&opening),
            "row": o.row,
            "column": o.column,
            "claimed": o.claimed(),
            "right": o.right(),
        }));
    }
    check(
        "bad_work",
        &json!({
            "about": "Commitments with an opened chunk, in the encodings of attest/work; the entry at (row, column) is wrong.",
            "cases": cases,
        }),
    );
}
