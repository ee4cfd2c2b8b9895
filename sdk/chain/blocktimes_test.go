package chain_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/sdk/chain"
)

// codeSlotSkipped is the engine's answer for a slot without a block once it is final. Before, it is
// CodeBlockNotAvailable.
const codeSlotSkipped = -32007

// What is read of a chain's blocks does not depend on when and how it is read, whatever time the engine has lost:
// keepers that named different blocks for one instant had honest machines slashed.
func TestBlockTimesOfAnEngineThatStalls(t *testing.T) {
	for _, c := range []struct {
		name          string
		busy, travels bool
	}{{"without transactions", false, false}, {"under transactions", true, false}, {"while somebody moves the clock", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			at, stall := localnode.StartStallable(t, engine.Surfnet)
			l := newLookout(t, at)
			payer := solana.NewWallet().PublicKey()
			if c.busy {
				l.keep(func(ctx context.Context) {
					_, _ = l.c.Airdrop(ctx, payer, chain.SOL) // what a stall breaks is sent again
					pause(ctx, 20*time.Millisecond)
				})
			}
			l.keep(l.watchOpenSlot)
			read := map[uint64]chain.Block{}
			for _, d := range []time.Duration{1300 * time.Millisecond, 300 * time.Millisecond, 3100 * time.Millisecond, 700 * time.Millisecond} {
				pause(t.Context(), 900*time.Millisecond)
				l.readAll(read)
				resume := stall()
				arrived := func() {}
				if c.travels {
					arrived = l.travel(time.Hour) // the engine finds it when it goes on, and that time was lost
				}
				pause(t.Context(), d)
				resume()
				arrived()
				l.followsWallClock()
			}
			pause(t.Context(), 500*time.Millisecond)
			l.stop()
			l.readAll(read)
			l.watchedAgrees(read)
			if c.busy {
				l.historyAgrees(payer, read)
			}
			l.oneFirstBlock(read)
		})
	}
}

// lookout reads an engine's blocks in every way that the engine offers.
type lookout struct {
	t      *testing.T
	c      *chain.Client
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
	ahead  time.Duration // of the wall clock, by travels

	// By slot, as read while the slot was open: what getBlockTime and Clock said. Written by watchOpenSlot alone.
	times, clocks map[uint64]int64
	changed       []string
}

func newLookout(t *testing.T, at chain.Endpoint) *lookout {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{at}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.WaitReady(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	l := &lookout{t: t, c: c, ctx: ctx, cancel: cancel, times: map[uint64]int64{}, clocks: map[uint64]int64{}}
	t.Cleanup(l.stop)
	return l
}

// keep repeats f in the background until stop.
func (l *lookout) keep(f func(context.Context)) {
	l.wait.Go(func() {
		for l.ctx.Err() == nil {
			f(l.ctx)
		}
	})
}

func (l *lookout) stop() {
	l.cancel()
	l.wait.Wait()
}

// watchOpenSlot reads the newest slot's time, which is still open, and the clock that its transactions see.
func (l *lookout) watchOpenSlot(ctx context.Context) {
	note := func(seen map[uint64]int64, what string, slot uint64, at int64) {
		if before, ok := seen[slot]; ok && before != at {
			l.changed = append(l.changed, fmt.Sprintf("%s of slot %d: %d, then %d", what, slot, before, at))
		}
		seen[slot] = at
	}
	var at int64
	if slot, err := l.c.Slot(ctx, chain.Processed); err == nil && l.c.Raw(ctx, &at, "getBlockTime", slot) == nil {
		note(l.times, "the time", slot, at)
	}
	if a, err := l.c.Account(ctx, solana.SysVarClockPubkey, chain.Processed); err == nil {
		note(l.clocks, "the clock", binary.LittleEndian.Uint64(a.Data), int64(binary.LittleEndian.Uint64(a.Data[32:])))
	}
	pause(ctx, 2*time.Millisecond)
}

// readAll reads all confirmed blocks and adds them to those read before, which must be the same still.
func (l *lookout) readAll(read map[uint64]chain.Block) {
	l.t.Helper()
	var first uint64
	require.NoError(l.t, l.c.Raw(l.t.Context(), &first, "getFirstAvailableBlock"))
	var slots []uint64
	require.NoError(l.t, l.c.Raw(l.t.Context(), &slots, "getBlocks", first, nil, map[string]any{"commitment": chain.Confirmed}))
	require.True(l.t, slices.Equal(slots[:len(read)], slices.Sorted(maps.Keys(read))), "a block that was there is missing, or one was added before the last")
	var last chain.Block
	blocks := l.c.Blocks(chain.Confirmed)
	for _, slot := range slots {
		b, err := blocks.At(l.t.Context(), slot)
		require.NoError(l.t, err)
		require.Equal(l.t, slot, b.Slot)
		if before, ok := read[slot]; ok {
			require.Equal(l.t, before, b, "slot %d", slot)
		}
		read[slot] = b
		var at int64
		require.NoError(l.t, l.c.Raw(l.t.Context(), &at, "getBlockTime", slot))
		require.Equal(l.t, b.Time.Unix(), at, "getBlock and getBlockTime of slot %d", slot)
		require.False(l.t, b.Time.Before(last.Time), "from slot %d to %d the time falls by %s", last.Slot, slot, last.Time.Sub(b.Time))
		require.NotEqual(l.t, last.Hash, b.Hash)
		last = b
	}
}

// followsWallClock waits until the engine has made some blocks after a stall, and compares the newest one's time.
func (l *lookout) followsWallClock() {
	l.t.Helper()
	ctx := l.t.Context()
	blocks := l.c.Blocks(chain.Confirmed)
	before, err := blocks.Last(ctx)
	require.NoError(l.t, err)
	var asked time.Time
	var last uint64
	require.Eventually(l.t, func() bool {
		asked = time.Now()
		last, err = blocks.Last(ctx)
		return err == nil && last > before+5
	}, localnode.Timeout, 10*time.Millisecond)
	answered := time.Now()
	b, err := blocks.At(ctx, last)
	require.NoError(l.t, err)
	require.WithinRange(l.t, b.Time, asked.Add(l.ahead-2*time.Second), answered.Add(l.ahead+2*time.Second), "the newest block's time")
}

// travel asks the engine to move its clock, and returns a function that waits until it has.
func (l *lookout) travel(by time.Duration) (arrived func()) {
	to := time.Now().Add(l.ahead + by).Truncate(time.Second) // the engine's times of travels are whole seconds
	type answer struct {
		ahead time.Duration
		err   error
	}
	done := make(chan answer, 1)
	l.wait.Go(func() {
		var epoch any
		err := l.c.Raw(l.ctx, &epoch, "surfnet_timeTravel", map[string]any{"absoluteTimestamp": to.UnixMilli()})
		done <- answer{time.Until(to), err}
	})
	return func() {
		l.t.Helper()
		a := <-done
		require.NoError(l.t, a.err)
		l.ahead = a.ahead
	}
}

// watchedAgrees holds what open slots were read as against their blocks. A slot may have been left out since.
func (l *lookout) watchedAgrees(read map[uint64]chain.Block) {
	l.t.Helper()
	require.Empty(l.t, l.changed)
	require.NotEmpty(l.t, l.times)
	newest := slices.Max(slices.Collect(maps.Keys(read)))
	skipped := 0
	for what, seen := range map[string]map[uint64]int64{"getBlockTime": l.times, "Clock": l.clocks} {
		for slot, at := range seen {
			b, ok := read[slot]
			switch {
			case ok:
				require.Equal(l.t, b.Time.Unix(), at, "%s of slot %d while it was open", what, slot)
			case slot < newest:
				var none any
				err := l.c.Raw(l.t.Context(), &none, "getBlockTime", slot)
				gone := chain.IsCode(err, codeSlotSkipped) || chain.IsCode(err, chain.CodeBlockNotAvailable)
				require.True(l.t, gone, "slot %d: %v", slot, err)
				skipped++
			}
		}
	}
	l.t.Logf("%d blocks; %d and %d slots read while open, of which %d were skipped then", len(read), len(l.times), len(l.clocks), skipped)
}

// historyAgrees compares the times of an account's transactions in lists and one by one.
func (l *lookout) historyAgrees(key solana.PublicKey, read map[uint64]chain.Block) {
	l.t.Helper()
	list, err := l.c.History(l.t.Context(), key, chain.Confirmed, 0)
	require.NoError(l.t, err)
	compared := 0
	for _, s := range list {
		b, ok := read[s.Slot]
		if !ok {
			continue // newer than what was read
		}
		require.NotNil(l.t, s.BlockTime)
		require.Equal(l.t, b.Time.Unix(), *s.BlockTime, "getSignaturesForAddress and getBlock of slot %d", s.Slot)
		landed, err := l.c.Transaction(l.t.Context(), s.Signature, chain.Confirmed)
		require.NoError(l.t, err)
		require.True(l.t, b.Time.Equal(landed.BlockTime), "getTransaction and getBlock of slot %d", s.Slot)
		compared++
	}
	l.t.Logf("%d transactions in %d blocks", compared, len(read))
	require.Greater(l.t, compared, 50)
}

// until is a chain as a reader sees it whose last slot is behind.
type until struct {
	chain.BlockSource
	last uint64
}

func (u until) Last(context.Context) (uint64, error) { return u.last, nil }

// oneFirstBlock searches for each block's second and the one after it, from several last slots, and by looking at every
// block.
func (l *lookout) oneFirstBlock(read map[uint64]chain.Block) {
	l.t.Helper()
	slots := slices.Sorted(maps.Keys(read))
	instants := map[time.Time]bool{}
	for _, b := range read {
		instants[b.Time], instants[b.Time.Add(time.Second)] = true, true
	}
	for at := range instants {
		i := slices.IndexFunc(slots, func(s uint64) bool { return !read[s].Time.Before(at) })
		if i < 0 {
			continue // the second after the newest block's
		}
		for _, later := range []int{0, 1, 40, len(slots)} {
			from := until{l.c.Blocks(chain.Confirmed), slots[min(i+later, len(slots)-1)]}
			b, err := chain.FirstBlock(l.t.Context(), from, at)
			require.NoError(l.t, err)
			require.Equal(l.t, read[slots[i]], b, "the first block of %s, from slot %d", at, from.last)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
