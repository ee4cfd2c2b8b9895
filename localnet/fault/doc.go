// Package fault is a Solana node on a bad day: it stands between programs and a real node's JSON-RPC port and makes
// answers late, wrong, old or missing, as public nodes do under load. What it does is random and can be changed at any
// time; what it passes on is the real node's.
package fault
