package p2p

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/control"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

const (
	// StrangerGrace is how long a peer may stay whose key the chain does not know: its registration may be on its way
	// here.
	StrangerGrace = 30 * time.Second
	// maxStrangers bounds them, so that they cannot take the place of others.
	maxStrangers         = 128
	maxStrangersPerGroup = 8 // of addresses
	sweepEvery           = time.Second
	// recheckEvery is how often all peers are looked at again: those who have left the market become strangers.
	recheckEvery = 30
)

// gate refuses connections of strangers, but for a few whose registration may be on its way, and dials through relays
// that did not answer.
// It implements connmgr.ConnectionGater.
type gate struct {
	known      func(solana.PublicKey) bool
	publicOnly bool
	now        func() time.Time

	mu        sync.Mutex
	strangers map[peer.ID]stranger
	places    places
	refused   uint64
	skipped   map[peer.ID]time.Time // relays that did not answer, until when they are not dialled
}

type stranger struct {
	since time.Time
	from  origin
}

func newGate(known func(solana.PublicKey) bool) *gate {
	return &gate{
		known: known, now: time.Now, strangers: map[peer.ID]stranger{}, places: newPlaces(maxStrangers, maxStrangersPerGroup), skipped: map[peer.ID]time.Time{},
	}
}

// knows reports whether a peer takes part in the market.
func (g *gate) knows(id peer.ID) bool {
	key, err := PublicKey(id)
	if err != nil {
		return false
	}
	return g.known == nil || g.known(key)
}

// InterceptPeerDial lets every dial pass.
func (g *gate) InterceptPeerDial(peer.ID) bool { return true }

// InterceptAddrDial leaves out addresses that are not public, where only those are dialled, and relays that did not answer
// just now: libp2p waits for one relay at a time. Names are resolved before.
func (g *gate) InterceptAddrDial(_ peer.ID, m ma.Multiaddr) bool {
	if g.publicOnly && !isCircuit(m) && !manet.IsPublicAddr(m) { // the way to a relay is asked about by itself
		return false
	}
	id, ok := relayOf(m)
	if !ok {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now().After(g.skipped[id])
}

// skipFor is how long a relay that did not answer is not dialled.
const skipFor = 30 * time.Second

func (g *gate) skipRelay(id peer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, until := range g.skipped {
		if g.now().After(until) {
			delete(g.skipped, id)
		}
	}
	g.skipped[id] = g.now().Add(skipFor)
}

// InterceptAccept lets pass what the resource manager let pass; the key is not known yet.
func (g *gate) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// InterceptSecured lets pass: whoever is refused here is not told so over TCP.
func (g *gate) InterceptSecured(network.Direction, peer.ID, network.ConnMultiaddrs) bool { return true }

// InterceptUpgraded sees a connection once the peer has proved its key, and before it can open a stream. libp2p tells one that is
// refused network.ConnGated, which reads as ErrNoPlace there.
func (g *gate) InterceptUpgraded(c network.Conn) (bool, control.DisconnectReason) {
	return g.admits(c.Stat().Direction, c.RemotePeer(), c), 0
}

// admits reports whether a connection may stay, and takes a place for a stranger.
func (g *gate) admits(dir network.Direction, id peer.ID, addrs network.ConnMultiaddrs) bool {
	if g.known == nil || dir == network.DirOutbound || g.knows(id) {
		return true
	}
	at := addrs.RemoteMultiaddr()
	// Relays are keepers. A stranger that relays could invent any number of sites.
	relay, relayed := relayOf(at)
	trusted := !relayed || g.knows(relay)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.strangers[id]; ok {
		return true
	}
	from := originOf(id, at)
	if !trusted || !g.places.take(from) {
		g.refused++
		return false
	}
	g.strangers[id] = stranger{since: g.now(), from: from}
	return true
}

func (g *gate) forget(id peer.ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s, ok := g.strangers[id]
	if !ok {
		return
	}
	delete(g.strangers, id)
	g.places.free(s.from)
}

// overdue removes strangers that are registered by now, and returns them and those whose grace is over.
func (g *gate) overdue() (registered, out []peer.ID) {
	g.mu.Lock()
	waiting := make(map[peer.ID]time.Time, len(g.strangers))
	for id, s := range g.strangers {
		waiting[id] = s.since
	}
	g.mu.Unlock()
	for id, since := range waiting {
		switch {
		case g.knows(id):
			g.forget(id)
			registered = append(registered, id)
		case g.now().Sub(since) > StrangerGrace:
			out = append(out, id)
		}
	}
	return registered, out
}

// count returns how many strangers wait and how many were refused.
func (g *gate) count() (waiting int, refused uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.strangers), g.refused
}

// watchStrangers closes the connections of strangers whose grace is over, until ctx ends.
func (n *Node) watchStrangers(ctx context.Context) {
	note := &network.NotifyBundle{ConnectedF: n.peerConnected, DisconnectedF: func(net network.Network, c network.Conn) {
		if net.Connectedness(c.RemotePeer()) == network.NotConnected {
			n.gate.forget(c.RemotePeer())
		}
	}}
	n.host.Network().Notify(note)
	defer n.host.Network().StopNotify(note)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for round := 1; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		registered, gone := n.gate.overdue()
		for _, id := range registered {
			n.host.ConnManager().UntagPeer(id, strangerTag)
			n.hasItsLimits(id)
		}
		if round%recheckEvery == 0 {
			for _, id := range n.host.Network().Peers() {
				if !n.gate.knows(id) && !n.gate.waits(id) {
					gone = append(gone, id)
				}
			}
		}
		for _, id := range gone {
			n.log.Debug().Str("peer", id.String()).Msg("peer is disconnected: its key is not registered on chain")
			if err := n.host.Network().ClosePeer(id); err != nil {
				n.log.Debug().Err(err).Msg("connection to a stranger does not close")
			}
			n.gate.forget(id)
		}
	}
}

// strangerTag has strangers closed first where there are too many connections.
const strangerTag = "gantry-stranger"

// peerConnected counts a stranger whose earlier connection ended while this one was made, and with it its place. Others have their own
// limits from now on: libp2p keeps those of an earlier connection, which may have been a stranger's.
func (n *Node) peerConnected(_ network.Network, c network.Conn) {
	id := c.RemotePeer()
	switch {
	case !n.gate.admits(c.Stat().Direction, id, c):
		_ = c.CloseWithError(network.ConnGated) // what closes cannot be told more
	case n.gate.waits(id):
		n.host.ConnManager().TagPeer(id, strangerTag, -1)
	default:
		n.hasItsLimits(id)
	}
}

// hasItsLimits gives a peer the limits of what it is now.
func (n *Node) hasItsLimits(id peer.ID) {
	if err := n.limits.become(n.host.Network().ResourceManager(), id); err != nil {
		n.log.Debug().Err(err).Str("peer", id.String()).Msg("the limits of a peer that the market knows stay those of strangers")
	}
}

func (g *gate) waits(id peer.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, ok := g.strangers[id]
	return ok
}

// Strangers returns how many connected peers the market does not know, and how many more were refused so far.
func (n *Node) Strangers() (waiting int, refused uint64) { return n.gate.count() }
