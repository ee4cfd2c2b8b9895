// Package demo runs a whole market in about a minute, with real binaries on a local network:
//   - Compute is bought, verified and paid for.
//   - A node that claims a GPU which it does not have is slashed.
//   - A customer whose node goes offline is refunded and compensated.
//   - At the end everything is closed and all money is accounted for.
//
// Every step is checked against the chain. The run fails with a list of all expectations that did not hold. A live
// terminal shows one screen of chapters; a file, and any other output, gets the text of every step.
package demo
