// Package honest runs honest machines under what they meet in the field, and looks whether one of them loses anything:
// RPC nodes that are far behind, on a fork, or answer empty lists, and other programs on the same processor.
//
// Keepers, agents and customers are the real binaries on a real or embedded Solana node; GPUs are simulated. Machines that
// cheat take part too, and have to lose stake: else the run could not tell.
package honest
