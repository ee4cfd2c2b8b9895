// Package seed turns an empty local Solana node into one with a Gantry market: two test tokens, the market with
// parameters short enough to watch, GPU models, and wallets with money in them.
//
// Everything it does is an ordinary transaction signed by an ordinary keypair file, so that what works here works on
// any cluster.
package seed
