// Package nvgputest makes SYNTHETIC GPU evidence: reports, certificate chains, reference manifests, revocation lists
// and OCSP responses under roots and keys of its own, for tests and simulations.
//
// Nothing made here verifies against NVIDIA's roots. A verifier accepts it only when it is given [Authority.Roots], and
// its result then has the claim [nvgpu.ClaimSynthetic]. Names in the certificates say SYNTHETIC.
//
// Valid signatures over contents that no real GPU would sign are the point: a negative test must fail for its own
// reason, not for a broken signature. To that end every part can be edited before it is signed.
package nvgputest
