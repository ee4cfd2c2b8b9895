package p2p

import (
	"context"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/internal/addrgroup"
	"github.com/gantry-market/gantry/internal/wait"
)

// Allowance is how many bytes of answers a peer may take out of this node. A question has some sixty bytes and an answer
// up to five million, so that a number of questions alone bounds nothing.
type Allowance struct {
	Rate  int // bytes a second
	Burst int // bytes at once
	// Shared: the peers at one address together have sharedBy times as much, whatever their number. Keys cost little.
	Shared bool
}

// sharedBy is how many times a peer's allowance all peers at one address have: a rack, or a family, behind a router.
const sharedBy = 4

// ForKeepers is what a keeper may take out of another. It is more than agreeing on a report needs: a late keeper reads the
// leaves of many reports, of 10.6 MB each at 40,000 nodes, from one peer, at the pace of its questions.
func ForKeepers() Allowance { return Allowance{Rate: 16 << 20, Burst: 128 << 20} }

// ForMembers is what anyone else in the market may take out of a keeper: statements about a node, a set of bids, a
// complaint.
func ForMembers() Allowance { return Allowance{Rate: 256 << 10, Burst: 8 << 20, Shared: true} }

// forStrangers is for one whom the market does not know, forAllStrangers for all of them together.
func forStrangers() Allowance    { return Allowance{Rate: 64 << 10, Burst: 4 << 20, Shared: true} }
func forAllStrangers() Allowance { return Allowance{Rate: 1 << 20, Burst: 16 << 20} }

// budget counts the bytes of answers. A peer that has taken more than it may waits until it has paid for that: so one
// answer may be larger than what is left.
type budget struct {
	of  func(peer.ID) (a Allowance, stranger bool)
	now func() time.Time

	mu      sync.Mutex
	buckets buckets
}

func newBudget(g *gate, o *Options) *budget {
	of := func(id peer.ID) (Allowance, bool) {
		key, err := PublicKey(id)
		switch {
		case err != nil || !g.knows(id):
			return forStrangers(), true
		case o.Allow == nil:
			return ForKeepers(), false
		}
		return o.Allow(key), false
	}
	return &budget{of: of, now: time.Now, buckets: buckets{}}
}

// take takes n bytes for an answer to a peer at an address. Where something that it belongs to has none left, it takes
// nothing and returns how long to wait, more than zero. With n = 0 it only looks.
func (b *budget) take(id peer.ID, at ma.Multiaddr, n int) (wait time.Duration) {
	a, stranger := b.of(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	all := []*rate.Limiter{b.buckets.get("peer/"+string(id), rate.Limit(a.Rate), a.Burst, now)}
	if group := addressGroup(at); a.Shared && group != "" {
		all = append(all, b.buckets.get("at/"+group, rate.Limit(sharedBy*a.Rate), sharedBy*a.Burst, now))
	}
	if stranger {
		a := forAllStrangers()
		all = append(all, b.buckets.get("strangers", rate.Limit(a.Rate), a.Burst, now))
	}
	for _, l := range all {
		if have := l.TokensAt(now); have < 1 {
			wait = max(wait, time.Duration((1-have)/float64(l.Limit())*float64(time.Second)))
		}
	}
	if wait > 0 {
		return max(wait, time.Millisecond)
	}
	for _, l := range all {
		l.ReserveN(now, min(n, l.Burst()))
	}
	return 0
}

// await takes n bytes as soon as it may.
func (b *budget) await(ctx context.Context, id peer.ID, at ma.Multiaddr, n int) error {
	for {
		pause := b.take(id, at, n)
		if pause == 0 {
			return nil
		}
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// spent is the refusal of a peer that has taken what it may.
func (b *budget) spent(id peer.ID, wait time.Duration) *refusal {
	a, _ := b.of(id)
	return &refusal{ReasonBytes, Refuse(CodeRateLimited, "you and those at your address have taken as many bytes as you may, which are %d KiB a second; ask again in %s",
		a.Rate>>10, (wait + time.Second - 1).Truncate(time.Second))}
}

// addressGroup is what the connections of one site have in common. It is empty for this machine, and for connections through
// a relay, which bounds them itself.
func addressGroup(at ma.Multiaddr) string {
	if at == nil || isCircuit(at) {
		return ""
	}
	ip := addrgroup.Plain(ipOf(at))
	if !ip.IsValid() || ip.IsLoopback() {
		return ""
	}
	return addrgroup.Of(ip).String()
}
