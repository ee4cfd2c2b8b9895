//! One mix byte of the seeded products that machines are measured by: docs/protocol/measurement.md. The twin in Go is
//! `attest/measure`.

use crate::math::hash::sha256_of;

/// From one word of a row or column to the next, and factors, each extended by its sign so that it is an immediate of one
/// instruction: only the lowest 32 bits of what is computed with them count.
const WORD_STEP: u64 = 0x9E37_79B9_u32 as i32 as i64 as u64;
const WORD_FACTOR: u64 = 0x846C_A68B_u32 as i32 as i64 as u64;
const CELL_FACTOR: u32 = 0x9E37_79B1;
const MIX_START: u32 = 0x85EB_CA6B;
/// Turns signed bytes into unsigned ones: s + 128.
const FLIP: u64 = 0x8080_8080_u32 as i32 as i64 as u64;
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
            start: u32::from_le_bytes([a, b, c, d]) as u64,
            factor: (u32::from_le_bytes([e, f, g, h]) | 1) as u64,
        }
    }

    /// Four entries in the lowest 32 bits; what lies above has no meaning.
    #[inline(always)]
    fn word(&self, step: u64) -> u64 {
        let x = self.start.wrapping_add(step);
        let x = (x ^ ((x as u32) >> 16) as u64).wrapping_mul(self.factor);
        let x = (x ^ ((x as u32) >> 15) as u64).wrapping_mul(WORD_FACTOR);
        x ^ ((x as u32) >> 16) as u64
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
    for _ in 0..words {
        let x = row.word(step);
        let (x0, x1, x2, x3) =
            (x as i8 as i64, (x >> 8) as i8 as i64, (x >> 16) as i8 as i64, (x >> 24) as i8 as i64);
        shift = shift.wrapping_add(x0).wrapping_add(x1).wrapping_add(x2).wrapping_add(x3);
        for (sum, [low, high]) in sums.iter_mut().zip(columns) {
            let y = ((low.word(step) ^ FLIP) as u32) as u64 | (high.word(step) ^ FLIP) << 32;
            *sum = sum
                .wrapping_add((x0 as u64).wrapping_mul(y & LANES))
                .wrapping_add((x1 as u64).wrapping_mul(y >> 8 & LANES))
                .wrapping_add((x2 as u64).wrapping_mul(y >> 16 & LANES))
                .wrapping_add((x3 as u64).wrapping_mul(y >> 24 & LANES));
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
