package signing

import (
	"bytes"
	"encoding/binary"
)

// What libp2p has signed with a peer's key: the static key of a Noise connection, the key of a TLS certificate, a
// message of gossip, and envelopes with a record in them. Each begins in its own way, so that none is a record of the
// market or a transaction.
var identityPrefixes = [][]byte{
	[]byte("noise-libp2p-static-key:"), []byte("libp2p-tls-handshake:"), []byte("libp2p-pubsub:"),
}

// identityDomains are those of envelopes: how a peer is reached, and that it relays for another.
var identityDomains = []string{"libp2p-peer-record", "libp2p-relay-rsvp"}

// isIdentity reports whether a message is one by which the keeper shows who it is in the network. Nothing on chain
// depends on it.
func isIdentity(message []byte) bool {
	for _, p := range identityPrefixes {
		if bytes.HasPrefix(message, p) {
			return true
		}
	}
	for _, d := range identityDomains {
		if bytes.HasPrefix(message, append(binary.AppendUvarint(nil, uint64(len(d))), d...)) {
			return true
		}
	}
	return false
}
