// Package invariants checks a market's money from outside. It compares:
//   - the balance that every account states with what is in every vault;
//   - the movements in events with where the money is now;
//   - the cost of every transaction with what wallets lost.
//
// It reads the chain only, and trusts neither keepers nor clients. A scenario passes here because the money is right,
// not because a program reports it.
package invariants
