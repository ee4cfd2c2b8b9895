// Package audit rebuilds what happened to a lease, or to a slash, from the chain's history alone: transactions, the
// market's events in them, and the instructions that caused them. It recomputes every amount and verifies every
// signature and proof again, also after the accounts are closed. It needs no key and trusts no keeper.
package audit
