package p2p

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/rs/zerolog"
)

// Config describes a node. Key is required.
type Config struct {
	Key    solana.PrivateKey
	Listen []string // multiaddresses; default TCP and QUIC on any port of all interfaces; LoopbackListen for local networks
	Client bool     // do not listen at all

	// For reaching machines behind home routers:
	Public       bool   // known to be reachable directly; relaying starts only then or once found out
	Private      bool   // known not to be; a reservation at Relays is made at once
	PortMapping  bool   // ask the router for a port (UPnP, NAT-PMP)
	RelayService bool   // relay for others; for keepers with a public address
	HolePunching bool   // upgrade relayed connections to direct ones
	Relays       []Peer // keep a reservation at these when not reachable directly

	MaxConnections int // above which idle ones are closed, default 400
	UserAgent      string
	Log            zerolog.Logger
}

// LoopbackListen is the listen address of local networks: TCP on any port of
// this machine only.
const LoopbackListen = "/ip4/127.0.0.1/tcp/0"

// Node is a libp2p host with our protocols.
type Node struct {
	host   host.Host
	key    solana.PublicKey
	log    zerolog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	gossip *pubsub.PubSub
	keep   map[peer.ID]*keeper
}

// New starts a node.
func New(cfg Config) (*Node, error) {
	priv, err := libp2pKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	if cfg.MaxConnections <= 0 {
		cfg.MaxConnections = 400
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "gantry"
	}
	cm, err := connmgr.NewConnManager(cfg.MaxConnections*3/4, cfg.MaxConnections, connmgr.WithGracePeriod(20*time.Second))
	if err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	opts := []libp2p.Option{
		libp2p.Identity(priv), libp2p.UserAgent(cfg.UserAgent), libp2p.ConnectionManager(cm),
		libp2p.DisableMetrics(), // they would go to a global registry
	}
	switch {
	case cfg.Client:
		opts = append(opts, libp2p.NoListenAddrs, libp2p.EnableRelay())
	case len(cfg.Listen) > 0:
		opts = append(opts, libp2p.ListenAddrStrings(cfg.Listen...))
	default:
		opts = append(opts, libp2p.ListenAddrStrings("/ip4/0.0.0.0/tcp/0", "/ip4/0.0.0.0/udp/0/quic-v1"))
	}
	switch {
	case cfg.Public:
		opts = append(opts, libp2p.ForceReachabilityPublic())
	case cfg.Private:
		opts = append(opts, libp2p.ForceReachabilityPrivate())
	}
	if cfg.PortMapping {
		opts = append(opts, libp2p.NATPortMap())
	}
	if cfg.RelayService {
		opts = append(opts, libp2p.EnableRelayService(), libp2p.EnableNATService())
	}
	if cfg.HolePunching {
		opts = append(opts, libp2p.EnableHolePunching())
	}
	if len(cfg.Relays) > 0 {
		relays := make([]peer.AddrInfo, len(cfg.Relays))
		for i, r := range cfg.Relays {
			if relays[i], err = r.info(); err != nil {
				return nil, fmt.Errorf("relay: %w", err)
			}
		}
		opts = append(opts, libp2p.EnableAutoRelayWithStaticRelays(relays))
	}
	h, err := libp2p.New(opts...)
	if err != nil {
		return nil, fmt.Errorf("start p2p host: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Node{
		host: h, key: cfg.Key.PublicKey(), log: cfg.Log, ctx: ctx, cancel: cancel,
		keep: map[peer.ID]*keeper{},
	}, nil
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

// Key returns the node's public key.
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
	info, err := p.info()
	if err != nil {
		return err
	}
	n.host.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.PermanentAddrTTL)
	return nil
}

// Connect connects to a peer now. Error: ErrUnknown without any address.
func (n *Node) Connect(ctx context.Context, p Peer) error {
	info, err := p.info()
	if err != nil {
		return err
	}
	if len(info.Addrs) == 0 && len(n.host.Peerstore().Addrs(info.ID)) == 0 && n.host.Network().Connectedness(info.ID) != network.Connected {
		return fmt.Errorf("peer %s: %w", p.Key, ErrUnknown)
	}
	if err := n.host.Connect(ctx, info); err != nil {
		return fmt.Errorf("connect to peer %s: %w", p.Key, err)
	}
	return nil
}

// Connected reports whether there is a connection to the peer.
func (n *Node) Connected(key solana.PublicKey) bool {
	id, err := PeerID(key)
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
		if key, err := PublicKey(id); err == nil {
			out = append(out, key)
		}
	}
	return out
}

// Disconnect closes all connections to a peer.
func (n *Node) Disconnect(key solana.PublicKey) error {
	id, err := PeerID(key)
	if err != nil {
		return err
	}
	return errors.Join(n.host.Network().ClosePeer(id))
}
