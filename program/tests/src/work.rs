//! Commitments to matrix products, right and wrong, without the whole product: the tree around one chunk is made up,
//! which nobody can tell from its root.

use gantry_market::constants::{WORK_CHUNK, WORK_TAG};
use gantry_market::math::hash::sha256_of;
use gantry_market::math::merkle::climb;
use gantry_market::math::work::cell;
use solana_address::Address;

use crate::testbed::DOMAIN;

/// A work claim and one opened entry of it.
#[derive(Clone, Debug)]
pub struct Opened {
    pub node: Address,
    pub period: u64,
    pub seed: [u8; 32],
    pub order: u32,
    pub row: u16,
    pub column: u16,
    pub chunk: [u8; 128],
    pub siblings: Vec<[u8; 32]>,
    pub root: [u8; 32],
}

/// How many siblings a node has in a tree of `count` leaves.
pub fn path_length(index: u32, count: u32) -> usize {
    let (mut index, mut count, mut length) = (index, count, 0);
    while count > 1 {
        length += usize::from(index ^ 1 < count);
        index /= 2;
        count = count.div_ceil(2);
    }
    length
}

impl Opened {
    /// A product of this order whose entry at (row, column) is off by `wrong`.
    pub fn new(node: Address, period: u64, order: u32, (row, column): (u16, u16), wrong: i32) -> Self {
        let seed = [0x5a; 32];
        let (r, c) = (u32::from(row), u32::from(column));
        let claimed = cell(&seed, order, r, c).wrapping_add(wrong);
        let mut chunk = [7; 128];
        let at = (c % WORK_CHUNK) as usize * 4;
        chunk[at..at + 4].copy_from_slice(&claimed.to_le_bytes());
        let count = path_length(c / WORK_CHUNK, order / WORK_CHUNK) + path_length(r, order);
        let siblings: Vec<[u8; 32]> = (0..count).map(|i| [i as u8 + 1; 32]).collect();
        let mut out = Self { node, period, seed, order, row, column, chunk, siblings, root: [0; 32] };
        out.root = out.lead().expect("the path has the right length");
        out
    }

    /// Where the opening leads.
    pub fn lead(&self) -> Option<[u8; 32]> {
        let mut rest = self.siblings.iter();
        let leaf = sha256_of(&[&[0], &self.chunk]);
        let (row, column) = (u32::from(self.row), u32::from(self.column));
        let root = climb(leaf, column / WORK_CHUNK, self.order / WORK_CHUNK, &mut rest)?;
        let root = climb(root, row, self.order, &mut rest)?;
        rest.next().is_none().then_some(root)
    }

    /// What the node signs.
    pub fn work_claim(&self) -> [u8; 128] {
        let mut out = [0; 128];
        out[..8].copy_from_slice(&WORK_TAG);
        out[8..16].copy_from_slice(&DOMAIN);
        out[16..48].copy_from_slice(self.node.as_ref());
        out[48..56].copy_from_slice(&self.period.to_le_bytes());
        out[56..88].copy_from_slice(&self.seed);
        out[88..92].copy_from_slice(&self.order.to_le_bytes());
        out[96..].copy_from_slice(&self.root);
        out
    }

    /// The entry that is shown to be wrong.
    pub fn claimed(&self) -> i32 {
        let at = (u32::from(self.column) % WORK_CHUNK) as usize * 4;
        i32::from_le_bytes(self.chunk[at..at + 4].try_into().expect("four bytes"))
    }

    pub fn right(&self) -> i32 {
        cell(&self.seed, self.order, u32::from(self.row), u32::from(self.column))
    }
}
