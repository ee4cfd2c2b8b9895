package challenge

import (
	"sync"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Counts says how many questions of each kind were answered since the agent started.
type Counts struct {
	Liveness  uint64 `json:"liveness"`
	Inventory uint64 `json:"inventory"`
	Evidence  uint64 `json:"evidence"`
}

type counts struct {
	mu sync.Mutex
	c  Counts
}

func (c *counts) add(kind messages.CheckKind, answered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case kind == messages.CheckLiveness:
		c.c.Liveness++
	case kind == messages.CheckInventory && answered:
		c.c.Inventory++
	case kind == messages.CheckEvidence && answered:
		c.c.Evidence++
	}
}

// Counts returns the figures so far.
func (s *Server) Counts() Counts {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	return s.count.c
}
