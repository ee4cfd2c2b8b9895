// Package soak runs a market for a long time with steady orders and looks for what only time shows: memory that grows,
// work that is done too late, periods without a report, unexplained log lines, violated invariants.
//
// Keepers, agents and customers are the real binaries on a real or embedded Solana node; GPUs are simulated.
package soak
