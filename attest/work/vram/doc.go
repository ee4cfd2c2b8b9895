// Package vram tests that a machine really holds as much GPU memory as it claims, by contents that cost more to
// recompute than to keep.
//
// # Contents
//
// Memory is divided in blocks of 64 KiB, 2048 labels of 32 bytes. With H = BLAKE2s-256 (RFC 7693) over exactly 64
// bytes, block i of a 32-byte seed is
//
//	pass 0:  h = H(seed ‖ "gantryVF" ‖ i u64le ‖ 16 zero bytes), M[0] = h
//	         M[j] = h = H(h ‖ M[a] ⊕ M[b]),          a = ⌊w₀·j/2³²⌋, b = ⌊w₁·j/2³²⌋,       0 < j < 2048
//	pass p:  M[j] = h = H(h ‖ M[a] ⊕ M[b] ⊕ M[j]),   a = ⌊w₀·2048/2³²⌋, b = ⌊w₁·2048/2³²⌋, 0 ≤ j < 2048
//
// where w₀ and w₁ are the first two words (u32le) of the h of the step before. Each pass overwrites the last one's
// labels and depends on them in an order that is not known beforehand, so a block that is not kept costs all
// passes·2048 evaluations, one after the other, and no smaller intermediate state leads to it: the state between two
// passes is as large as the block.
//
// # Sweep
//
// The verifier sends a fresh nonce and starts its clock. The machine answers with the Merkle root over one digest of
// every block,
//
//	D[i] = BLAKE2s-256(nonce ‖ "gantryVS" ‖ i u64le ‖ 16 zero bytes ‖ block i),
//
// which reads all of the memory. The clock stops when the signed root is there. Only then does the verifier draw k
// blocks with bytes of its own, receives their digests with their paths, and computes these k blocks itself.
//
// # Soundness
//
// Every D[i] has one right value that was fixed by nonce and seed, and the sample is drawn after the root with the
// verifier's secret, so there is nothing to try again. Who holds a fraction 1−f of the blocks and can recompute a
// fraction g of all blocks within the bound passes with probability at most (1−(f−g))^k plus the chance of a hash
// collision: [MissProbability] with f−g. g is at most (rate of recomputing · bound)/size ([Refill]): with 128 passes
// each 32 bytes cost 128 evaluations of a 10-round compression of about 700 32-bit operations, so the fill runs two
// orders of magnitude slower than the memory is read.
//
// The argument that a block has no cheaper way than recomputing it whole assumes BLAKE2s behaves like a random function
// and rests on the known limits of time-memory trade-offs for multi-pass, data-dependent labellings (as in scrypt and
// Argon2d); it is an argument, not a proof. [Partial] is the best cheat known to the authors and is simulated.
//
// # What it does not prove
//
// Latency does not tell video memory from host memory; bandwidth does, as far as it goes. Reading host memory over PCI
// Express is bounded by the link (32 GB/s for generation 4 x16, 64 GB/s for generation 5, raw), so a sweep of 80 GB
// takes 1.2 s or more over it and 0.1 s in HBM. A server processor with as much memory and several hundred GB/s can
// answer a sweep by itself. It shows then that the machine holds that much fast memory, not that a GPU does: that takes
// a device report. Nor does a sweep exclude another machine that answers.
package vram
