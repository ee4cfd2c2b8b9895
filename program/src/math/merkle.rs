//! Merkle proofs of report leaves: `sha256(0x00 ‖ leaf)`, then `sha256(0x01 ‖ left ‖ right)`. A node without a
//! sibling moves up unchanged, so it has no entry in the proof at that level.

use crate::math::hash::sha256_of;

/// The root that a leaf's proof leads to. Bit i of `path` says that the running hash is the right child of the
/// i-th pair.
pub fn root_of(leaf: &[u8], path: u32, proof: &[[u8; 32]]) -> [u8; 32] {
    let mut hash = sha256_of(&[&[0], leaf]);
    let mut path = path;
    for sibling in proof {
        hash = if path & 1 == 1 {
            sha256_of(&[&[1], sibling, &hash])
        } else {
            sha256_of(&[&[1], &hash, sibling])
        };
        path >>= 1;
    }
    hash
}
