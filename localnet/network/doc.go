// Package network runs a whole Gantry market on this machine: a Solana node, a seeded market, keepers and agents as
// processes of their own. It is what `gantry-localnet up` shows, what the demo runs on, and what scenario tests inject
// faults into.
//
// Everything that runs in it is a real binary with a real keypair file; GPUs are simulated and labelled so.
package network
