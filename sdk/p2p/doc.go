// Package p2p is the market's network: a go-libp2p host whose identity is an ed25519 key registered on chain, gossip
// topics among keepers, and typed request and stream protocols.
//
// Connections are encrypted and authenticated (Noise or TLS 1.3), so the peer at the other end of a stream is known by
// its Solana public key. Every message carries a version, has a size limit and is rate-limited per peer. Messages are
// canonical CBOR; on streams each is preceded by its length as a little-endian u32.
package p2p
