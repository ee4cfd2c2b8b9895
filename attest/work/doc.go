// Package work is Gantry's proof of computation: a seeded int8 × int8 → int32 matrix product whose Merkle root a node
// signs, and that anyone checks far more cheaply than it was made.
//
// # Statement
//
// For a 32-byte seed and an order n (a multiple of 32, at most 4096), C = A·B, where the entries of A and B are the
// bytes, read as int8, of
//
//	A[i][32b+t] = sha256(seed ‖ 'A' ‖ i u32le ‖ b u32le)[t]
//	B[32b+t][j] = sha256(seed ‖ 'B' ‖ j u32le ‖ b u32le)[t]     0 ≤ t < 32
//
// So a row of A and a column of B cost n/32 hashes each.
//
// # Work claim
//
// Every row of C is cut in chunks of 32 entries (i32le, 128 bytes). A chunk is a leaf, sha256(0x00 ‖ chunk); inner
// nodes are sha256(0x01 ‖ left ‖ right); a last node without a partner moves up unchanged. The roots of the n row trees
// are the bottom of a second tree of the same rule, whose top is the root. The position of an entry is fixed by its
// path because n fixes the shape of both trees. [Claim] binds domain, node, period, seed, n and root in 128 bytes that
// the node signs; without it there is no fraud proof.
//
// # Soundness
//
// The verifier that holds all of C ([Verifier.VerifyBody]) accepts a product with one or more wrong entries with
// probability at most 2⁻⁶⁰:
//
//   - each entry is first bounded by n·2¹⁴ ≤ 2²⁶, so that C − A·B, which is at
//     most 2²⁷ in absolute value, vanishes modulo p = 2⁶¹−1 only if it vanishes;
//     without this bound an entry plus p would pass (and modulo 2³¹−1 it does);
//   - then A·(B·x) = C·x is checked modulo p, row by row, for one vector x
//     (Freivalds, 1977). For a wrong row and x uniform over the field this
//     holds for exactly one value in p. x comes from SHA-256 over the root and
//     over 32 bytes that only the verifier knows, and p itself is folded to 0,
//     which adds at most 2⁻⁶¹;
//   - the Merkle root is recomputed from the received entries.
//
// Without the verifier's own bytes (all zero: anyone can replay the check) a prover may try many wrong products off
// line; 2⁶⁰ tries of n³ work are needed on average, which costs more than any product is worth.
//
// The opened mode ([VerifyChunk], [VerifyRow]) sees samples only. If a fraction f of the chunks (or rows) is wrong and
// k of them, drawn after the claim, are opened, a cheat stays unseen with probability at most (1−f)^k: see
// [MissProbability]. Sixteen opened rows miss a 10 % cheat 18.5 % of the time, so this mode is a sample and must not be
// called a full check.
//
// # What it does not prove
//
// The time between challenge and claim bounds throughput from below. It does not tell which machine did the work: it
// can be relayed. Binding it to a device is the job of the evidence packages.
package work
