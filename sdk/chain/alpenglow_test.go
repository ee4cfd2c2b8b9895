package chain_test

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// alpenglow makes a chain by Alpenglow's rules (SIMD-0326, SIMD-0363): slots of one of the times that validators may agree on, any
// of them skipped, and a leader who may say any time from a nanosecond after the block before to twice what the slots since
// have lasted. Leaders who agree can have the clock stand still, or run twice as fast.
func alpenglow(t *rapid.T, blocks int) *ledger {
	slot := rapid.SampledFrom([]time.Duration{400, 350, 300, 250, 200}).Draw(t, "slot") * time.Millisecond
	l := &ledger{}
	at, now := uint64(1), time.Unix(10_000, 0)
	for range blocks {
		l.blocks = append(l.blocks, chain.Block{Slot: at, Hash: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, at)), Time: now.Truncate(time.Second)})
		since := uint64(1)
		if rapid.IntRange(0, 9).Draw(t, "skips") == 0 {
			since += uint64(rapid.SampledFrom([]int{1, 4, 8, 100}).Draw(t, "skipped"))
		}
		most := 2 * time.Duration(since) * slot
		step := time.Nanosecond
		switch rapid.IntRange(0, 3).Draw(t, "leader") {
		case 0:
			step = most
		case 1:
			step = time.Duration(rapid.Int64Range(1, int64(most)).Draw(t, "step"))
		case 2:
			step = time.Duration(since) * slot
		}
		at, now = at+since, now.Add(step)
	}
	return l
}

// The block that draws is the first of its time, by every keeper the same, however leaders set the clock, and whoever
// looks finds it without asking for every block.
func TestTheFirstBlockOfATimeIsFoundUnderAlpenglowsClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := alpenglow(t, rapid.IntRange(1, 400).Draw(t, "blocks"))
		first, last := l.blocks[0].Time.Unix(), l.blocks[len(l.blocks)-1].Time.Unix()
		at := time.Unix(rapid.Int64Range(first-5, last+5).Draw(t, "time"), 0)
		want := slices.IndexFunc(l.blocks, func(b chain.Block) bool { return !b.Time.Before(at) })
		got, err := chain.FirstBlock(t.Context(), l, at)
		if want < 0 {
			require.ErrorIs(t, err, chain.ErrNoBlockYet)
			return
		}
		require.NoError(t, err)
		require.Equal(t, l.blocks[want], got)
	})
}

// An order's nodes are drawn by no block before the one that holds the order, although its transactions read the clock of
// the block before theirs.
func TestNoBlockBeforeAnOrderDrawsItsNodesUnderAlpenglow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := alpenglow(t, rapid.IntRange(2, 300).Draw(t, "blocks"))
		holds := rapid.IntRange(1, len(l.blocks)-1).Draw(t, "block of the order")
		created := l.blocks[holds-1].Time.Unix() // what the program reads
		got, err := chain.FirstBlock(t.Context(), l, market.DrawTime(created))
		if err != nil {
			require.ErrorIs(t, err, chain.ErrNoBlockYet)
			return
		}
		require.GreaterOrEqual(t, got.Slot, l.blocks[holds].Slot)
	})
}
