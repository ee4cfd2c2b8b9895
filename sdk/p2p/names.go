package p2p

import (
	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Names translate between the keys by which the market names its members and their keys on the network. A keeper's name
// is its wallet; its network key is its signer's. Everything in this package takes and returns names. The methods must be
// quick; their answers may change at any time.
type Names interface {
	// Peer is the network key of the wallet that carries this name.
	Peer(name solana.PublicKey) solana.PublicKey
	// Name is the name of the peer with this network key.
	Name(peer solana.PublicKey) solana.PublicKey
}

// Know makes the node use names from now on. It is for nodes that learn them after their start; others set them in
// Options.
func (n *Node) Know(names Names) { n.names.Store(&names) }

// peerKey is the network key of the wallet that carries this name.
func (n *Node) peerKey(name solana.PublicKey) solana.PublicKey {
	if names := n.names.Load(); names != nil {
		return (*names).Peer(name)
	}
	return name
}

// id is the peer id of who is named so. Error: ErrIdentity.
func (n *Node) id(name solana.PublicKey) (peer.ID, error) { return PeerID(n.peerKey(name)) }

// name is the name of a peer. Error: ErrIdentity for ids of other key types.
func (n *Node) name(id peer.ID) (solana.PublicKey, error) {
	key, err := PublicKey(id)
	if names := n.names.Load(); err == nil && names != nil {
		key = (*names).Name(key)
	}
	return key, err
}

// info is where a peer is reached. Errors: ErrIdentity, ErrAddress.
func (n *Node) info(p Peer) (peer.AddrInfo, error) {
	if p.As.IsZero() {
		p.As = n.peerKey(p.Key)
	}
	p.Key = p.As
	return p.info()
}

// useNames translates what Known, First and Allow are asked about: they are given names.
func (c *Options) useNames() {
	names := c.Names
	if names == nil {
		return
	}
	if known := c.Known; known != nil {
		c.Known = func(key solana.PublicKey) bool { return known(names.Name(key)) }
	}
	if first := c.First; first != nil {
		c.First = func(key solana.PublicKey) bool { return first(names.Name(key)) }
	}
	if allow := c.Allow; allow != nil {
		c.Allow = func(key solana.PublicKey) Allowance { return allow(names.Name(key)) }
	}
}
