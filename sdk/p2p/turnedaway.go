package p2p

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// turnedAway remembers which peers let this node in and closed the connection at once. libp2p reports only that the connection is gone;
// its reason stays in the connection.
type turnedAway struct {
	mu   sync.Mutex
	last map[peer.ID]network.Conn // that was dialled from here and is not known to be closed
	by   map[peer.ID]refused      // of the last connection
}

// refused is why a peer closed a connection at once, and until when that explains why there is none.
type refused struct {
	why   error
	until time.Time
}

// atOnce is how long a connection may be open that is closed at once.
const atOnce = time.Second

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
	why := whyClosed(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := c.RemotePeer()
	if t.last[id] != c {
		return
	}
	delete(t.last, id)
	for other, last := range t.by {
		if time.Now().After(last.until) {
			delete(t.by, other)
		}
	}
	switch why {
	case nil:
		delete(t.by, id)
	case ErrNoPlace:
		t.by[id] = refused{why, time.Now().Add(StrangerGrace)}
	default:
		t.by[id] = refused{why, time.Now().Add(atOnce)}
	}
}

// from is why a peer closed the last connection that was dialled to it, if that was just now. Error: ErrNoPlace, ErrHungUp.
func (t *turnedAway) from(id peer.ID) error {
	t.mu.Lock()
	c, last := t.last[id], t.by[id]
	t.mu.Unlock()
	switch {
	case c != nil: // a closed connection is here until libp2p has reported it
		return whyClosed(c)
	case time.Now().Before(last.until):
		return last.why
	}
	return nil
}

// whyClosed is why the other side of a connection closed it at once. Error: ErrNoPlace, ErrHungUp.
func whyClosed(c network.Conn) error {
	if !c.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(context.Background(), "reason"), time.Second)
	defer cancel()
	s, err := c.NewStream(ctx) // fails at once, with the reason
	if err == nil {
		_ = s.Reset()
	}
	switch {
	case errors.Is(err, &network.ConnError{Remote: true, ErrorCode: network.ConnGated}):
		return ErrNoPlace
	case time.Since(c.Stat().Opened) < atOnce:
		return ErrHungUp
	}
	return nil
}

// connect is the host's Connect, but for a peer that lets this node in and closes the connection at once.
func (n *Node) connect(ctx context.Context, info peer.AddrInfo) error {
	if err := n.host.Connect(ctx, info); err != nil {
		return err
	}
	return n.turnedAwayBy(info.ID)
}

// turnedAwayBy returns the reason of a peer that has just closed the last connection to it. Error: ErrNoPlace, ErrHungUp.
func (n *Node) turnedAwayBy(id peer.ID) error {
	if n.host.Network().Connectedness(id) != network.NotConnected {
		return nil
	}
	return n.turnedAway.from(id)
}
