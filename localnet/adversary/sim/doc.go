// Package sim runs a whole market in virtual time on one processor. It has tens of keepers with the real keeper code,
// thousands of machines, and customers with leases. The chain follows the program's rules. The network has delays, loss
// and partitions, and some keepers are dishonest. The result is a function of the options alone, seed included, so
// every failure can be repeated.
//
// These packages are the real code:
//   - check decides what to ask and when, judges, and makes statements;
//   - statement is the pool;
//   - report makes leaves and proposals, and checks them;
//   - consensus decides which keeper proposes, and votes;
//   - crank decides what to send, award decides which node gets an order.
//
// keeper.go replaces the keeper's process around this code, its connections and its transaction manager. The chain is
// the model in package chain. Machines answer with the agent's messages, and report what a measurement of them would
// find.
//
// The simulation knows the truth: when each machine was there and what it is. Whatever the chain paid or took counts as
// unjust when the truth does not support it, beyond what checks at intervals cannot see.
package sim
