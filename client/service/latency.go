package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/p2p"
)

const (
	// maxLatencies is of how many machines of a search the latency is measured, the best first, and latenciesAtOnce of how
	// many at a time.
	maxLatencies    = 64
	latenciesAtOnce = 16
	// latencyTimeout is how long one may take: finding the machine, connecting, and a few round trips.
	latencyTimeout = 8 * time.Second
	// latenciesTimeout is how long all of a search may take.
	latenciesTimeout = 20 * time.Second
	// latencyKeeps is how long a latency is taken for current.
	latencyKeeps = time.Minute
)

// Latency is the round trip between this program and a machine, as it was measured from here. What others say of it, or of a region,
// is no part of it.
type Latency struct {
	Reached bool `json:"reached" doc:"Whether the machine answered; without that there is no latency"`
	// Millis is the shortest of a few round trips.
	Millis float64 `json:"milliseconds" doc:"The shortest of a few round trips between this program and the machine"`
	// Relayed: the bytes go through a keeper, and a direct way may be shorter.
	Relayed bool `json:"relayed" doc:"The round trip is through a keeper, since there was no direct way"`
}

// String is a latency in a table; nil where nothing was measured.
func (l *Latency) String() string {
	switch {
	case l == nil:
		return "-"
	case !l.Reached:
		return "no answer"
	case l.Relayed:
		return fmt.Sprintf("%.1f ms relayed", l.Millis)
	}
	return fmt.Sprintf("%.1f ms", l.Millis)
}

// Latencies measures round trips to machines. It is safe for concurrent use.
type Latencies struct {
	net   *p2p.Node
	reach func(ctx context.Context, node solana.PublicKey) error
	room  chan struct{}
	now   func() time.Time

	mu    sync.Mutex
	known map[solana.PublicKey]knownLatency
}

type knownLatency struct {
	Latency
	at time.Time
}

// NewLatencies measures from a peer; reach connects it to a machine.
func NewLatencies(net *p2p.Node, reach func(ctx context.Context, node solana.PublicKey) error) *Latencies {
	return &Latencies{net: net, reach: reach, room: make(chan struct{}, latenciesAtOnce), now: time.Now, known: map[solana.PublicKey]knownLatency{}}
}

// Of measures the first of some machines, by their keys, and returns what there is when ctx ends. Machines that were measured
// within a minute are not asked again.
func (l *Latencies) Of(ctx context.Context, nodes []solana.PublicKey) map[solana.PublicKey]Latency {
	var wg sync.WaitGroup
	var mu sync.Mutex
	out := map[solana.PublicKey]Latency{}
	for _, key := range nodes[:min(len(nodes), maxLatencies)] {
		if x, ok := l.current(key); ok {
			mu.Lock()
			out[key] = x
			mu.Unlock()
			continue
		}
		wg.Go(func() {
			select {
			case l.room <- struct{}{}:
				defer func() { <-l.room }()
			case <-ctx.Done():
				return
			}
			x := l.measure(ctx, key)
			if ctx.Err() != nil {
				return
			}
			mu.Lock()
			out[key] = x
			mu.Unlock()
		})
	}
	wg.Wait()
	return out
}

// Offers returns some offers with the latency of the first of them, as far as it is known within latenciesTimeout. It leaves
// those that it is given as they are: answers to searches are shared.
func (l *Latencies) Offers(ctx context.Context, offers []Offer) []Offer {
	ctx, cancel := context.WithTimeout(ctx, latenciesTimeout)
	defer cancel()
	all := slices.Clone(offers)
	first := all[:min(len(all), maxLatencies)]
	var nodes []solana.PublicKey
	for _, o := range first {
		if key, err := solana.PublicKeyFromBase58(o.NodeKey); err == nil {
			nodes = append(nodes, key)
		}
	}
	known := l.Of(ctx, nodes)
	for i := range first {
		if key, err := solana.PublicKeyFromBase58(first[i].NodeKey); err == nil {
			x := known[key] // one that is not known was not reached in time
			first[i].Latency = &x
		}
	}
	return all
}

func (l *Latencies) current(key solana.PublicKey) (Latency, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x, ok := l.known[key]
	return x.Latency, ok && l.now().Sub(x.at) < latencyKeeps
}

// measure measures one machine.
func (l *Latencies) measure(ctx context.Context, key solana.PublicKey) (x Latency) {
	tctx, cancel := context.WithTimeout(ctx, latencyTimeout)
	defer cancel()
	if l.reach(tctx, key) == nil {
		if took, path, err := l.net.RoundTrip(tctx, key); err == nil {
			x = Latency{Reached: true, Millis: float64(took.Round(10*time.Microsecond)) / float64(time.Millisecond), Relayed: path == p2p.Relayed}
		}
	}
	if ctx.Err() == nil {
		l.note(key, x)
	}
	return x
}

// note keeps a latency, and forgets those that are over.
func (l *Latencies) note(key solana.PublicKey, x Latency) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	for k, old := range l.known {
		if now.Sub(old.at) >= latencyKeeps {
			delete(l.known, k)
		}
	}
	l.known[key] = knownLatency{x, now}
}
