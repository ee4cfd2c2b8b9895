// Package txform builds and reads transactions in the two forms that this repository writes.
//
// The legacy form has at most 1,232 bytes. Two instructions of the compute-budget program bound its compute. Every wallet,
// node and reader knows it. Version 1 (SIMD-0385) has at most 4,096 bytes, 64 addresses, 64 instructions and 12 signatures,
// and the bounds of compute stand in its head. A cluster takes it once the gate [Gate] is active.
//
// Package txm decides which of them a transaction has. The bytes are those of solana-go; idl/vectors/transactions_v1.json,
// written with the Rust crates of Agave, keeps the two equal.
package txform
