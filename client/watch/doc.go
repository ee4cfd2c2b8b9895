// Package watch follows all accounts of a program: a snapshot, then a subscription, with every gap repaired by another
// snapshot whose differences are emitted. A consumer sees each state once, in an account's order, and never misses the
// latest one, whatever happens to the node or the connection.
//
// A node's programSubscribe says nothing when an account is closed, because a closed account no longer belongs to the
// program. The watcher therefore also listens to the program's transactions and reads the accounts that they wrote.
package watch
