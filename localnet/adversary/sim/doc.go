// Package sim runs a whole market in virtual time on one processor: tens of keepers with the real keeper code,
// thousands of machines, customers with leases, a chain that follows the program's rules, and a network with delays,
// loss and partitions, and dishonest keepers. What happens is a function of the options alone, seed included, so that
// every failure can be played again.
//
// The real code is package check (what to ask and when, judging, statements), statement (the pool), report (leaves,
// proposals and their checks), consensus (who proposes, votes), crank and award (what to send, whom to award). The
// keeper's process around it, its connections and its transaction manager are stood in for by keeper.go; the chain is
// the model in package chain; machines answer with the agent's messages, and say what a
// measurement of them would find.
//
// The simulation knows the truth: when each machine was there and what it is. Whatever the chain paid or took counts as
// unjust when the truth does not support it, beyond what checks at intervals cannot see.
package sim
