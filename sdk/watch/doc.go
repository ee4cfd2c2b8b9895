// Package watch follows accounts of a program, all of them or those of a Scope: a snapshot, then subscriptions, with
// every gap repaired by another snapshot whose differences are emitted. A consumer sees each state once, in an
// account's order, and never misses the latest one, whatever happens to the node or the connection.
//
// A list is a hint too: it may lack accounts while a node builds its index, or of one that lags. An account that was
// there is gone when it says so itself, by two answers that are no older than what was seen of it, of two endpoints
// where there are two. Until then it stays as it was.
//
// Announcements are hints. A WebSocket endpoint cannot be asked which cluster it belongs to, so that what an account
// holds is read from the RPC endpoint, which can be.
//
// A node's programSubscribe says nothing when an account is closed, because a closed account no longer belongs to the
// program. Who follows the whole program therefore also listens to its transactions and reads the accounts that they
// wrote; who follows a Scope listens to each of its accounts.
package watch
