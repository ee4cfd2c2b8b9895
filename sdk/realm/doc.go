// Package realm speaks with SPL Governance 3.1.2, with which holders of the stake token govern a market: addresses, instructions and accounts
// of one realm. The stake token is its community mint, and its treasury is the market's authority. Layouts are those of the crate
// spl-governance-mythic.
package realm
