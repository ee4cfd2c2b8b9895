// Package testmarket gives tests a market on a real local Solana node. A Testbed is made step by step with the public
// instruction builders: mints, funded wallets, a provider with a node, keepers, each as a test needs it. A Seeded
// market is the one that localnet/seed makes for local networks.
package testmarket
