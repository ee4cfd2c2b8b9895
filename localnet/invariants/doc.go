// Package invariants checks a market's money from outside: the balance that every account states against what is in
// every vault, what events say was moved against where it is now, and what every transaction cost against what wallets
// lost.
//
// It reads the chain only. It trusts neither keepers nor clients, so that a scenario that passes here is right because
// the money is right, not because a program reports it.
package invariants
