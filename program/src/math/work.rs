//! One entry of the seeded matrix product that nodes prove their work with.
//!
//! For a seed and an order n, `C = A·B`, where the entries of A and B are the bytes, read as signed, of `A[i][32b+t] =
//! sha256(seed ‖ 'A' ‖ i ‖ b)[t]` and `B[32b+t][j] = sha256(seed ‖ 'B' ‖ j ‖ b)[t]`, numbers as 32 bits little-endian.
//! The twin in Go is `attest/work`.

use crate::constants::WORK_CHUNK;
use crate::math::hash::sha256_words;

/// seed ‖ side ‖ line ‖ block.
const MESSAGE_LEN: usize = 41;
/// Turns signed bytes into unsigned ones: s + 128.
const FLIP: u64 = 0x8080_8080_8080_8080;
/// Bytes 0 and 4 of a word, in the low halves of two lanes of 32 bits.
const LANES: u64 = 0x0000_00ff_0000_00ff;

fn message(seed: &[u8; 32], side: u8, line: u32) -> [u8; MESSAGE_LEN] {
    let mut out = [0; MESSAGE_LEN];
    let parts = seed.iter().chain(core::iter::once(&side));
    for (target, source) in out.iter_mut().zip(parts) {
        *target = *source;
    }
    for (target, source) in out.iter_mut().skip(33).zip(line.to_le_bytes()) {
        *target = source;
    }
    out
}

/// Low lane and high lane of a word.
fn halves(word: u64) -> (i64, i64) {
    ((word & 0xffff_ffff) as i64, (word >> 32) as i64)
}

/// Entry (`row`, `column`) of the product of order `order`: a multiple of 32, at most 4,096.
///
/// Each multiplication gives two of the n products: with x = x₀ + x₄·2³² and y = y₄ + y₀·2³², the middle of x·y is
/// x₀y₀ + x₄y₄. The bytes are shifted by 128 to be unsigned, so that no lane borrows from another: the lower lane's sum
/// stays below 2,048 × 255² and the upper one's below 4,096 × 255², both below 2³². What the shift added is taken off
/// at the end: Σ(x+128)(y+128) − 128·Σ(x+128) − 128·Σ(y+128) + n·128² = Σxy.
pub fn cell(seed: &[u8; 32], order: u32, row: u32, column: u32) -> i32 {
    let (mut a, mut b) = (message(seed, b'A', row), message(seed, b'B', column));
    let (mut products, mut shifts) = (0u64, 0u64);
    for block in 0..order / WORK_CHUNK {
        // Block numbers are below 128: the lowest of their four bytes is all there is to change.
        if let (Some(x), Some(y)) = (a.get_mut(37), b.get_mut(37)) {
            (*x, *y) = (block as u8, block as u8);
        }
        for (x, y) in sha256_words(&a).into_iter().zip(sha256_words(&b)) {
            let (x, y) = (x ^ FLIP, (y ^ FLIP).swap_bytes());
            let (x0, x1, x2, x3) = (x & LANES, x >> 8 & LANES, x >> 16 & LANES, x >> 24 & LANES);
            let (y3, y2, y1, y0) = (y & LANES, y >> 8 & LANES, y >> 16 & LANES, y >> 24 & LANES);
            products = products
                .wrapping_add(x0.wrapping_mul(y0))
                .wrapping_add(x1.wrapping_mul(y1))
                .wrapping_add(x2.wrapping_mul(y2))
                .wrapping_add(x3.wrapping_mul(y3));
            // At most 8,192 bytes of 255 in all, half of them in each lane.
            shifts = shifts
                .wrapping_add(x0.wrapping_add(x1).wrapping_add(x2).wrapping_add(x3))
                .wrapping_add(y0.wrapping_add(y1).wrapping_add(y2).wrapping_add(y3));
        }
    }
    let (_, sum) = halves(products);
    let (low, high) = halves(shifts);
    let shifted = low.wrapping_add(high).wrapping_mul(128);
    sum.wrapping_sub(shifted).wrapping_add((order as i64).wrapping_mul(128 * 128)) as i32
}
