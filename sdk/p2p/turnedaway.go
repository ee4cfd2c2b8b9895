package p2p

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// turnedAway remembers which peers had no place for this node. libp2p reports only that the connection is gone; its reason stays in
// the connection.
type turnedAway struct {
	mu   sync.Mutex
	last map[peer.ID]network.Conn // that was dialled from here and is not known to be closed
	by   map[peer.ID]time.Time    // when the last connection was closed for want of a place
}

// notifiee follows the connections of a network.
func (t *turnedAway) notifiee() network.Notifiee {
	return &network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { t.connected(c) },
		DisconnectedF: func(_ network.Network, c network.Conn) { t.disconnected(c) },
	}
}

func (t *turnedAway) connected(c network.Conn) {
	if c.Stat().Direction != network.DirOutbound {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[c.RemotePeer()] = c
}

func (t *turnedAway) disconnected(c network.Conn) {
	none := hadNoPlace(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := c.RemotePeer()
	if t.last[id] != c {
		return
	}
	delete(t.last, id)
	for other, at := range t.by {
		if time.Since(at) > StrangerGrace {
			delete(t.by, other)
		}
	}
	if none {
		t.by[id] = time.Now()
	} else {
		delete(t.by, id)
	}
}

// from reports whether the last connection that was dialled to a peer was closed by it for want of a place, just now.
func (t *turnedAway) from(id peer.ID) bool {
	t.mu.Lock()
	c, at := t.last[id], t.by[id]
	t.mu.Unlock()
	if c != nil { // a closed connection is here until libp2p has reported it
		return hadNoPlace(c)
	}
	return !at.IsZero() && time.Since(at) < StrangerGrace
}

// hadNoPlace reports whether the other side of a connection closed it because it had no place for this node's key.
func hadNoPlace(c network.Conn) bool {
	if !c.IsClosed() {
		return false
	}
	ctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(context.Background(), "reason"), time.Second)
	defer cancel()
	s, err := c.NewStream(ctx) // fails at once, with the reason
	if err == nil {
		_ = s.Reset()
	}
	return errors.Is(err, &network.ConnError{Remote: true, ErrorCode: network.ConnGated})
}

// connect is the host's Connect, but for a peer that lets this node in and closes the connection at once.
func (n *Node) connect(ctx context.Context, info peer.AddrInfo) error {
	err := n.host.Connect(ctx, info)
	if err == nil && n.hadNoPlaceAt(info.ID) {
		return ErrNoPlace
	}
	return err
}

// hadNoPlaceAt reports whether there is no connection to a peer because it had no place for this node.
func (n *Node) hadNoPlaceAt(id peer.ID) bool {
	return n.host.Network().Connectedness(id) == network.NotConnected && n.turnedAway.from(id)
}
