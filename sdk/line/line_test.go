package line

import (
	"bytes"
	"compress/flate"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A committee's checks of a day stay below what a node moves in one.
func TestACommitteeStaysWithinTheDay(t *testing.T) {
	require.Less(t, 5*PerCheck, PerDay)
}

func TestBlocks(t *testing.T) {
	a, again, b := make([]byte, Block), bytes.Repeat([]byte{7}, Block), make([]byte, Block)
	Expand(Seed{1}, a)
	Expand(Seed{1}, again)
	Expand(Seed{2}, b)
	require.Equal(t, a, again, "whatever the buffer had")
	require.NotEqual(t, Hash(a), Hash(b))
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestCompression)
	require.NoError(t, err)
	_, err = w.Write(a)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Greater(t, small.Len(), Block, "does not compress")
}

// sim is a line that moves so many blocks a second, ramps up by doubling its window each round trip, and holds the answers
// to the first blocks back until the last of them has come.
func sim(perSecond float64, rtt time.Duration, held int) *Meter {
	var m Meter
	t0 := time.Unix(1000, 0)
	var came [Blocks]time.Time
	window, acked := 1, 0
	for k := range Blocks {
		at := t0
		if k >= InFlight {
			at = later(m.answered[k-InFlight], m.sent[k-1])
		}
		m.Sent(at)
		if k > 0 {
			at = later(at, came[k-1])
		}
		if k >= acked+window { // the congestion window is full: it doubles with the next answer
			at = later(at, came[k-1].Add(rtt))
			acked, window = k, 2*window
		}
		came[k] = at.Add(time.Duration(float64(time.Second) / perSecond))
		m.Answered(came[k].Add(rtt))
		if k+1 == held {
			for j := range held {
				m.answered[j] = m.answered[k]
			}
		}
	}
	return &m
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The figure is below what the line has, and near it where the round trip is short.
func TestMbps(t *testing.T) {
	const block = Block * 8 / 1e6 // Mbit
	for _, c := range []struct {
		mbps  float64
		rtt   time.Duration
		least float64
	}{{50, time.Millisecond, 0.97}, {1000, time.Millisecond, 0.85}, {100, 40 * time.Millisecond, 0.6}, {1000, 80 * time.Millisecond, 0.12}} {
		got := float64(sim(c.mbps/block, c.rtt, 0).Mbps())
		require.LessOrEqual(t, got, c.mbps)
		require.GreaterOrEqual(t, got, c.least*c.mbps-1, "%v Mbit/s, %v", c.mbps, c.rtt)
	}
}

// Who holds answers back and gives them all at once does not gain by it, nor who answers the beginning late.
func TestAnswersHeldBack(t *testing.T) {
	const block = Block * 8 / 1e6
	for held := range InFlight + 1 { // who holds more back is sent no more
		require.LessOrEqual(t, sim(50/block, time.Millisecond, held).Mbps(), uint32(50), "of the first %d", held)
	}
	late := sim(50/block, time.Millisecond, 0)
	for k := Blocks - InFlight; k < Blocks; k++ {
		late.answered[k] = late.answered[Blocks-1]
	}
	require.LessOrEqual(t, late.Mbps(), uint32(50), "of the last")
}

// What did not come in time counts over all of the time.
func TestAPartOfATransfer(t *testing.T) {
	m := sim(1e6, 0, 0)
	m.answered = m.answered[:Blocks/2]
	require.EqualValues(t, 2, m.Mbps(), "3 MiB in 10 s")
	m.answered = nil
	require.EqualValues(t, 1, m.Mbps())
}
