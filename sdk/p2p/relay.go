package p2p

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/autorelay"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	ma "github.com/multiformats/go-multiaddr"
)

// What a keeper relays. A circuit carries the logs of a job for hours where no hole can be punched (symmetric routers);
// what is longer goes on through a new circuit, since every protocol resumes where it was.
const (
	relayBytes        = 256 << 20 // a circuit, each direction
	relayDuration     = 4 * time.Hour
	relayCircuits     = 64 // of one peer at once
	relayBuffer       = 16 << 10
	relayReservations = 16_384
	relayPerIP        = 128  // nodes of one site
	relayPerASN       = 8192 // home routers of one provider of access
)

func relayResources() relay.Resources {
	return relay.Resources{
		Limit:          &relay.RelayLimit{Duration: relayDuration, Data: relayBytes},
		ReservationTTL: time.Hour, MaxReservations: relayReservations, MaxCircuits: relayCircuits, BufferSize: relayBuffer,
		MaxReservationsPerIP: relayPerIP, MaxReservationsPerASN: relayPerASN,
	}
}

// relayACL relays among those who take part in the market only.
type relayACL struct{ gate *gate }

// AllowReserve implements relay.ACLFilter.
func (a relayACL) AllowReserve(p peer.ID, _ ma.Multiaddr) bool { return a.gate.knows(p) }

// AllowConnect implements relay.ACLFilter.
func (a relayACL) AllowConnect(src peer.ID, _ ma.Multiaddr, dest peer.ID) bool {
	return a.gate.knows(src) && a.gate.knows(dest)
}

// relayOptions are what a keeper offers and a node uses.
func (n *Node) relayOptions(c Options) []libp2p.Option {
	var opts []libp2p.Option
	if c.RelayService {
		opts = append(opts,
			libp2p.EnableRelayService(relay.WithResources(relayResources()), relay.WithACL(relayACL{n.gate})),
			libp2p.EnableNATService(), libp2p.AutoNATServiceRateLimit(600, 3, time.Minute), libp2p.EnableAutoNATv2(),
		)
	}
	if c.UseRelays {
		opts = append(opts, libp2p.EnableAutoRelayWithPeerSource(n.relayPeers,
			autorelay.WithMinCandidates(1), autorelay.WithMaxCandidates(16), autorelay.WithNumRelays(3),
			autorelay.WithBootDelay(0), autorelay.WithMinInterval(2*time.Second), autorelay.WithBackoff(15*time.Second),
		))
		if !c.Private && !c.RelayService {
			opts = append(opts, libp2p.EnableAutoNATv2())
		}
	}
	return opts
}

// startUnreachable tells libp2p that it is not known whether others can reach this node, so that reservations are made
// at once: the first result of AutoNAT comes after 15 seconds, and a node that cannot be reached meanwhile fails its
// checks.
func (n *Node) startUnreachable() error {
	e, err := n.host.EventBus().Emitter(new(event.EvtLocalReachabilityChanged))
	if err == nil {
		err = errors.Join(e.Emit(event.EvtLocalReachabilityChanged{Reachability: network.ReachabilityUnknown}), e.Close())
	}
	if err != nil {
		return fmt.Errorf("reachability: %w", err)
	}
	return nil
}

// relayPeers gives the kept peers in random order, so that nodes spread over the keepers.
func (n *Node) relayPeers(_ context.Context, most int) <-chan peer.AddrInfo {
	n.mu.Lock()
	ids := make([]peer.ID, 0, len(n.keep))
	for id := range n.keep {
		ids = append(ids, id)
	}
	n.mu.Unlock()
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	ids = ids[:min(most, len(ids))]
	out := make(chan peer.AddrInfo, len(ids))
	defer close(out)
	for _, id := range ids {
		out <- peer.AddrInfo{ID: id, Addrs: n.host.Peerstore().Addrs(id)}
	}
	return out
}

// Path says how a peer is reached.
type Path int

// The paths.
const (
	NoPath  Path = iota
	Relayed      // through a keeper, with limits
	Direct
)

func (p Path) String() string { return [...]string{"not connected", "relayed", "direct"}[p] }

// Path returns how a peer is reached now.
func (n *Node) Path(key solana.PublicKey) Path {
	id, err := n.id(key)
	if err != nil {
		return NoPath
	}
	switch n.host.Network().Connectedness(id) {
	case network.Connected:
		return Direct
	case network.Limited:
		return Relayed
	}
	return NoPath
}

// isCircuit reports whether an address leads through a relay.
func isCircuit(m ma.Multiaddr) bool {
	_, err := m.ValueForProtocol(ma.P_CIRCUIT)
	return err == nil
}

// relayOf returns the relay of an address.
func relayOf(m ma.Multiaddr) (peer.ID, bool) {
	before, after := ma.SplitFunc(m, func(c ma.Component) bool { return c.Protocol().Code == ma.P_CIRCUIT })
	if len(after) == 0 {
		return "", false
	}
	_, id := peer.SplitAddr(before)
	return id, id != ""
}

// Reservations returns at how many relays this node can be reached.
func (n *Node) Reservations() int {
	relays := map[peer.ID]bool{}
	for _, a := range n.host.Addrs() {
		if id, ok := relayOf(a); ok {
			relays[id] = true
		}
	}
	return len(relays)
}

// Relaying counts the relayed connections that end or begin here, and those that this node carries for others.
func (n *Node) Relaying() (own, carried int) {
	for _, c := range n.host.Network().Conns() {
		if isCircuit(c.RemoteMultiaddr()) {
			own++
		}
		for _, s := range c.GetStreams() {
			if s.Protocol() == proto.ProtoIDv2Stop && s.Stat().Direction == network.DirOutbound {
				carried++
			}
		}
	}
	return own, carried
}

// Via returns the addresses of the connections to a peer.
func (n *Node) Via(key solana.PublicKey) []string {
	id, err := n.id(key)
	if err != nil {
		return nil
	}
	var out []string
	for _, c := range n.host.Network().ConnsToPeer(id) {
		out = append(out, c.RemoteMultiaddr().String())
	}
	return out
}
