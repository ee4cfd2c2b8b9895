// Package sdk is the Go SDK of the Gantry market, by its packages; this one holds no code. The command gantry, the
// agents, the keepers and the gateways are built on the same packages. None of them is imported here.
//
// The market:
//   - [github.com/gantry-market/gantry/sdk/market]: accounts, addresses, money with types, the rules and formulas of the
//     program, refusals with advice. No input or output.
//   - [github.com/gantry-market/gantry/sdk/market/ix]: one builder for every instruction.
//   - [github.com/gantry-market/gantry/sdk/market/query]: single accounts, read once from the chain.
//   - [github.com/gantry-market/gantry/sdk/market/view]: the live, indexed copy of all accounts.
//   - [github.com/gantry-market/gantry/sdk/market/roles]: whether a key is a keeper, a node or a customer.
//   - [github.com/gantry-market/gantry/sdk/sealedbid]: the rules of sealed auctions.
//
// The chain:
//   - [github.com/gantry-market/gantry/sdk/chain]: RPC with failover, subscriptions, keypair files, the solana settings.
//   - [github.com/gantry-market/gantry/sdk/txm]: transactions that are stored before they are sent and take effect once.
//   - [github.com/gantry-market/gantry/sdk/txform]: the bytes of transactions, in the legacy form and in version 1.
//   - [github.com/gantry-market/gantry/sdk/txerr]: the refusal of a transaction by a program.
//   - [github.com/gantry-market/gantry/sdk/watch]: the accounts of a program, as they change.
//
// Peers:
//   - [github.com/gantry-market/gantry/sdk/records]: every record that is hashed or signed.
//   - [github.com/gantry-market/gantry/sdk/messages]: every message and protocol id.
//   - [github.com/gantry-market/gantry/sdk/p2p]: how messages reach a peer.
package sdk
