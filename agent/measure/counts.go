package measure

import (
	"maps"
	"sync"
	"time"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Counts are figures since the agent started.
type Counts struct {
	// Committed counts runs whose commitment was signed, Ended all by why they ended: MeasureOver is the good end.
	Committed uint64
	Ended     map[messages.MeasureRefusal]uint64
	// Refused counts answers to keepers, of joins and of openings, by why they refuse.
	Refused map[messages.MeasureRefusal]uint64
	// Opened counts draws that were answered.
	Opened uint64
	Last   Last
	// Why is why the last run ended, At when. Zero before the first.
	Why messages.MeasureRefusal
	At  time.Time
}

// Last is what the last run with a commitment was, by this machine's clock. Zero before the first.
type Last struct {
	// Took is the time from the first computation to the signature.
	Took time.Duration
	// Figures are the least of the node's GPUs. Keepers see less: what is sent takes time.
	Figures format.Figures
}

type counts struct {
	mu sync.Mutex
	c  Counts
}

func newCounts() *counts {
	return &counts{c: Counts{Ended: map[messages.MeasureRefusal]uint64{}, Refused: map[messages.MeasureRefusal]uint64{}}}
}

func (c *counts) ended(why messages.MeasureRefusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Ended[why]++
	c.c.Why, c.c.At = why, time.Now()
}

// answered counts what a keeper was told; 0 is no refusal.
func (c *counts) answered(no messages.MeasureRefusal) {
	if no == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Refused[no]++
}

func (c *counts) opened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Opened++
}

func (c *counts) committed(l Last) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c.Committed++
	c.c.Last = l
}

// Counts returns the figures so far.
func (s *Server) Counts() Counts {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	c := s.count.c
	c.Ended, c.Refused = maps.Clone(c.Ended), maps.Clone(c.Refused)
	return c
}

// Trouble says why the node got no figures in its last measurement, what that means and what to do; empty where nothing is to be
// done.
func (c Counts) Trouble() string {
	at := c.At.UTC().Format(time.RFC3339)
	switch c.Why {
	case messages.MeasureBlock:
		return "not measured at " + at + ": this machine's RPC endpoint showed another block than the keepers named, or none in time. " +
			"It costs no stake, and the machine keeps its leases; without figures it gets no orders that ask for them. Use another endpoint: --url"
	case messages.MeasureFailed:
		return "not measured at " + at + ": a GPU could not compute. Keepers report it as failed, which can cost stake. Look for the GPU's error: gantry-agent doctor"
	}
	return ""
}

// least are the figures of the slowest GPU in each; none when one has made no round.
func least(gpus []GPU, entries []format.Entry, began, ended time.Time, came [][]time.Time) (f format.Figures) {
	for i, e := range entries {
		if e.Rounds == 0 {
			return format.Figures{}
		}
		g := format.Measured(gpus[i].Profile, e, format.Timing{Start: began, Roots: came[i], Commitment: ended})
		if i == 0 {
			f = g
		}
		f.Operations, f.Memory, f.Bandwidth = min(f.Operations, g.Operations), min(f.Memory, g.Memory), min(f.Bandwidth, g.Bandwidth)
	}
	return f
}
