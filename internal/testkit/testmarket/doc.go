// Package testmarket gives tests a market on a real local Solana node: the program deployed, mints, funded wallets, a
// provider with a node, keepers. Everything is made by the public instruction builders.
package testmarket
