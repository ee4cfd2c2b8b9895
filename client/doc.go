// Package client is the Go SDK of the Gantry market, by its packages; this one holds no code. The command gantry, the
// agents and the keepers are built on the same packages.
//
// The market:
//   - [github.com/gantry-market/gantry/client/market]: accounts, addresses, money with types, the rules and formulas of the
//     program, refusals with advice. No input or output.
//   - [github.com/gantry-market/gantry/client/market/ix]: one builder for every instruction.
//   - [github.com/gantry-market/gantry/client/market/query]: single accounts, read once from the chain.
//   - [github.com/gantry-market/gantry/client/market/view]: the live, indexed copy of all accounts.
//   - [github.com/gantry-market/gantry/client/market/roles]: whether a key is a keeper, a node or a customer.
//   - [github.com/gantry-market/gantry/client/sealedbid]: the rules of sealed auctions.
//   - [github.com/gantry-market/gantry/client/audit]: leases, slashes and auctions rebuilt from transactions.
//
// The chain:
//   - [github.com/gantry-market/gantry/client/chain]: RPC with failover, subscriptions, keypair files, the solana settings.
//   - [github.com/gantry-market/gantry/client/txm]: transactions that are stored before they are sent and take effect once.
//   - [github.com/gantry-market/gantry/client/txerr]: the refusal of a transaction by a program.
//   - [github.com/gantry-market/gantry/client/watch]: the accounts of a program, as they change.
//
// Peers:
//   - [github.com/gantry-market/gantry/client/records]: every record that is hashed or signed.
//   - [github.com/gantry-market/gantry/client/messages]: every message and protocol id.
//   - [github.com/gantry-market/gantry/client/p2p]: how messages reach a peer.
package client
