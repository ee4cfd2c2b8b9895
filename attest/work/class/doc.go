// Package class knows the GPU models that a market names, with the figures of the maker's data sheets, and derives from
// them what a work proof and a memory sweep may take.
//
// # Model
//
// One round of order n ([series]) is a product of 2n³ int8 operations and [Hashes] compressions of SHA-256, which
// derive the factors and build the Merkle trees. A class with P dense int8 operations and I 32-bit integer operations a
// second needs at least
//
//	ideal(n) = 2n³/P + hashes(n)·1800/I
//
// where 1800 is about what one compression costs in 32-bit operations. The bound allows 1/[Efficiency] of it, [Launch]
// for each round, and a network allowance:
//
//	bound = rounds·(ideal(n)/Efficiency + Launch) + network
//
// # Margins
//
// Efficiency is 0.4. Library products of order 4096 commonly reach 60 to 75 % of a data sheet's dense int8 figure at
// the clocks that sustained load allows; the rest is for slower clocks, hot machines and drivers. What follows from it
// is stated by [Class.Separates]: a machine passes as a class if its own ideal time is within the bound, so a false
// class is found by time alone only where the two differ by more than about 2.5 times. Classes closer than that need a
// device report.
//
// None of these figures has been measured on hardware by this project.
package class
