// Package fleet runs many agents in one process. With it, a local network can have hundreds of machines.
//
// Each is the whole agent of package agent/daemon, with its own key, store, network identity and leases. The agents
// share only the connection to the Solana node and the view of the market. The GPUs are simulated and labelled so.
package fleet
