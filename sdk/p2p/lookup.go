package p2p

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gantry-market/gantry/sdk/messages"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	manet "github.com/multiformats/go-multiaddr/net"
)

// lookupProtocol asks a keeper for the addresses of a peer.
var lookupProtocol = Protocol{ID: messages.Lookup, MaxRequest: 1 << 10, MaxResponse: 16 << 10, Rate: 20, Burst: 60}

type lookupRequest struct {
	Key []byte `cbor:"1,keyasint" max:"32"`
}

type lookupResponse struct {
	Addrs     []string `cbor:"1,keyasint" max:"32" each:"512"`
	Connected bool     `cbor:"2,keyasint"`
}

// maxAddrs bounds the addresses of one peer in an answer.
const maxAddrs = 32

// ServeLookup answers lookups from what this node knows of its peers. With relay it also offers itself as a way to
// connected peers; use it on nodes with RelayService.
func (n *Node) ServeLookup(relay bool) {
	Handle(n, lookupProtocol, func(_ context.Context, _ solana.PublicKey, req lookupRequest) (lookupResponse, error) {
		if len(req.Key) != solana.PublicKeyLength {
			return lookupResponse{}, Refuse(CodeBadRequest, "key of %d bytes", len(req.Key))
		}
		key := solana.PublicKeyFromBytes(req.Key)
		id, err := n.id(key)
		if err != nil {
			return lookupResponse{}, Refuse(CodeBadRequest, "not a key")
		}
		resp := lookupResponse{Addrs: []string{}}
		c := n.host.Network().Connectedness(id)
		resp.Connected = c == network.Connected || c == network.Limited
		if relay && c == network.Connected {
			for _, own := range n.Addrs() {
				resp.Addrs = append(resp.Addrs, fmt.Sprintf("%s/p2p-circuit/p2p/%s", own, id))
			}
		}
		resp.Addrs = append(resp.Addrs, n.addrsToTell(id)...)
		if len(resp.Addrs) > maxAddrs {
			resp.Addrs = resp.Addrs[:maxAddrs]
		}
		if len(resp.Addrs) == 0 {
			return resp, Refuse(CodeNotFound, "no address of %s", key)
		}
		return resp, nil
	})
}

// addrsToTell are the addresses of a peer that another one may hear.
func (n *Node) addrsToTell(id peer.ID) (out []string) {
	public := slices.ContainsFunc(n.host.Addrs(), manet.IsPublicAddr)
	for _, a := range n.host.Peerstore().Addrs(id) {
		// Addresses inside a peer's home lead a customer astray, or into the customer's own home.
		if public && !isCircuit(a) && !manet.IsPublicAddr(a) {
			continue
		}
		out = append(out, fmt.Sprintf("%s/p2p/%s", a, id))
	}
	return out
}

// Speakers are the connected peers that say that they answer a protocol, with the addresses that others may hear.
func (n *Node) Speakers(protocol string) (out []Peer) {
	for _, id := range n.host.Network().Peers() {
		key, err := n.name(id)
		if err != nil {
			continue
		}
		if spoken, err := n.host.Peerstore().SupportsProtocols(id, WireID(protocol, n.version)); err == nil && len(spoken) > 0 {
			out = append(out, Peer{Key: key, Addrs: n.addrsToTell(id)})
		}
	}
	return out
}

// Lookup asks one keeper for the addresses of a peer.
// Errors: *Error with CodeNotFound, and those of Call.
func (n *Node) Lookup(ctx context.Context, keeper, key solana.PublicKey) (Peer, error) {
	resp, err := Call[lookupRequest, lookupResponse](ctx, n, keeper, lookupProtocol, lookupRequest{Key: key[:]})
	if err != nil {
		return Peer{}, err
	}
	if len(resp.Addrs) > maxAddrs {
		return Peer{}, fmt.Errorf("lookup at %s: %d addresses: %w", keeper, len(resp.Addrs), ErrTooBig)
	}
	p := Peer{Key: key}
	id, err := n.id(key)
	if err != nil {
		return p, err
	}
	p.Addrs = usable(id, resp.Addrs)
	if len(p.Addrs) == 0 {
		return p, fmt.Errorf("lookup at %s: peer %s: %w", keeper, key, ErrUnknown)
	}
	return p, nil
}

// Heard is a peer with those of its addresses that may be dialled, where another peer names them.
func (n *Node) Heard(key solana.PublicKey, addrs []string) Peer {
	id, err := n.id(key)
	if err != nil {
		return Peer{Key: key}
	}
	return Peer{Key: key, Addrs: usable(id, addrs)}
}

// usable leaves out what is not an address of a peer. A wrong address is harmless: the peer that answers there must prove the key.
func usable(id peer.ID, addrs []string) (out []string) {
	for _, a := range addrs {
		if info, err := peer.AddrInfoFromString(a); err == nil && info.ID == id && len(info.Addrs) == 1 && checkDialable(info.Addrs[0]) == nil {
			out = append(out, a)
		}
	}
	return out
}

// lookupsAtOnce is how many keepers Find asks at the same time, and lookupTimeout how long it waits for one: a keeper
// that is gone must not hold up the others.
const (
	lookupsAtOnce = 4
	lookupTimeout = 3 * time.Second
)

// Find makes sure that there is a connection to a peer: the existing one, one by addresses known here, or one by
// addresses that a keeper knows.
func (n *Node) Find(ctx context.Context, key solana.PublicKey, keepers []solana.PublicKey) error {
	if n.Connected(key) {
		return nil
	}
	kctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	errs := []error{n.Connect(kctx, Peer{Key: key})}
	cancel()
	if errs[0] == nil {
		return nil
	}
	for len(keepers) > 0 && ctx.Err() == nil {
		some := keepers[:min(lookupsAtOnce, len(keepers))]
		keepers = keepers[len(some):]
		p, err := n.lookups(ctx, some, key)
		if len(p.Addrs) > 0 {
			if err = n.Connect(ctx, p); err == nil {
				return nil
			}
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("find peer %s: %w", key, errors.Join(errs...))
}

// lookups asks several keepers at once. It gives the addresses of the first answer and of those that come soon after
// it.
func (n *Node) lookups(ctx context.Context, keepers []solana.PublicKey, key solana.PublicKey) (Peer, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	type answer struct {
		p   Peer
		err error
	}
	answers := make(chan answer, len(keepers))
	for _, k := range keepers {
		go func() { // ends with ctx
			p, err := n.Lookup(ctx, k, key)
			answers <- answer{p, err}
		}()
	}
	out := Peer{Key: key}
	var errs []error
	var soon <-chan time.Time
	for range keepers {
		select {
		case a := <-answers:
			if a.err != nil {
				errs = append(errs, a.err)
				continue
			}
			out.Addrs = append(out.Addrs, a.p.Addrs...)
			if soon == nil {
				soon = time.After(200 * time.Millisecond)
			}
		case <-soon:
			return out, nil
		}
	}
	return out, errors.Join(errs...)
}
