//! Attacks found from outside on an early commit, played again by hands that know nothing of how they were mended.

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
