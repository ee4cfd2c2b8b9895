package p2p

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/rs/zerolog"
)

// Node is a libp2p host with our protocols.
type Node struct {
	host   host.Host
	key    solana.PublicKey
	names  atomic.Pointer[Names]
	log    zerolog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	gate   *gate
	limits *peerLimits
	counts *counts
	budget *budget

	turnedAway turnedAway

	version Version // of the messages
	before  func(context.Context) error

	mu     sync.Mutex
	closed bool
	known  []func(solana.PublicKey) bool // of the topics
	gossip *pubsub.PubSub

	scoreMu sync.Mutex
	scores  map[solana.PublicKey]float64

	keep map[peer.ID]*keptPeer
}

// New starts a node.
func New(cfg Options) (*Node, error) {
	cfg.setDefaults()
	cfg.useNames()
	opts, err := cfg.options()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{
		key: cfg.Key.PublicKey(), log: cfg.Log, ctx: ctx, cancel: cancel,
		keep: map[peer.ID]*keptPeer{}, gate: newGate(cfg.Known), counts: newCounts(), limits: cfg.limits, version: cfg.version, before: cfg.Before,
		turnedAway: turnedAway{last: map[peer.ID]network.Conn{}, by: map[peer.ID]refused{}},
	}
	n.gate.publicOnly = cfg.PublicOnly
	if cfg.Names != nil {
		n.Know(cfg.Names)
	}
	n.budget = newBudget(n.gate, &cfg)
	opts = append(opts, n.relayOptions(cfg)...)
	opts = append(opts, libp2p.ConnectionGater(n.gate))
	if n.host, err = libp2p.New(opts...); err != nil {
		cancel()
		return nil, fmt.Errorf("start p2p host: %w", err)
	}
	if cfg.UseRelays && !cfg.Private && !cfg.Public {
		if err := n.startUnreachable(); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	n.host.Network().Notify(n.turnedAway.notifiee())
	if err := n.startVersions(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if cfg.Known != nil {
		n.spawn(func() { n.watchStrangers(n.ctx) })
	}
	return n, nil
}

// Close ends all connections and waits for handlers and keepers.
func (n *Node) Close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	n.mu.Unlock()
	n.cancel()
	err := n.host.Close()
	n.wg.Wait()
	if err != nil {
		return fmt.Errorf("close p2p host: %w", err)
	}
	return nil
}

// spawn runs f under the node's context; Close waits for it.
func (n *Node) spawn(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.wg.Add(1)
	go func() {
		defer n.wg.Done()
		f()
	}()
	return true
}

// Host gives the libp2p host for what this package does not cover.
func (n *Node) Host() host.Host { return n.host }

// Key returns the node's public key, which is not its name where it has another one.
func (n *Node) Key() solana.PublicKey { return n.key }

// ID returns the node's peer id.
func (n *Node) ID() peer.ID { return n.host.ID() }

// Self returns this node as others should dial it.
func (n *Node) Self() Peer { return Peer{Key: n.key, Addrs: n.Addrs()} }

// Addrs returns the full addresses of this node: /ip4/…/tcp/…/p2p/ID.
func (n *Node) Addrs() []string {
	addrs, err := peer.AddrInfoToP2pAddrs(&peer.AddrInfo{ID: n.host.ID(), Addrs: n.host.Addrs()})
	if err != nil {
		return nil
	}
	out := make([]string, len(addrs))
	for i, a := range addrs {
		out[i] = a.String()
	}
	return out
}

// Remember notes a peer's addresses for later calls.
func (n *Node) Remember(p Peer) error {
	info, err := n.info(p)
	if err != nil {
		return err
	}
	n.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.PermanentAddrTTL)
	return nil
}

// Connect connects to a peer now. Error: ErrUnknown without any address.
func (n *Node) Connect(ctx context.Context, p Peer) error {
	info, err := n.info(p)
	if err != nil {
		return err
	}
	if len(info.Addrs) == 0 && len(n.host.Peerstore().Addrs(info.ID)) == 0 && n.host.Network().Connectedness(info.ID) != network.Connected {
		return fmt.Errorf("peer %s: %w", p.Key, ErrUnknown)
	}
	if err := n.connect(ctx, info); err != nil {
		return fmt.Errorf("connect to peer %s: %w", p.Key, err)
	}
	return nil
}

// Connected reports whether there is a connection to the peer.
func (n *Node) Connected(key solana.PublicKey) bool {
	id, err := n.id(key)
	if err != nil {
		return false
	}
	c := n.host.Network().Connectedness(id)
	return c == network.Connected || c == network.Limited
}

// Peers returns the keys of all connected peers.
func (n *Node) Peers() []solana.PublicKey {
	var out []solana.PublicKey
	for _, id := range n.host.Network().Peers() {
		if key, err := n.name(id); err == nil {
			out = append(out, key)
		}
	}
	return out
}

// Disconnect closes all connections to a peer.
func (n *Node) Disconnect(key solana.PublicKey) error {
	id, err := n.id(key)
	if err != nil {
		return err
	}
	return errors.Join(n.host.Network().ClosePeer(id))
}
