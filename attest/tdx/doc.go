// Package tdx parses, verifies and validates Intel TDX quotes of version 4, offline.
//
// The steps are separate:
//   - [ParseQuote] reads the bytes strictly.
//   - [Verify] follows the signatures from the quote through the quoting enclave and the PCK certificate to Intel's
//     pinned SGX root.
//   - [Trusted.CheckTCB] and [Trusted.CheckRevocation] compare platform and quoting enclave with Intel's signed
//     collateral.
//   - [Policy.Validate] judges what the trust domain reports about itself.
//
// [Verifier] runs them and lists each check, done or not done.
//
// A chain alone proves that the quote comes from some genuine platform. It does not prove that the platform is patched,
// or that its key is not revoked. Without collateral the checks [CheckTCB], [CheckQE] and [CheckRevoked] are not
// covered. A result is full only if every check is covered.
//
// The cryptography and the formats are those of github.com/google/go-tdx-guest. Its parser slices some fields before it
// checks their lengths. [ParseQuote] checks all lengths first, so the parser cannot read past the end. [ParseQuote]
// also refuses whatever allows two encodings of one quote: bytes after the signature data, certificates in anything but
// canonical PEM, and a root certificate other than the pinned one.
package tdx
