// Package simulate measures how often, and how soon, evidence exposes a machine that is not what it claims.
//
// The verification is the real code: a policy judges bundles, and devices are compared. The hardware is simulated, and
// labelled so: GPU reports and confidential machines come from authorities that the tests make (nvgputest, snptest).
// Nothing here has run on a GPU. A bundle does not show how fast GPUs are; attest/cmd/gpu-table simulates how that is
// measured.
//
// The seed determines a run, except for the keys of the simulated hardware. No outcome depends on these keys.
package simulate
