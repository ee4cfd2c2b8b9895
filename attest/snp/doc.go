// Package snp parses, verifies and validates AMD SEV-SNP attestation reports, offline.
//
// The three steps are apart: [ParseReport] and [ParseChain] read the bytes strictly, [Verify] follows the signature to
// a pinned AMD root (ARK) and [CheckRevocation] reads a revocation list, [Policy.Validate] judges what the report says.
// [Verifier] runs them in this order and lists each check, done or not done, in its result. The cryptography and the
// report format are those of github.com/google/go-sev-guest; this package adds exact lengths, canonical encoding, the
// names of reasons, and refuses what that library would read wrongly.
//
// Product lines: Milan and Genoa (with Bergamo and Siena, which share Genoa's keys). Turin orders the components of its
// TCB version differently from what the library decodes, so that a minimum would be compared with the wrong numbers: it
// is refused by name.
//
// What a passing result does not say: CHIP_ID identifies the host's processor, not a GPU; a measurement says what was
// launched, not what a later part of an unmeasured disk made of it.
package snp
