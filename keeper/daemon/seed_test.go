package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/records"
)

// ledger is a chain of blocks, with slots left out.
type ledger struct {
	blocks []chain.Block
	asked  int
	fail   error
}

func (l *ledger) Last(context.Context) (uint64, error) {
	return l.blocks[len(l.blocks)-1].Slot, l.fail
}

func (l *ledger) At(_ context.Context, slot uint64) (chain.Block, error) {
	l.asked++
	i, _ := slices.BinarySearchFunc(l.blocks, slot, func(b chain.Block, s uint64) int { return int(int64(b.Slot) - int64(s)) })
	if i == len(l.blocks) {
		return chain.Block{}, chain.ErrNoBlockYet
	}
	return l.blocks[i], l.fail
}

func newLedger(n int, start int64, step func(i int) (slots uint64, seconds int64)) *ledger {
	l := &ledger{}
	slot, at := uint64(1), start
	for i := range n {
		l.blocks = append(l.blocks, chain.Block{Slot: slot, Hash: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, slot)), Time: time.Unix(at, 0)})
		s, secs := step(i)
		slot, at = slot+s, at+secs
	}
	return l
}

func newTestSeeds(t *testing.T, l *ledger, secs uint32) *seeds {
	o := seedOptions{Chain: l, Domain: records.Domain{1}, PeriodSecs: secs}
	options.Without(o, []string{"Log"}, func(field string, o seedOptions) {
		_, err := newSeeds(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	s, err := newSeeds(o)
	require.NoError(t, err)
	return s
}

// An hour of blocks takes a few dozen questions, and every keeper finds the same seed, whenever it looks.
func TestSeedsAreFound(t *testing.T) {
	const length, start = 3600, 360_000
	l := newLedger(30_000, start-600, func(i int) (uint64, int64) { return 1, int64(i % 2) })
	s := newTestSeeds(t, l, length)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	p := records.Period(start / length)
	_, ok := s.get(p)
	require.False(t, ok, "it is looked for first")
	require.Eventually(t, func() bool { _, ok = s.get(p); return ok }, waitLimit, 5*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Less(t, l.asked, 60)
	first, _ := s.get(p)

	l.blocks = append(l.blocks, newLedger(5_000, start+20_000, func(int) (uint64, int64) { return 1, 1 }).blocks...)
	for i := range l.blocks {
		l.blocks[i].Slot = uint64(i + 1)
	}
	later := newTestSeeds(t, l, length)
	require.NoError(t, later.find(t.Context(), p))
	again, ok := later.get(p)
	require.True(t, ok)
	require.Equal(t, first, again)

	require.ErrorIs(t, later.find(t.Context(), p+100), chain.ErrNoBlockYet)
	l.fail = errors.New("RPC is down")
	require.ErrorIs(t, later.find(t.Context(), p+1), l.fail)
	require.NoError(t, later.find(t.Context(), p), "what is known is known")
}
