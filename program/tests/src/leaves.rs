//! Report leaves, the trees they stand in, and the statements that speak against them.

use gantry_market::constants::{MANIFEST_LEN, MANIFEST_TAG, RECEIPT_TAG, STATEMENT_TAG};
use gantry_market::math::evidence::device_root;
use gantry_market::math::hash::sha256_of;
use solana_address::Address;

use crate::testbed::DOMAIN;

/// What a leaf says, in the order of its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeafData {
    pub node: Address,
    pub period: u64,
    pub checks_passed: u16,
    pub checks_total: u16,
    pub tier: u8,
    pub flags: u16,
    pub operations: u32,
    pub up_secs: u32,
    /// Zero when the leaf is the node's alone.
    pub lease: Address,
    pub verified_secs: u32,
    pub downtime_secs: u32,
    pub device_root: [u8; 32],
    pub evidence_hash: [u8; 32],
    pub bandwidth: u32,
    pub down_mbps: u32,
    pub up_mbps: u32,
}

impl LeafData {
    pub fn lease(&self) -> Option<Address> {
        (self.lease != Address::default()).then_some(self.lease)
    }

    pub fn bytes(&self) -> [u8; 176] {
        let mut out = [0; 176];
        out[..32].copy_from_slice(self.node.as_ref());
        out[32..40].copy_from_slice(&self.period.to_le_bytes());
        out[40..42].copy_from_slice(&self.checks_passed.to_le_bytes());
        out[42..44].copy_from_slice(&self.checks_total.to_le_bytes());
        out[44] = self.tier;
        out[46..48].copy_from_slice(&self.flags.to_le_bytes());
        out[48..52].copy_from_slice(&self.operations.to_le_bytes());
        out[52..56].copy_from_slice(&self.up_secs.to_le_bytes());
        out[56..88].copy_from_slice(self.lease.as_ref());
        out[88..92].copy_from_slice(&self.verified_secs.to_le_bytes());
        out[92..96].copy_from_slice(&self.downtime_secs.to_le_bytes());
        out[96..128].copy_from_slice(&self.device_root);
        out[128..160].copy_from_slice(&self.evidence_hash);
        out[160..164].copy_from_slice(&self.bandwidth.to_le_bytes());
        out[164..168].copy_from_slice(&self.down_mbps.to_le_bytes());
        out[168..172].copy_from_slice(&self.up_mbps.to_le_bytes());
        out
    }
}

/// The evidence hash of a bundle with this digest, in which GPUs have these keys.
pub fn evidence_hash(digest: [u8; 32], keys: &[[u8; 32]]) -> [u8; 32] {
    let mut hash = digest;
    hash[20..].copy_from_slice(&device_root(keys).expect("ascending")[..12]);
    hash
}

/// A leaf and the way from it to the root.
#[derive(Clone, Debug)]
pub struct Proof {
    pub leaf: LeafData,
    pub path: u32,
    pub siblings: Vec<[u8; 32]>,
}

/// The root of a tree and a proof for each leaf, in the order given. A node without a sibling moves up unchanged.
pub fn tree(leaves: &[LeafData]) -> ([u8; 32], Vec<Proof>) {
    let records: Vec<[u8; 176]> = leaves.iter().map(LeafData::bytes).collect();
    let records: Vec<&[u8]> = records.iter().map(|record| record.as_slice()).collect();
    let (root, ways) = merkle(&records);
    let proofs = leaves
        .iter()
        .zip(ways)
        .map(|(leaf, (path, siblings))| Proof { leaf: *leaf, path, siblings })
        .collect();
    (root, proofs)
}

/// The path bits and siblings of one leaf.
pub type Way = (u32, Vec<[u8; 32]>);

/// The root over any records, and the way of each.
pub fn merkle(records: &[&[u8]]) -> ([u8; 32], Vec<Way>) {
    assert!(!records.is_empty(), "a tree has leaves");
    let mut level: Vec<[u8; 32]> = records.iter().map(|r| sha256_of(&[&[0], r])).collect();
    let mut places: Vec<usize> = (0..records.len()).collect();
    let mut ways: Vec<Way> = vec![(0, vec![]); records.len()];
    while level.len() > 1 {
        for (place, (path, siblings)) in places.iter_mut().zip(&mut ways) {
            if let Some(sibling) = level.get(*place ^ 1) {
                *path |= ((*place & 1) as u32) << siblings.len();
                siblings.push(*sibling);
            }
            *place /= 2;
        }
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => sha256_of(&[&[1], left, right]),
                alone => alone[0],
            })
            .collect();
    }
    (level[0], ways)
}

/// A keeper's statement about one check, as far as an appeal reads it.
pub fn statement(node: &Address, period: u64, kind: u8, passed: bool) -> [u8; 144] {
    let mut out = [0; 144];
    out[..8].copy_from_slice(&STATEMENT_TAG);
    out[8..16].copy_from_slice(&DOMAIN);
    out[16..48].copy_from_slice(node.as_ref());
    out[48..56].copy_from_slice(&period.to_le_bytes());
    out[56] = kind;
    out[57] = u8::from(passed);
    out
}

/// A statement of a check that measured something.
pub fn measured(node: &Address, period: u64, kind: u8, (first, second): (u32, u32)) -> [u8; 144] {
    let mut out = statement(node, period, kind, true);
    out[60..64].copy_from_slice(&first.to_le_bytes());
    out[64..68].copy_from_slice(&second.to_le_bytes());
    out
}

/// A keeper's manifest of a period: `count` statements in a set of which nothing is known but its digest.
pub fn manifest(period: u64, count: u32, digest: [u8; 32]) -> [u8; MANIFEST_LEN] {
    let mut out = [0; MANIFEST_LEN];
    out[..8].copy_from_slice(&MANIFEST_TAG);
    out[8..16].copy_from_slice(&DOMAIN);
    out[16..24].copy_from_slice(&period.to_le_bytes());
    out[24..28].copy_from_slice(&count.to_le_bytes());
    out[28..32].copy_from_slice(&(33 * count).to_le_bytes());
    out[32..].copy_from_slice(&digest);
    out
}

/// A receipt written by hand: the layout that node, customer and program must agree on.
pub fn receipt(domain: &[u8; 8], lease: &Address, started_at: i64, sequence: u64, seconds: u64) -> [u8; 72] {
    let mut out = [0; 72];
    out[..8].copy_from_slice(&RECEIPT_TAG);
    out[8..16].copy_from_slice(domain);
    out[16..48].copy_from_slice(lease.as_ref());
    out[48..56].copy_from_slice(&started_at.to_le_bytes());
    out[56..64].copy_from_slice(&sequence.to_le_bytes());
    out[64..72].copy_from_slice(&seconds.to_le_bytes());
    out
}
