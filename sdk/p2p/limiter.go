package p2p

import (
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/time/rate"
)

// limiter is a rate limit of its own for each peer.
type limiter struct {
	limit rate.Limit
	burst int

	mu    sync.Mutex
	peers buckets
}

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{limit: rate.Limit(perSecond), burst: burst, peers: buckets{}}
}

// allow takes one from the peer's budget.
func (l *limiter) allow(id peer.ID) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peers.get(string(id), l.limit, l.burst, now).AllowN(now, 1)
}

// buckets are token buckets by what they are of. The caller holds a lock.
type buckets map[string]*rate.Limiter

// maxLimited bounds the memory that strangers can make limits use.
const maxLimited = 8192

// get returns the bucket of a key, full at first.
func (b buckets) get(key string, limit rate.Limit, burst int, now time.Time) *rate.Limiter {
	l, ok := b[key]
	if !ok {
		if len(b) >= maxLimited {
			b.evict(now)
		}
		l = rate.NewLimiter(limit, burst)
		b[key] = l
	}
	if l.Limit() != limit || l.Burst() != burst { // the peer is something else by now
		l.SetLimitAt(now, limit)
		l.SetBurstAt(now, burst)
	}
	return l
}

// evict forgets full buckets, and if that is not enough, any.
func (b buckets) evict(now time.Time) {
	for key, l := range b {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(b, key)
		}
	}
	for key := range b {
		if len(b) < maxLimited {
			return
		}
		delete(b, key)
	}
}

// slots bounds what is served at once, in all and for one peer. Some of it may be kept for those who come first.
type slots struct {
	most, perPeer int
	others        int // of most, for those who do not come first

	mu          sync.Mutex
	taken       int
	takenOthers int
	peers       map[peer.ID]int
}

func newSlots(p Protocol) *slots {
	s := &slots{most: p.Concurrent, perPeer: p.PerPeer, others: p.Concurrent, peers: map[peer.ID]int{}}
	if p.First != nil {
		s.others = max(1, p.Concurrent/2)
	}
	return s
}

// take returns what frees the slot again; false when there is none left. first is for those for whom places are kept.
func (s *slots) take(id peer.ID, first bool) (free func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.most || s.peers[id] >= s.perPeer || !first && s.takenOthers >= s.others {
		return nil, false
	}
	other := 0
	if !first {
		other = 1
	}
	s.taken++
	s.takenOthers += other
	s.peers[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		s.takenOthers -= other
		if s.peers[id]--; s.peers[id] <= 0 {
			delete(s.peers, id)
		}
	}, true
}
