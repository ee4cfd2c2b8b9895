// Package slashing brings on chain what proves itself: wrong bytes of measurements that a node has signed, statements
// or manifests by which a keeper equivocates, and awards to a node that was not the best. No vote is needed, so one
// honest keeper is enough.
//
// A proof is on disk before anything is sent. What is to be done next follows from the proof and the accounts alone, so
// that a keeper that was killed at any moment continues where it stopped: see [Service.Due], which package crank asks.
// Keepers take turns there, and a proof that another keeper has brought is dropped.
package slashing
