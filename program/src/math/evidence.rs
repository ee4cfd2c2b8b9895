//! What evidence is worth at a time, and what stands for a machine's devices.

use crate::constants::MAX_GPUS;
use crate::math::hash::sha256_of;

/// The tier at `now` of evidence that is good until `expiry`, included: afterwards it is no more than a claim.
pub fn standing_tier(tier: u8, expiry: i64, now: i64) -> u8 {
    if now > expiry {
        tier.min(1)
    } else {
        tier
    }
}

/// What an evidence hash says of the bundle's GPUs: its last twelve bytes are the first of the root over their keys, the
/// others are of the bundle's digest.
pub fn key_root(evidence_hash: &[u8; 32]) -> &[u8] {
    evidence_hash.split_at(20).1
}

/// The root of the tree over device identities, hashed as in reports; `None` unless they are ascending, each once, and
/// as many as a node may have.
pub fn device_root(devices: &[[u8; 32]]) -> Option<[u8; 32]> {
    let mut level = [[0u8; 32]; MAX_GPUS as usize];
    let ascending = devices.windows(2).all(|pair| matches!(pair, [one, next] if one < next));
    // Zero names no device.
    if devices.first().is_none_or(|first| *first == [0; 32]) || devices.len() > level.len() || !ascending {
        return None;
    }
    for (slot, device) in level.iter_mut().zip(devices) {
        *slot = sha256_of(&[&[0], device]);
    }
    let mut count = devices.len();
    while count > 1 {
        let below = level;
        for (slot, pair) in level.iter_mut().zip(below.get(..count)?.chunks(2)) {
            *slot = match pair {
                [left, right] => sha256_of(&[&[1], left, right]),
                [alone] => *alone,
                _ => return None,
            };
        }
        count = count.div_ceil(2);
    }
    level.first().copied()
}
