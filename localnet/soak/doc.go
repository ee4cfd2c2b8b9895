// Package soak runs a market for a long time with steady orders and looks for what only time shows: memory that grows,
// work that is done too late, periods without a report, log lines that nobody can explain, sums that do not add up.
//
// Keepers, agents and customers are the real binaries on a real or embedded Solana node; GPUs are simulated.
package soak
