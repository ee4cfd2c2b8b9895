package p2p

import (
	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Names translate between the keys by which the market names its members and those that they have as peers: a keeper is
// named by its wallet, and is a peer with the key of its signer. Everything in this package takes and gives names. They
// must be quick, and may change at any time.
type Names interface {
	// Peer is the key as a peer of who is named so.
	Peer(name solana.PublicKey) solana.PublicKey
	// Name is the name of the peer with a key.
	Name(peer solana.PublicKey) solana.PublicKey
}

// Know has the node use names from now on: for one that learns them when it is there already. Those that know peers
// from the start name them in Options.
func (n *Node) Know(names Names) { n.names.Store(&names) }

// peerKey is the key as a peer of who is named so.
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
