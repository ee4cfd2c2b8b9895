// Package chain gives access to a Solana cluster: JSON-RPC over several endpoints with health and failover, a WebSocket
// subscription client, keypair files, the settings of the `solana` command, and links to the explorer.
//
// Commitment is passed explicitly on every call: a node's default is "finalized", where a fresh blockhash or account is
// simply "not found".
//
// Errors that a person can cause are one line and say what to do.
package chain
