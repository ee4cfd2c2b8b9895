// Package daemon makes an agent's components, wires them and runs their loops: chain, transactions, machine, leases,
// receipts, challenges, pricing and the network. One context ends them all. The decisions are in the other packages.
package daemon
