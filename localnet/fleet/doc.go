// Package fleet runs many agents in one process, so that a local network can have hundreds of machines.
//
// Each is the whole agent of package agent/daemon, with its own key, store, network identity and leases; only the
// connection to the Solana node and the view of the market are shared. The GPUs are simulated and labelled so.
package fleet
