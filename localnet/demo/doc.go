// Package demo tells the market's whole story in under a minute, with real binaries on a local network: compute is
// bought, verified and paid for, a cheat is slashed, a customer that was let down is refunded and compensated, and in
// the end everything is closed and every coin is accounted for.
//
// It believes nothing that it is told: every step is checked against the chain, and the run fails with the names of
// all expectations that did not hold.
package demo
