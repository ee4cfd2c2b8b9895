//! Attacks that a review found on an early commit. Their author wrote these tests from the descriptions, without reading the fixes. An
//! ignored test shows what is still open: docs/findings.md and LIMITATIONS.md say what bounds it.

mod a10_moved;
mod a1_repriced;
mod a2_decoy;
mod a3_blame;
mod a4_ground;
mod a7_hidden_pay;
mod a8_frozen;
mod a9_redundant;
mod b_clocks;
mod b_parts;
mod b_slashes;
mod c_keepers;
mod c_leases;
mod c_nodes;
mod sums;
