// Package demo runs a whole market in about a minute, with real binaries on a local network: compute is bought,
// verified and paid for, a node that claims a GPU which it does not have is slashed, a customer whose node goes offline
// is refunded and compensated, and in the end everything is closed and all money is accounted for.
//
// Every step is checked against the chain, and the run fails with the names of all expectations that did not hold.
// A live terminal gets one screen of chapters; a file, and everything else, gets the text of every step.
package demo
