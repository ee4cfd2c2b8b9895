//! Merkle proofs of report leaves: `sha256(0x00 ‖ leaf)`, then `sha256(0x01 ‖ left ‖ right)`. A node without a sibling
//! moves up unchanged, so it has no entry in the proof at that level.

use crate::math::hash::sha256_of;

/// The root that a leaf's proof leads to. Bit i of `path` says that the running hash is the right child of the i-th
/// pair.
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

/// The root that node `index` of `count` leads to, with its siblings from the bottom up; `None` when they are too few.
/// `count` fixes the shape of the tree, so the path needs no bits of its own.
pub fn climb<'a>(
    node: [u8; 32],
    index: u32,
    count: u32,
    siblings: &mut impl Iterator<Item = &'a [u8; 32]>,
) -> Option<[u8; 32]> {
    let (mut hash, mut index, mut count) = (node, index, count);
    while count > 1 {
        if index ^ 1 < count {
            let sibling = siblings.next()?;
            hash = if index & 1 == 1 {
                sha256_of(&[&[1], sibling, &hash])
            } else {
                sha256_of(&[&[1], &hash, sibling])
            };
        }
        index >>= 1;
        count = count.div_ceil(2);
    }
    Some(hash)
}
