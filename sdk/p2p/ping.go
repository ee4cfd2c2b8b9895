package p2p

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"

	"github.com/gantry-market/gantry/internal/wait"
)

const (
	// pings is how many round trips the shortest is taken of: the first has a stream to open, and others may meet a busy moment.
	pings = 4
	// upgradeWait is how long a relayed connection is given to become a direct one.
	upgradeWait  = 2 * time.Second
	upgradeEvery = 50 * time.Millisecond
)

// RoundTrip is the shortest of a few round trips to a peer that is connected, and how it is reached. The peer returns 32 random
// bytes, so that it cannot answer early; it can answer late. A relayed connection is given a moment to become direct. Errors:
// ErrUnknown without a connection, the context's, those of the stream.
func (n *Node) RoundTrip(ctx context.Context, key solana.PublicKey) (time.Duration, Path, error) {
	id, err := n.id(key)
	if err != nil {
		return 0, NoPath, err
	}
	path := n.awaitDirect(ctx, key)
	if path == NoPath {
		return 0, NoPath, fmt.Errorf("peer %s: %w", key, ErrUnknown)
	}
	ctx, cancel := context.WithCancel(network.WithNoDial(network.WithAllowLimitedConn(ctx, "round trip"), "round trip"))
	defer cancel()
	var best time.Duration
	results := ping.Ping(ctx, n.host, id)
	for i := range pings {
		r, ok := <-results
		switch {
		case ok && r.Error == nil:
			if i == 0 || r.RTT < best {
				best = r.RTT
			}
			continue
		case ctx.Err() != nil:
			r.Error = ctx.Err()
		case r.Error == nil:
			r.Error = ErrTruncated
		}
		return 0, path, fmt.Errorf("round trip to peer %s: %w", key, r.Error)
	}
	return best, path, nil
}

// awaitDirect waits until a peer that is reached through a relay is reached directly, for a moment, and returns its path.
func (n *Node) awaitDirect(ctx context.Context, key solana.PublicKey) Path {
	until := time.Now().Add(upgradeWait)
	for {
		path := n.Path(key)
		if path != Relayed || !time.Now().Before(until) {
			return path
		}
		if wait.For(ctx, upgradeEvery) != nil {
			return path
		}
	}
}
