//! One mix byte of the seeded products that machines are measured by: docs/protocol/measurement.md. The twin in Go is
//! `attest/measure`.

use crate::math::hash::sha256_of;

/// Words are computed in the upper halves of registers, where the machine, which has no instructions of 32 bits, drops by
/// itself what lies above; the lower halves are zero until a word is done. From one word of a row or column to the next:
const WORD_STEP: u64 = 0x9E37_79B9 << 32;
const WORD_FACTOR: u64 = 0x846C_A68B << 32;
const CELL_FACTOR: u32 = 0x9E37_79B1;
const MIX_START: u32 = 0x85EB_CA6B;
/// Turns signed bytes into unsigned ones: s + 128. The lower two of each word get it from the upper two by a word's last step.
const FLIP: u64 = 0x8080_0000_8080_0000;
/// Bytes 0 and 4 of a word, in the low halves of two lanes of 32 bits.
const LANES: u64 = 0x0000_00ff_0000_00ff;

/// What hashes of one kind begin with.
pub fn tag(name: &[u8]) -> [u8; 32] {
    sha256_of(&[b"gantry/measure/1/", name])
}

/// What a row of A or a column of B is expanded from.
#[derive(Clone, Copy)]
struct Key {
    start: u64,
    factor: u64,
}

impl Key {
    fn of(tag: &[u8; 32], seed: &[u8; 32], index: u32) -> Self {
        let hash = sha256_of(&[tag, seed, &index.to_le_bytes()]);
        let [a, b, c, d, e, f, g, h, ..] = hash;
        Self {
            start: (u32::from_le_bytes([a, b, c, d]) as u64) << 32,
            factor: ((u32::from_le_bytes([e, f, g, h]) | 1) as u64) << 32,
        }
    }

    /// Four entries in the upper half, but for the last step: `x ^ x >> 16`.
    #[inline(always)]
    fn word(&self, step: u64) -> u64 {
        let x = self.start.wrapping_add(step);
        let x = (x >> 32 ^ x >> 48).wrapping_mul(self.factor);
        (x >> 32 ^ x >> 47).wrapping_mul(WORD_FACTOR)
    }
}

/// The entries of one row and `2 × PAIRS` columns, of `words` words each.
///
/// A multiplication gives a product of each of two columns: x·(y + z·2³²), of which the sums stay apart. Bytes of columns
/// are shifted by 128 to be unsigned, so that they lie in lanes; what that added, 128·Σx, is taken off at the end. A sum is
/// at most 16,384 × 128 × 255, below 2³¹: the lower one is read with its sign, and the upper one is what remains.
#[inline(never)]
fn entries<const PAIRS: usize>(row: Key, columns: &[[Key; 2]; PAIRS], words: u32) -> [[u32; 2]; PAIRS] {
    let (mut sums, mut shift, mut step) = ([0u64; PAIRS], 0i64, 0u64);
    let end = WORD_STEP.wrapping_mul(words as u64);
    while step != end {
        let x = row.word(step);
        let x = (x ^ x >> 16) as i64;
        let (x0, x1, x2, x3) = (x << 24 >> 56, x << 16 >> 56, x << 8 >> 56, x >> 56);
        shift = shift.wrapping_add(x0).wrapping_add(x1).wrapping_add(x2).wrapping_add(x3);
        for (sum, [low, high]) in sums.iter_mut().zip(columns) {
            let y = (high.word(step) | low.word(step) >> 32) ^ FLIP;
            let upper = y >> 16; // bytes 2 and 3 of each lane, which the last step leaves as they are
            let lower = y ^ upper;
            *sum = sum
                .wrapping_add((x0 as u64).wrapping_mul(lower & LANES))
                .wrapping_add((x1 as u64).wrapping_mul(lower >> 8 & LANES))
                .wrapping_add((x2 as u64).wrapping_mul(upper & LANES))
                .wrapping_add((x3 as u64).wrapping_mul(upper >> 8 & LANES));
        }
        step = step.wrapping_add(WORD_STEP);
    }
    let shifted = shift.wrapping_mul(128);
    sums.map(|sum| {
        let low = sum as i32 as i64;
        let high = (sum as i64).wrapping_sub(low) >> 32;
        [low.wrapping_sub(shifted) as u32, high.wrapping_sub(shifted) as u32]
    })
}

fn mixed(pairs: &[[u32; 2]]) -> u8 {
    let hash = pairs.iter().flatten().fold(MIX_START, |hash, entry| {
        let hash = (hash ^ entry).wrapping_mul(CELL_FACTOR);
        hash ^ hash >> 15
    });
    (hash >> 24) as u8
}

/// The mix byte of the `fold` columns, 2 or 4, from `column` on in a row of a product of order `order`.
pub fn mix(
    order: u32,
    fold: u8,
    (row_seed, row): (&[u8; 32], u32),
    (column_seed, column): (&[u8; 32], u32),
) -> u8 {
    let (tag, words) = (tag(b"row"), order / 4);
    let row = Key::of(&tag, row_seed, row);
    let pair = |at: u32| {
        let key = |offset| Key::of(&tag, column_seed, column.wrapping_add(at).wrapping_add(offset));
        [key(0), key(1)]
    };
    if fold == 2 {
        mixed(&entries(row, &[pair(0)], words))
    } else {
        mixed(&entries(row, &[pair(0), pair(2)], words))
    }
}
