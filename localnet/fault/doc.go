// Package fault injects faults between programs and a real Solana node. A Proxy stands before the node's JSON-RPC port
// and makes answers late, wrong, old or missing, as public nodes do under load. What it does is random and can be
// changed at any time; what it passes on is the real node's. A History has the proxy show the node as it was a time
// ago, as a node does that is behind its cluster. A Relay cuts connections, as an outage would.
package fault
