// Package tdx parses, verifies and validates Intel TDX quotes of version 4, offline.
//
// The steps are apart: [ParseQuote] reads the bytes strictly, [Verify] follows the signatures from the quote over the
// quoting enclave and the PCK certificate to Intel's pinned SGX root, [Trusted.CheckTCB] and [Trusted.CheckRevocation]
// compare platform and quoting enclave with Intel's signed collateral, [Policy.Validate] judges what the trust domain
// says of itself. [Verifier] runs them and lists each check, done or not done.
//
// A chain alone says that the quote is of some genuine platform, not that the platform is patched or its key not
// revoked: without collateral the checks [CheckTCB], [CheckQE] and [CheckRevoked] are not covered, and a result is full
// only if nothing is uncovered.
//
// The cryptography and the formats are those of github.com/google/go-tdx-guest, whose parser does not look at all
// lengths before it slices: [ParseQuote] does, and then nothing is left for it to run over. It also refuses what leaves
// room for two encodings of one quote: bytes after the signature data, certificates in anything but canonical PEM, and
// another root certificate than the pinned one.
package tdx
