//! Commitments of measured machines, right and wrong in one byte, without the whole run: the trees around one leaf are made
//! up, which nobody can tell from their roots.

use gantry_market::constants::MEASURE_LEAF_LEN;
use gantry_market::instructions::slashing::CellPlace;
use gantry_market::math::hash::sha256_of;
use gantry_market::math::measure::{mix, tag};
use gantry_market::math::merkle::climb;
use gantry_market::state::{InstantBlock, MeasureProfile};
use solana_address::Address;
use solana_keypair::Keypair;

use crate::testbed::DOMAIN;
use crate::{ix, Actor, Testbed};

/// What processors are asked for: the smallest order.
pub const PROCESSORS: MeasureProfile = MeasureProfile {
    order: 1_024,
    rows: 1_024,
    chain_ms: 1_000,
    resident: 16,
    walk_ms: 500,
    lanes: 16,
    fold: 4,
    pad: [0; 3],
};

/// What an H100 is asked for: the most columns.
pub const H100_SXM: MeasureProfile = MeasureProfile {
    order: 8_192,
    rows: 1 << 18,
    chain_ms: 15_000,
    resident: 34,
    walk_ms: 1_500,
    lanes: 1 << 17,
    fold: 4,
    pad: [0; 3],
};

/// What a B200 is asked for: the largest order.
pub const B200: MeasureProfile = MeasureProfile { order: 16_384, fold: 2, resident: 17, ..H100_SXM };

/// Siblings of the leaf's path that go with the leaf: more do not fit its transaction.
pub const FIRST_SIBLINGS: usize = 20;

/// A byte of a measurement, and the signed trees that it lies in.
#[derive(Clone, Debug)]
pub struct Measured {
    pub domain: [u8; 8],
    pub node: Address,
    pub period: u64,
    pub instant: [u8; 32],
    pub profile: MeasureProfile,
    pub gpu: u8,
    pub rounds: u32,
    pub round: u32,
    pub before: [u8; 32],
    pub at: u32,
    pub group: u8,
    pub leaf: [u8; MEASURE_LEAF_LEN],
    pub path: Vec<[u8; 32]>,
    pub round_path: Vec<[u8; 32]>,
    /// Hashes of the other GPUs' entries.
    pub others: Vec<[u8; 32]>,
}

impl Testbed {
    /// Stores what a proof of this byte needs, which the node's key has signed.
    pub fn accuse(&mut self, finder: &Actor, key: &Keypair, measured: &Measured) {
        let both = ix::signed_fraud_proof_commitment(&finder.wallet(), key, measured);
        self.ok_all(&both, &[&finder.key]);
        self.ok(ix::fraud_proof_leaf(&finder.wallet(), measured), &[&finder.key]);
    }
}

fn siblings(count: u32, first: u8) -> Vec<[u8; 32]> {
    (0..count.next_power_of_two().trailing_zeros())
        .map(|level| [first.wrapping_add(level as u8); 32])
        .collect()
}

impl Measured {
    /// Byte `group` of leaf `at` of the last of three rounds, which is off by `wrong`.
    pub fn new(
        node: Address,
        period: u64,
        profile: MeasureProfile,
        (at, group): (u32, u8),
        wrong: u8,
    ) -> Self {
        let leaves = profile.leaves().expect("a profile");
        let mut out = Self {
            domain: DOMAIN,
            node,
            period,
            instant: [0; 32],
            profile,
            gpu: 1,
            rounds: 3,
            round: 2,
            before: [5; 32],
            at,
            group,
            leaf: [7; MEASURE_LEAF_LEN],
            path: siblings(leaves, 1),
            round_path: siblings(3, 101),
            others: vec![[9; 32]],
        };
        out.instant = out.block().instant(&DOMAIN);
        out.leaf[usize::from(group)] = out.right() ^ wrong;
        out
    }

    /// One of the last of the most rounds that there may be.
    pub fn last(mut self) -> Self {
        (self.rounds, self.round) = (4_096, 4_095);
        self.round_path = siblings(4_096, 101);
        let wrong = self.claimed() ^ Self { rounds: 3, round: 2, ..self.clone() }.right();
        self.leaf[usize::from(self.group)] = self.right() ^ wrong;
        self
    }

    pub fn block(&self) -> InstantBlock {
        InstantBlock { period: self.period, tick: 3, slot: 77, hash: [8; 32] }
    }

    pub fn nonce(&self) -> [u8; 32] {
        let parts: [&[u8]; 6] = [
            &tag(b"nonce"),
            &self.domain,
            &self.instant,
            self.node.as_ref(),
            &[self.gpu],
            &self.profile.hash(),
        ];
        sha256_of(&parts)
    }

    /// The byte as it should be.
    pub fn right(&self) -> u8 {
        self.right_at(self.group)
    }

    pub fn right_at(&self, group: u8) -> u8 {
        let (row_seed, column_seed) = self.seeds();
        let of_row = self.profile.order / (256 * u32::from(self.profile.fold));
        let column = (self.at % of_row * 256 + u32::from(group)) * u32::from(self.profile.fold);
        let row = (&row_seed, self.at / of_row);
        mix(self.profile.order, self.profile.fold, row, (&column_seed, column))
    }

    /// Of the round's rows and of the period's columns.
    pub fn seeds(&self) -> ([u8; 32], [u8; 32]) {
        let rows = sha256_of(&[&tag(b"round"), &self.nonce(), &self.round.to_le_bytes(), &self.before]);
        let order = self.profile.order.to_le_bytes();
        (rows, sha256_of(&[&tag(b"b"), &self.domain, &self.instant, &order]))
    }

    pub fn claimed(&self) -> u8 {
        self.leaf[usize::from(self.group)]
    }

    pub fn rounds_root(&self) -> [u8; 32] {
        let leaf = sha256_of(&[&[0], &self.leaf]);
        let leaves = self.profile.leaves().expect("a profile");
        let root = climb(leaf, self.at, leaves, &mut self.path.iter()).expect("a path");
        let round = sha256_of(&[&[2], &self.round.to_le_bytes(), &self.before, &root]);
        let padded = self.rounds.next_power_of_two();
        climb(round, self.round, padded, &mut self.round_path.iter()).expect("a path")
    }

    pub fn entry(&self) -> [u8; 145] {
        let mut out = [0x77; 145];
        out[0] = self.gpu;
        out[1..33].copy_from_slice(&self.profile.hash());
        out[33..37].copy_from_slice(&self.rounds.to_le_bytes());
        out[69..101].copy_from_slice(&self.rounds_root());
        out
    }

    /// What the node signs.
    pub fn commitment(&self) -> Vec<u8> {
        let mut out = tag(b"commitment").to_vec();
        out.extend_from_slice(&self.domain);
        out.extend_from_slice(&self.instant);
        out.extend_from_slice(self.node.as_ref());
        out.push(1 + self.others.len() as u8);
        out.extend(self.others.iter().flatten());
        out.extend_from_slice(&sha256_of(&[&tag(b"gpu"), &self.entry()]));
        out
    }

    pub fn place(&self) -> CellPlace {
        CellPlace { round: self.round, before: self.before, leaf: self.at, group: self.group }
    }

    /// The siblings that go with the leaf, and those that the proof brings.
    pub fn siblings(&self) -> (Vec<[u8; 32]>, Vec<[u8; 32]>) {
        let (first, rest) = self.path.split_at(self.path.len().min(FIRST_SIBLINGS));
        (first.to_vec(), [rest, &self.round_path].concat())
    }
}
