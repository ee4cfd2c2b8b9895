// Package snp parses, verifies and validates AMD SEV-SNP attestation reports, offline.
//
// The steps are separate:
//   - [ParseReport] and [ParseChain] read the bytes strictly.
//   - [Verify] follows the signature to a pinned AMD root (ARK), and [CheckRevocation] reads a revocation list.
//   - [Policy.Validate] judges the content of the report.
//
// [Verifier] runs them in this order and lists each check, done or not done, in its result. The cryptography and the
// report format are those of github.com/google/go-sev-guest. This package adds exact lengths, canonical encoding and
// the names of reasons. It refuses reports that the library would read wrongly.
//
// Product lines: Milan and Genoa (with Bergamo and Siena, which share Genoa's keys). Turin orders the components of its
// TCB version differently from what the library decodes. A minimum would be compared with the wrong numbers, so this
// package refuses Turin by name.
//
// A passing result does not prove everything. CHIP_ID identifies the host's processor, not a GPU. A measurement shows
// what was launched, not what code from an unmeasured disk did to it later.
package snp
