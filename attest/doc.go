// Package attest has what all kinds of Gantry's evidence share: what a piece of evidence is, how a verifier reports its
// checks, and how fresh nonces bind pieces to one challenge and to each other.
//
// Each kind of evidence has a package of its own (nvgpu, tpm, snp, tdx) that keeps three steps apart. It parses the
// bytes, verifies signatures and chains to pinned roots, and validates the content against a policy. Package bundle
// carries evidence in one canonical encoding. Package policy turns a bundle into claims, and into the data that is
// stored on chain.
//
// This package opens no network connection. A check may need data from outside, such as revocation lists or reference
// measurements. That data comes from a [Collateral] that the caller supplies.
package attest
