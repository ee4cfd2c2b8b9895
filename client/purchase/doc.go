// Package purchase keeps what a customer has begun to buy, so that a command that dies can be continued.
//
// A purchase is stored before anything of it is sent: the order with its nonce, and the job with its secrets. The state
// of a wallet on a cluster is one folder:
//
//	ROOT/CLUSTER/WALLET/orders/ORDER/purchase.json     what is bought, and how far it is
//	ROOT/CLUSTER/WALLET/orders/ORDER/transactions.db   the transactions that place it
//	ROOT/CLUSTER/WALLET/transactions/*.db              other transactions, while their command waits for them
//
// All of it can be read by its owner only. A process that works on a purchase holds its lock, which ends with the
// process.
package purchase
