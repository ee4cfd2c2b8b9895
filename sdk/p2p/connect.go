package p2p

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"github.com/gantry-market/gantry/internal/wait"
)

const (
	dialPause    = 200 * time.Millisecond
	dialPauseMax = 10 * time.Second
	// dialPauseAbsent is the longest pause for a peer that was not reached for absentAfter, or never: its address may be
	// that of somebody else, whom all of the market would dial.
	dialPauseAbsent = 5 * time.Minute
	absentAfter     = 30 * time.Minute
	dialTimeout     = 5 * time.Second
	keepTag         = "gantry-keep"
)

// keptPeer is a peer to which a connection is maintained.
type keptPeer struct{ cancel context.CancelFunc }

// Keep connects to these peers and reconnects whenever a connection breaks, until Keep is called with another list or
// the node closes. It replaces the earlier list; peers that stay are not disturbed.
// Errors: ErrIdentity, ErrAddress; then nothing has changed.
func (n *Node) Keep(peers []Peer) error {
	want := map[peer.ID]peer.AddrInfo{}
	for _, p := range peers {
		info, err := n.info(p)
		if err != nil {
			return err
		}
		if info.ID != n.host.ID() {
			want[info.ID] = info
		}
	}
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return ErrClosed
	}
	for id, k := range n.keep {
		if _, ok := want[id]; !ok {
			k.cancel()
			n.host.ConnManager().Unprotect(id, keepTag)
			delete(n.keep, id)
		}
	}
	var fresh []func()
	for id, info := range want {
		n.host.Peerstore().AddAddrs(id, info.Addrs, peerstore.PermanentAddrTTL)
		if _, ok := n.keep[id]; ok {
			continue
		}
		ctx, cancel := context.WithCancel(n.ctx)
		n.keep[id] = &keptPeer{cancel: cancel}
		n.host.ConnManager().Protect(id, keepTag)
		fresh = append(fresh, func() { n.maintain(ctx, id) })
	}
	n.mu.Unlock()
	for _, f := range fresh {
		n.spawn(f)
	}
	return nil
}

// maintain dials the peer whenever it is not connected.
func (n *Node) maintain(ctx context.Context, id peer.ID) {
	lost := make(chan struct{}, 1)
	note := &network.NotifyBundle{DisconnectedF: func(_ network.Network, c network.Conn) {
		if c.RemotePeer() == id {
			select {
			case lost <- struct{}{}:
			default:
			}
		}
	}}
	n.host.Network().Notify(note)
	defer n.host.Network().StopNotify(note)
	pause := dialPause
	var seen time.Time
	for ctx.Err() == nil {
		if n.host.Network().Connectedness(id) == network.Connected {
			if n.reached(id) {
				pause, seen = dialPause, time.Now()
			}
			select {
			case <-ctx.Done():
				return
			case <-lost:
			case <-time.After(dialPauseMax): // in case a notification was missed
			}
			continue
		}
		// libp2p remembers failed addresses and refuses to dial them for seconds; our own delay takes that place.
		dctx, cancel := context.WithTimeout(network.WithForceDirectDial(ctx, "keep"), dialTimeout)
		err := n.connect(dctx, peer.AddrInfo{ID: id})
		cancel()
		if err == nil {
			n.log.Debug().Str("peer", id.String()).Msg("peer connected")
			continue
		}
		n.log.Debug().Str("peer", id.String()).Err(err).Dur("pause", pause).Msg("peer cannot be reached; it is dialled again after the pause")
		if wait.For(ctx, pause) != nil {
			return
		}
		pause = nextPause(pause, seen, time.Now())
	}
}

// reached reports whether a connection to the peer was dialled from here. One that the peer made says nothing of its
// address: a peer that comes and goes must not have others dial that anew each time.
func (n *Node) reached(id peer.ID) bool {
	return slices.ContainsFunc(n.host.Network().ConnsToPeer(id), func(c network.Conn) bool { return c.Stat().Direction == network.DirOutbound })
}

// nextPause is how long to wait after a dial that failed. seen is when the peer was reached last; zero: never.
func nextPause(pause time.Duration, seen, now time.Time) time.Duration {
	most := dialPauseMax
	if now.Sub(seen) > absentAfter {
		most = dialPauseAbsent
	}
	return min(2*pause, most)
}

// renewPause is how long Renew waits between its own attempts: the peer may connect meanwhile.
const renewPause = 100 * time.Millisecond

// Renew closes all connections with a peer and waits until there is a new one, whichever side makes it. Error: the context's,
// with that of the last attempt.
func (n *Node) Renew(ctx context.Context, key solana.PublicKey) error {
	id, err := n.id(key)
	if err != nil {
		return err
	}
	if err := n.host.Network().ClosePeer(id); err != nil {
		n.log.Debug().Err(err).Str("peer", id.String()).Msg("a connection that is to be replaced does not close")
	}
	for {
		dctx, cancel := context.WithTimeout(ctx, dialTimeout)
		err := n.connect(dctx, peer.AddrInfo{ID: id})
		cancel()
		if err == nil || n.host.Network().Connectedness(id) == network.Connected {
			return nil
		}
		if wait.For(ctx, renewPause) != nil {
			return fmt.Errorf("peer %s is not reached again: %w: %w", key, ctx.Err(), err)
		}
	}
}

// DialAgain forgets that a peer could not be dialled. libp2p dials an address that failed only after 5 s, then after ever
// more: callers that wait for a peer, with a pause of their own, call it before each try.
func (n *Node) DialAgain(key solana.PublicKey) {
	id, err := n.id(key)
	if err != nil {
		return
	}
	if s, ok := n.host.Network().(interface{ Backoff() *swarm.DialBackoff }); ok {
		s.Backoff().Clear(id)
	}
}
