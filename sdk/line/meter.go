package line

import "time"

// Meter notes when items were sent and answered, in order, by one clock.
type Meter struct {
	sent, answered []time.Time
}

// Sent notes that the next item is about to be sent.
func (m *Meter) Sent(at time.Time) { m.sent = append(m.sent, at) }

// Answered notes that the next answer is complete. There are never more answers than items.
func (m *Meter) Answered(at time.Time) { m.answered = append(m.answered, at) }

// Count is how many answers there are.
func (m *Meter) Count() int { return len(m.answered) }

// Mbps is what the line moved, in whole Mbit/s and at least 1: 0 stands for what was not measured.
//
// Of a transfer that is complete it is the best of all windows that have at least half of its blocks. Each window is a lower
// bound, so that the best one is: it leaves the ramp-up out where that pays, and counts the queue of what was sent before
// against the line. A transfer that is not complete is taken as if it had lasted for all of the limit.
func (m *Meter) Mbps() uint32 {
	n := len(m.answered)
	if n < Blocks {
		return rate(n, Limit)
	}
	best := uint32(0)
	for first := range n - Blocks/2 + 1 {
		for last := first + Blocks/2 - 1; last < n; last++ {
			best = max(best, rate(last-first+1, m.answered[last].Sub(m.sent[first])))
		}
	}
	return best
}

// rate is so many blocks in a time, in Mbit/s and at least 1.
func rate(blocks int, in time.Duration) uint32 {
	bits := float64(blocks) * Block * 8
	return uint32(min(max(bits/max(in, time.Microsecond).Seconds()/1e6, 1), 1<<31))
}
