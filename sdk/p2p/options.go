package p2p

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/p2p/net/connmgr"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	quic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	ma "github.com/multiformats/go-multiaddr"
	madns "github.com/multiformats/go-multiaddr-dns"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/sdk/records"
)

// Options describe a node. Key is required.
type Options struct {
	Key    records.Signer // a solana.PrivateKey, or what signs with one that is elsewhere
	Listen []string       // multiaddresses; default TCP and QUIC on any port of all interfaces; LoopbackListen for local networks
	Client bool           // do not listen at all
	// Announce are the multiaddresses at which others reach this node, in place of those that it listens on; for nodes
	// behind a fixed mapping.
	Announce []string

	// For reaching machines behind home routers:
	Public       bool // known to be reachable directly; relaying starts only then or once found out
	Private      bool // known not to be; a reservation at a relay is made at once
	PortMapping  bool // ask the router for a port (UPnP, NAT-PMP)
	RelayService bool // relay for others; for keepers with a public address
	HolePunching bool // upgrade relayed connections to direct ones
	UseRelays    bool // find out by AutoNAT whether others can reach this node, and if not, keep reservations at peers given to Keep

	// Names says under which key a peer is known, where that is not its own. nil: every peer is known by its own key.
	Names Names

	// Known reports whether a key takes part in the market; nil takes all. Others are strangers: they get few
	// connections for StrangerGrace, no answers and no relaying. It must be quick and not call the node.
	Known func(solana.PublicKey) bool
	// First says who of those that are known comes first: the others hold a few streams at once only; nil: all do.
	First          func(solana.PublicKey) bool
	MaxConnections int // above which idle ones are closed, default 400; a quarter more is refused
	MaxPerIP       int // connections from one IPv4 address or IPv6 /56, default 128: a rack behind one router
	// PublicOnly dials public addresses only: what others announce, or say of others, must not make this machine knock at
	// doors of its own site. For clusters that are not private.
	PublicOnly bool
	// Allow is how many bytes of answers those that are known may take; nil: what keepers may take of each other.
	Allow func(solana.PublicKey) Allowance
	// Before is called with each request that may be answered, before its handler and with the handler's context. Its error
	// is the answer. nil: none. Local networks hold requests back with it.
	Before    func(context.Context) error
	UserAgent string
	// ListenUDP opens QUIC's sockets, so that another protocol can share them; nil: net.ListenUDP.
	ListenUDP func(network string, laddr *net.UDPAddr) (net.PacketConn, error)
	Log       zerolog.Logger

	limits  *peerLimits // made with the libp2p options
	version Version     // tests choose it
}

// LoopbackListen is the listen address of local networks: TCP on any port of this machine only.
const LoopbackListen = "/ip4/127.0.0.1/tcp/0"

func (c *Options) setDefaults() {
	if c.MaxConnections <= 0 {
		c.MaxConnections = 400
	}
	if c.MaxPerIP <= 0 {
		c.MaxPerIP = 128
	}
	if c.version == (Version{}) {
		c.version = MessagesVersion()
	}
	if c.UserAgent == "" {
		c.UserAgent = "gantry"
	}
	if c.Before == nil {
		c.Before = func(context.Context) error { return nil }
	}
}

// options are the libp2p options of a node, all but what needs the node itself.
func (c *Options) options() ([]libp2p.Option, error) {
	priv, err := libp2pKey(c.Key)
	if err != nil {
		return nil, err
	}
	cm, err := connmgr.NewConnManager(c.MaxConnections*3/4, c.MaxConnections, connmgr.WithGracePeriod(20*time.Second))
	if err != nil {
		return nil, fmt.Errorf("connection manager: %w", err)
	}
	rm, err := resources(c)
	if err != nil {
		return nil, err
	}
	opts := []libp2p.Option{
		libp2p.Identity(priv), libp2p.UserAgent(c.UserAgent), libp2p.ConnectionManager(cm), libp2p.ResourceManager(rm),
		libp2p.Transport(tcp.NewTCPTransport), libp2p.Transport(quic.NewTransport), // and no others: addresses come from strangers
		libp2p.MultiaddrResolver(resolver{a: swarm.ResolverFromMaDNS{Resolver: madns.DefaultResolver}, publicOnly: c.PublicOnly}),
		libp2p.DisableMetrics(), // they would go to a global registry
	}
	if c.ListenUDP != nil {
		opts = append(opts, sharedQUIC(c.ListenUDP))
	}
	switch {
	case c.Client:
		opts = append(opts, libp2p.NoListenAddrs, libp2p.EnableRelay())
	case len(c.Listen) > 0:
		opts = append(opts, libp2p.ListenAddrStrings(c.Listen...))
	default:
		opts = append(opts, libp2p.ListenAddrStrings("/ip4/0.0.0.0/tcp/0", "/ip4/0.0.0.0/udp/0/quic-v1"))
	}
	if len(c.Announce) > 0 {
		announced, err := announced(c.Announce)
		if err != nil {
			return nil, err
		}
		opts = append(opts, libp2p.AddrsFactory(func([]ma.Multiaddr) []ma.Multiaddr { return announced }))
	}
	switch {
	case c.Public:
		opts = append(opts, libp2p.ForceReachabilityPublic())
	case c.Private:
		opts = append(opts, libp2p.ForceReachabilityPrivate())
	}
	if c.PortMapping {
		opts = append(opts, libp2p.NATPortMap())
	}
	if c.HolePunching {
		opts = append(opts, libp2p.EnableHolePunching())
	}
	return opts, nil
}

// announced reads addresses with or without a trailing /p2p/ID and adds the QUIC address of each TCP one. Error:
// ErrAddress.
func announced(addrs []string) ([]ma.Multiaddr, error) {
	var out []ma.Multiaddr
	for _, a := range addrs {
		m, err := ma.NewMultiaddr(a)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrAddress, a, err)
		}
		if rest, last := ma.SplitLast(m); last != nil && last.Protocol().Code == ma.P_P2P {
			m = rest
		}
		if err := checkDialable(m); err != nil {
			return nil, err
		}
		out = append(out, withQUIC(m)...)
	}
	return out, nil
}
