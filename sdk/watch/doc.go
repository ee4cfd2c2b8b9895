// Package watch follows accounts of a program: all of them, or those of a Scope. It takes a snapshot and then uses
// subscriptions. It repairs every gap with another snapshot, whose differences are emitted. A consumer sees each state
// once, in an account's order. It never misses the latest state, whatever happens to the node or the connection.
//
// A list is a hint too. It may lack accounts while a node builds its index, or if the node lags. An account that was
// there and is missing from a list counts as gone only after it was read directly. Two answers must say that it does
// not exist. They must not be older than the last state that was seen, and come from two endpoints where there are two.
// Until then the account stays as it was.
//
// Announcements are hints. A WebSocket endpoint cannot be asked which cluster it belongs to, but an RPC endpoint can.
// So the content of an account is read from the RPC endpoint.
//
// A node's programSubscribe sends nothing when an account is closed, because a closed account no longer belongs to the
// program. A watch of the whole program therefore also listens to its transactions and reads the accounts that they
// wrote. A watch of a Scope listens to each of its accounts.
package watch
