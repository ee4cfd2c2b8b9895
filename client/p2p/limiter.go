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
	peers map[peer.ID]*peerLimit
}

type peerLimit struct {
	l    *rate.Limiter
	last time.Time
}

// maxLimited bounds the memory that strangers can make a limiter use.
const maxLimited = 8192

func newLimiter(perSecond float64, burst int) *limiter {
	return &limiter{limit: rate.Limit(perSecond), burst: burst, peers: map[peer.ID]*peerLimit{}}
}

// allow takes one from the peer's budget.
func (l *limiter) allow(id peer.ID) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.peers[id]
	if !ok {
		if len(l.peers) >= maxLimited {
			l.evict(now)
		}
		p = &peerLimit{l: rate.NewLimiter(l.limit, l.burst)}
		l.peers[id] = p
	}
	p.last = now
	return p.l.AllowN(now, 1)
}

// evict forgets peers whose budget is full again anyway, and if that is not enough, any.
func (l *limiter) evict(now time.Time) {
	refill := time.Duration(float64(l.burst) / float64(l.limit) * float64(time.Second))
	for id, p := range l.peers {
		if now.Sub(p.last) > refill {
			delete(l.peers, id)
		}
	}
	for id := range l.peers {
		if len(l.peers) < maxLimited {
			return
		}
		delete(l.peers, id)
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
