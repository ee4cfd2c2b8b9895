package p2p

import (
	"maps"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Reason says why a request or message of a peer was refused.
type Reason string

// The reasons.
const (
	ReasonStranger Reason = "stranger" // its key is not registered
	ReasonRole     Reason = "role"     // its key is registered as something that is not answered here
	ReasonRate     Reason = "rate"     // more than its share a second
	ReasonBusy     Reason = "busy"     // more than its share at once
	ReasonBytes    Reason = "bytes"    // more bytes of answers than its share
	ReasonSize     Reason = "size"
	ReasonEncoding Reason = "encoding"
	ReasonVersion  Reason = "version"
	ReasonReplay   Reason = "replay" // seen before
	ReasonSlow     Reason = "slow"   // the request did not arrive in time
	ReasonContent  Reason = "content"
	ReasonPanic    Reason = "panic" // a handler of ours failed with a panic; see the log
)

// counts are a node's refusals by reason.
type counts struct {
	mu     sync.Mutex
	n      map[Reason]uint64
	warned map[string]time.Time
}

func newCounts() *counts { return &counts{n: map[Reason]uint64{}, warned: map[string]time.Time{}} }

// add returns how many there are now.
func (c *counts) add(r Reason) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[r]++
	return c.n[r]
}

// Refusals returns how many requests and messages of others were refused, by reason.
func (n *Node) Refusals() map[Reason]uint64 {
	n.counts.mu.Lock()
	defer n.counts.mu.Unlock()
	return maps.Clone(n.counts.n)
}

const (
	warnEvery = 10 * time.Minute
	maxWarned = 1024
)

// mayWarn reports whether it is time to log again that a peer has another version.
func (c *counts) mayWarn(what string, id peer.ID) bool {
	key := what + string(id)
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.warned[key]) < warnEvery {
		return false
	}
	if len(c.warned) >= maxWarned {
		clear(c.warned)
	}
	c.warned[key] = now
	return true
}
