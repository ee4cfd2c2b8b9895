// Package slashing brings on chain what proves itself: products that a node has signed and that are wrong, statements or
// manifests with which a keeper contradicts itself, and awards to a node that was not the best. No vote is needed, so one honest keeper
// is enough.
//
// A proof is on disk before anything is sent. What is to be done next follows from the proof and the accounts alone, so
// that a keeper that was killed at any moment goes on where it was: see [Service.Due], which package crank asks. Keepers take
// turns there, and a proof that somebody else has brought is dropped.
package slashing
