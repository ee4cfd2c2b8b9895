// Package simulate measures how often, and how soon, evidence finds out a machine that is not what it claims.
//
// The verification is the real code: bundles judged by a policy, the comparison of devices. What is simulated, and labelled
// so, is hardware: GPU reports and confidential machines come from authorities that the tests make (nvgputest, snptest).
// Nothing here has run on a GPU. How fast GPUs are no bundle says: attest/cmd/gpu-table simulates how that is measured.
//
// A run is determined by its seed but for the keys of the simulated hardware, on which no outcome depends.
package simulate
