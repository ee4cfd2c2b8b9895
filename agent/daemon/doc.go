// Package daemon puts an agent together and runs it: chain, transactions, machine, leases, receipts, challenges,
// pricing and the network, each with the one context that ends them all. It decides nothing by itself.
package daemon
