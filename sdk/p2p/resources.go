package p2p

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/libp2p/go-libp2p/x/rate"

	"github.com/gantry-market/gantry/internal/addrgroup"
)

// What one peer may hold at once. A keeper talks to a peer on a handful of streams; gossip of a large proposal takes
// the most memory.
const (
	peerConns   = 32 // a customer's programs have one key
	peerStreams = 256
	peerMemory  = 64 << 20 // bytes of buffers

	// What those may hold who are known and do not come first, and strangers. A stream counts from before it is known
	// what it is for: ten seconds long it may say nothing.
	otherStreams    = 4 * peerConns
	strangerStreams = 8
	strangerConns   = 2
	strangerMemory  = 2 << 20
)

// peerLimits are limits by what a peer is.
type peerLimits struct {
	rcmgr.Limiter
	known, first    func(solana.PublicKey) bool // nil: all
	other, stranger rcmgr.Limit
}

// GetPeerLimits is asked when a peer connects.
func (l *peerLimits) GetPeerLimits(id peer.ID) rcmgr.Limit {
	key, err := PublicKey(id)
	switch {
	case l.known == nil:
	case err != nil || !l.known(key):
		return l.stranger
	case l.first != nil && !l.first(key):
		return l.other
	}
	return l.Limiter.GetPeerLimits(id)
}

// become gives a peer the limits of what it is now. Those that it had were set when it connected.
func (l *peerLimits) become(rm network.ResourceManager, id peer.ID) error {
	return rm.ViewPeer(id, func(s network.PeerScope) error {
		if scope, ok := s.(rcmgr.ResourceScopeLimiter); ok {
			scope.SetLimit(l.GetPeerLimits(id))
		}
		return nil
	})
}

// resources bounds connections, streams and buffers by what the node is meant for. libp2p's own defaults follow the
// machine's memory and stop at a few hundred connections, and at 8 from one address, less than a site of nodes behind
// one router makes.
func resources(c *Options) (network.ResourceManager, error) {
	maxConns, perIP := c.MaxConnections, c.MaxPerIP
	scaling := rcmgr.DefaultLimits
	libp2p.SetDefaultServiceLimits(&scaling)
	hard := maxConns + maxConns/4 + 16
	n := func(v int) rcmgr.LimitVal { return rcmgr.LimitVal(v) }
	streams := n(16 * hard)
	system := rcmgr.ResourceLimits{
		Conns: n(2 * hard), ConnsInbound: n(hard), ConnsOutbound: n(hard), FD: n(2*hard + 64),
		Streams: streams, StreamsInbound: streams, StreamsOutbound: streams,
		Memory: rcmgr.LimitVal64(256<<20 + int64(hard)*(256<<10)),
	}
	// Not yet authenticated: a flood of half-open connections stops here.
	halfOpen := hard/4 + 32
	transient := rcmgr.ResourceLimits{
		Conns: n(hard/4 + 64), ConnsInbound: n(halfOpen), ConnsOutbound: n(hard/4 + 32), FD: n(hard/4 + 64),
		Streams: n(5*hard + maxStrangers*strangerStreams + 256), StreamsInbound: n(4*hard + maxStrangers*strangerStreams + 128),
		StreamsOutbound: n(hard + 128), Memory: 64 << 20,
	}
	relaying := rcmgr.ResourceLimits{Streams: streams, StreamsInbound: streams, StreamsOutbound: streams, Memory: 256 << 20}
	relayingPeer := rcmgr.ResourceLimits{Streams: 2 * relayCircuits, StreamsInbound: 2 * relayCircuits, StreamsOutbound: 2 * relayCircuits, Memory: 16 << 20}
	partial := rcmgr.PartialLimitConfig{
		System: system, Transient: transient,
		PeerDefault: rcmgr.ResourceLimits{
			Conns: peerConns, ConnsInbound: peerConns, ConnsOutbound: peerConns, FD: peerConns,
			Streams: 2 * peerStreams, StreamsInbound: peerStreams, StreamsOutbound: peerStreams, Memory: peerMemory,
		},
		ServiceDefault:  rcmgr.ResourceLimits{Streams: streams, StreamsInbound: streams, StreamsOutbound: streams},
		ProtocolDefault: rcmgr.ResourceLimits{Streams: streams, StreamsInbound: streams, StreamsOutbound: streams},
		Service:         map[string]rcmgr.ResourceLimits{relay.ServiceName: relaying},
		ServicePeer:     map[string]rcmgr.ResourceLimits{relay.ServiceName: relayingPeer},
	}
	partial.Protocol = map[protocol.ID]rcmgr.ResourceLimits{proto.ProtoIDv2Hop: relaying, proto.ProtoIDv2Stop: relaying}
	partial.ProtocolPeer = map[protocol.ID]rcmgr.ResourceLimits{proto.ProtoIDv2Hop: relayingPeer, proto.ProtoIDv2Stop: relayingPeer}
	fixed := partial.Build(scaling.Scale(1<<30, 2*hard+64))
	few := func(streams, conns int, memory int64) rcmgr.Limit {
		return &rcmgr.BaseLimit{
			Streams: streams + peerStreams, StreamsInbound: streams, StreamsOutbound: peerStreams,
			Conns: conns + peerConns, ConnsInbound: conns, ConnsOutbound: peerConns, FD: conns + peerConns, Memory: memory,
		}
	}
	limiter := &peerLimits{
		Limiter: rcmgr.NewFixedLimiter(fixed), known: c.Known, first: c.First,
		other: few(otherStreams, peerConns, peerMemory), stranger: few(strangerStreams, strangerConns, strangerMemory),
	}
	c.limits = limiter
	rm, err := rcmgr.NewResourceManager(limiter, rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: addrgroup.Bits4, ConnCount: perIP}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: addrgroup.Bits6, ConnCount: perIP}, {PrefixLength: addrgroup.Site6, ConnCount: 4 * perIP}},
		),
		rcmgr.WithConnRateLimiters(&rate.Limiter{
			NetworkPrefixLimits: []rate.PrefixLimit{
				{Prefix: netip.MustParsePrefix("127.0.0.0/8")}, {Prefix: netip.MustParsePrefix("::1/128")},
			},
			// As many new connections at once as there may be, then a tenth of it a second.
			SubnetRateLimiter: rate.SubnetLimiter{
				IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: addrgroup.Bits4, Limit: rate.Limit{RPS: float64(perIP) / 10, Burst: perIP}}},
				IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: addrgroup.Bits6, Limit: rate.Limit{RPS: float64(perIP) / 10, Burst: perIP}}},
				GracePeriod:      time.Minute,
			},
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("resource manager: %w", err)
	}
	return newEntrance(rm, halfOpen), nil
}
