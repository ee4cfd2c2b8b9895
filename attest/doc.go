// Package attest is the common ground of Gantry's evidence: what a piece of evidence is, how a verifier reports what it
// checked, and how fresh nonces bind pieces to one challenge and to each other.
//
// Each kind of evidence has a package of its own (nvgpu, tpm, snp, tdx) that keeps three steps apart: parse the
// bytes, verify signatures and chains to pinned roots, validate the content against a policy. Package bundle carries
// evidence in one canonical encoding, package policy turns a bundle into claims and into what goes on chain.
//
// Nothing here opens a network connection: what a check needs from outside (revocation lists, reference measurements)
// comes from a [Collateral] that the caller supplies.
package attest
