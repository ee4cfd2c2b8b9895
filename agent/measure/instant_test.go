package measure

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// A keeper that names a block which is not the instant costs the node what it computes until it has looked the block up,
// once a period. The next keeper's run begins then.
func TestAWrongBlockEndsTheRunAndItsKeeperIsNotHeard(t *testing.T) {
	liar, honest := block(period, 0), block(period, 1)
	looked := make(chan bool)
	f := newFixture(t, func(_ context.Context, at instant.Instant) (bool, error) {
		if at.Hash == honest.BlockHash {
			return true, nil
		}
		return <-looked, nil
	})
	lies := f.joins(t.Context(), 0, liar)
	joins := f.joins(t.Context(), 1, liar)
	f.rounds(0, 1)
	require.NotNil(t, lies.next(t).Roots)
	require.NotNil(t, joins.next(t).Roots)
	waits := f.joins(t.Context(), 2, honest)
	looked <- false
	for _, s := range []seen{lies, joins} {
		for m := s.next(t); ; m = s.next(t) {
			if m.Roots == nil {
				require.Equal(t, messages.MeasureBlock, m.Refused)
				break
			}
		}
	}
	// Members learn of the wrong block before the GPUs do: a root that came now might be the first run's.
	second := func() bool { return f.devices[0].runs.Load() == 2 && f.devices[1].runs.Load() == 2 }
	require.Eventually(t, second, waitLimit, time.Millisecond)
	f.rounds(0, 1) // of the second run
	require.NotNil(t, waits.next(t).Roots)
	require.Equal(t, messages.MeasureBlock, f.refused(t, 0, honest), "not in this period")
	require.Equal(t, messages.MeasureBlock, f.refused(t, 1, honest), "not in this period")
	require.EqualValues(t, 2, f.devices[0].runs.Load())
}

// A keeper that names a block of its own before all others holds no run up, though the node cannot say yet whether the block is the
// instant: the block that more keepers name is measured by at once. The keeper may ask again as often as it likes.
func TestMoreKeepersOutvoteABlock(t *testing.T) {
	lie, true1 := block(period, 0), block(period, 1)
	f := newFixture(t, func(_ context.Context, at instant.Instant) (bool, error) {
		if at.Hash == true1.BlockHash {
			return true, nil
		}
		return false, errBroken // a block to come: nobody knows
	})
	liar := f.joins(t.Context(), 0, lie)
	f.rounds(0, 1)
	require.NotNil(t, liar.next(t).Roots)
	one := f.joins(t.Context(), 1, true1)
	two := f.joins(t.Context(), 2, true1)
	for open := true; open; { // what is left of the liar's roots
		select {
		case m := <-liar.items:
			require.NotNil(t, m.Roots)
		case err := <-liar.err:
			require.NoError(t, err, "one that was right could join again")
			open = false
		}
	}
	again := make(chan messages.MeasureRefusal, 1)
	go func() {
		_, last, _ := f.joins(t.Context(), 0, lie).all(t)
		again <- last.Refused
	}()
	require.Eventually(t, func() bool { return f.devices[0].runs.Load() == 2 && f.devices[1].runs.Load() == 2 }, waitLimit, time.Millisecond)
	require.Equal(t, messages.MeasureBlock, <-again, "the block is known by then")
	go func() { f.rounds(0, 1); f.end() }()
	for _, s := range []seen{one, two} {
		roots, last, _ := s.all(t)
		require.Len(t, roots[0], 1)
		require.NotNil(t, last.Commitment)
	}
	require.EqualValues(t, 2, f.devices[0].runs.Load())
}

// Once the node knows the instant, a keeper that names another block is not heard.
func TestAnotherBlockThanTheInstant(t *testing.T) {
	f := newFixture(t, right1)
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	require.NotNil(t, s.next(t).Roots)
	require.Equal(t, messages.MeasureBlock, f.refused(t, 1, block(period, 1)))
	require.Equal(t, messages.MeasureBlock, f.refused(t, 1, block(period, 0)))
	nonsense := block(period, 0)
	for i := byte(0); ; i++ { // a hash that can be no instant at this tick
		nonsense.BlockHash = [32]byte{i}
		if _, here := instant.Draw(domain, period, 0, nonsense.Slot, nonsense.BlockHash, time.Time{}); !here {
			break
		}
	}
	require.Equal(t, messages.MeasureBlock, f.refused(t, 2, nonsense))
	require.EqualValues(t, 1, f.devices[0].runs.Load())
}

func TestWhatCanBeNoInstantStartsNothing(t *testing.T) {
	f := newFixture(t, right1)
	nonsense := block(period, 0)
	nonsense.Slot = 0
	for _, here := instant.Draw(domain, period, 0, nonsense.Slot, nonsense.BlockHash, time.Time{}); here; {
		nonsense.Slot++
		_, here = instant.Draw(domain, period, 0, nonsense.Slot, nonsense.BlockHash, time.Time{})
	}
	require.Equal(t, messages.MeasureBlock, f.refused(t, 0, nonsense))
	require.Equal(t, messages.MeasureBlock, f.refused(t, 0, block(period, 0)), "nor is it heard again")
	require.Zero(t, f.devices[0].runs.Load())
}

// A node signs only what it must open. So it signs nothing before it has seen the instant's block itself; that the endpoint
// is late makes the machine no slower, since members hear at once that it is ready.
func TestNothingIsSignedBeforeTheNodeHasSeenTheBlock(t *testing.T) {
	looked := make(chan bool)
	f := newFixture(t, func(ctx context.Context, _ instant.Instant) (bool, error) {
		select {
		case ok := <-looked:
			return ok, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	})
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	f.end()
	m := s.next(t)
	for m.Ready == nil {
		require.NotNil(t, m.Roots)
		m = s.next(t)
	}
	require.Equal(t, messages.MeasureOver, f.opens(t, 0, 0, 1).Refused, "nothing is signed")
	require.Zero(t, f.Counts().Committed)
	looked <- true
	last := s.next(t)
	require.NotNil(t, last.Commitment)
	require.Equal(t, *m.Ready, sha256.Sum256(last.Commitment.Commitment))
	require.NotEmpty(t, f.opens(t, 0, 0, 1).Answer)
}

// A node that cannot read the block in time signs nothing, and says that it does not know. So does one that reads another
// block after its GPUs have ended.
func TestANodeThatDoesNotSeeTheBlockSignsNothing(t *testing.T) {
	for name, is := range map[string]instants{
		"no answer": func(context.Context, instant.Instant) (bool, error) { return false, errBroken },
		"another block, late": func(ctx context.Context, _ instant.Instant) (bool, error) {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			return false, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, is, func(o *Options) { o.OpenFor = 200 * time.Millisecond })
			s := f.joins(t.Context(), 0, block(period, 0))
			go func() { f.rounds(0, 1); f.end() }()
			for m := s.next(t); ; m = s.next(t) {
				require.Nil(t, m.Commitment)
				if m.Refused != 0 {
					require.Equal(t, messages.MeasureBlock, m.Refused)
					break
				}
			}
			require.Zero(t, f.Counts().Committed)
			require.NoError(t, f.Free(t.Context(), solana.PublicKey{}), "the memory is given back")
			require.Contains(t, f.Counts().Trouble(), "It costs no stake")
		})
	}
}

// An agent that has just started keeps members waiting until it knows the market. It refuses none of them.
func TestMembersWaitUntilTheNodeKnowsTheMarket(t *testing.T) {
	var known atomic.Bool
	f := newFixture(t, right1, func(o *Options) { o.PeriodSecs = func() (uint32, bool) { return secs, known.Load() } })
	s := f.joins(t.Context(), 0, block(period, 0))
	select {
	case m := <-s.items:
		t.Fatalf("an answer before the market is known: %+v", m)
	case <-time.After(50 * time.Millisecond):
	}
	known.Store(true)
	f.sets(false)
	f.rounds(0, 1)
	require.NotNil(t, s.next(t).Roots)
}

// Runs begin around their tick only, whatever the period in the request.
func TestRunsBeginInTime(t *testing.T) {
	f := newFixture(t, right1)
	for _, off := range []time.Duration{-2 * time.Minute, 2 * time.Minute, time.Hour} {
		f.mu.Lock()
		f.now = instant.Tick(period, 0, secs).Add(off)
		f.mu.Unlock()
		require.Equal(t, messages.MeasureOver, f.refused(t, 0, block(period, 0)), off)
	}
	f.mu.Lock()
	f.now = instant.Tick(period, 0, secs).Add(50 * time.Second)
	f.mu.Unlock()
	// 2⁶⁴ seconds are no whole number of periods, but 2⁶⁰ periods are one of 2⁶⁴ seconds, so that their times are the same.
	for _, p := range []records.Period{0, period - 1, period + 1, period + 1<<60, math.MaxUint64} {
		require.Equal(t, messages.MeasureOver, f.refused(t, 0, block(p, 0)), p)
	}
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	require.NotNil(t, s.next(t).Roots)
}

// The next period's run ends the time of openings of the one before, but not a run that computes, nor one that a member has
// still to draw of: a keeper that names a later period cannot keep the node from opening what it has signed.
func TestTheNextPeriod(t *testing.T) {
	f := newFixture(t, right1)
	s := f.joins(t.Context(), 0, block(period, 0))
	f.rounds(0, 1)
	f.mu.Lock()
	f.now = instant.Tick(period+1, 0, secs)
	f.mu.Unlock()
	require.Equal(t, messages.MeasureOver, f.refused(t, 1, block(period+1, 0)), "it computes")
	f.end()
	_, last, _ := s.all(t)
	require.NotNil(t, last.Commitment)
	require.Equal(t, messages.MeasureOver, f.refused(t, 1, block(period+1, 0)), "a member has still to draw")
	for _, gpu := range []byte{0, 3} {
		require.NotEmpty(t, f.opens(t, 0, gpu, 1).Answer)
	}
	f.devices = []*device{newDevice(), newDevice()}
	s = f.joins(t.Context(), 1, block(period+1, 0))
	f.rounds(0, 1)
	require.NotNil(t, s.next(t).Roots)
	require.Equal(t, messages.MeasureOver, f.refused(t, 0, block(period, 0)), "the period is over")
	require.Equal(t, messages.MeasureOver, f.opens(t, 0, 0, 1).Refused)
}

func TestWhoIsAnswered(t *testing.T) {
	f := newFixture(t, right1)
	send := func(messages.MeasureItem) error {
		t.Error("something was sent")
		return nil
	}
	for name, c := range map[string]struct {
		from solana.PublicKey
		mod  func(*messages.MeasureRequest)
		code p2p.Code
	}{
		"stranger": {solana.PublicKey{7}, func(*messages.MeasureRequest) {}, p2p.CodeRefused},
		"version":  {f.keepers[0], func(r *messages.MeasureRequest) { r.Version++ }, p2p.CodeVersion},
		"node":     {f.keepers[0], func(r *messages.MeasureRequest) { r.Node[5]++ }, p2p.CodeNotFound},
		"tick":     {f.keepers[0], func(r *messages.MeasureRequest) { r.Tick = instant.Ticks }, p2p.CodeBadRequest},
	} {
		req := block(period, 0)
		c.mod(&req)
		require.True(t, p2p.IsCode(f.Join(t.Context(), c.from, req, send), c.code), name)
	}
	_, err := f.Open(t.Context(), solana.PublicKey{7}, messages.MeasureOpenRequest{Version: messages.Version, Node: account, Period: uint64(period)})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused))
}

// ledger is a chain with a block every second.
type ledger struct {
	start, last int64
	fails       atomic.Bool
}

func (l *ledger) Last(context.Context) (uint64, error) {
	if l.fails.Load() {
		return 0, errBroken
	}
	return uint64(l.last), nil
}

func (l *ledger) At(_ context.Context, slot uint64) (chain.Block, error) {
	at := max(l.start, int64(slot))
	if at > l.last {
		return chain.Block{}, chain.ErrNoBlockYet
	}
	return chain.Block{Slot: uint64(at), Hash: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(at))), Time: time.Unix(at, 0)}, nil
}

// Of a period's blocks one is its instant, as keepers find it.
func TestBlocksFindTheInstant(t *testing.T) {
	begin := instant.Tick(period, 0, secs).Unix()
	l := &ledger{start: begin - 100, last: begin + secs}
	b := Blocks{Source: l, Domain: domain, PeriodSecs: secs}
	var candidates []instant.Instant
	for k := range instant.Ticks {
		at := instant.Tick(period, k, secs)
		found, err := chain.FirstBlock(t.Context(), l, at)
		require.NoError(t, err)
		i, here := instant.Draw(domain, period, k, found.Slot, found.Hash, found.Time)
		if here {
			candidates = append(candidates, i)
		}
	}
	require.NotEmpty(t, candidates)
	for i, c := range candidates { // the first counts
		is, err := b.Is(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, i == 0, is)
	}
	for _, mod := range []func(*instant.Instant){
		func(i *instant.Instant) { i.Slot++ },
		func(i *instant.Instant) { i.Hash[3]++ },
		func(i *instant.Instant) { i.Tick = (i.Tick + 1) % instant.Ticks },
		func(i *instant.Instant) { i.Period-- },
	} {
		c := slices.Clone(candidates)[0]
		mod(&c)
		if c.Period != period {
			l.start -= secs // the chain has that period, too
		}
		is, err := b.Is(t.Context(), c)
		require.NoError(t, err)
		require.False(t, is)
	}
	l.last = instant.Tick(period, candidates[0].Tick, secs).Unix() - 1
	_, err := b.Is(t.Context(), candidates[0])
	require.ErrorIs(t, err, chain.ErrNoBlockYet)
	l.fails.Store(true)
	_, err = b.Is(t.Context(), candidates[0])
	require.ErrorIs(t, err, errBroken)
}

// A machine asks in parts which tick of a period is the instant, while the period runs.
func TestTheInstantIsLookedForInParts(t *testing.T) {
	l := &ledger{start: instant.Tick(period, 0, secs).Unix() - 100, last: instant.Tick(period, 0, secs).Unix() + secs}
	b := Blocks{Source: l, Domain: domain, PeriodSecs: secs}
	want, next, err := b.Drawn(t.Context(), period, 0, instant.Ticks-1)
	require.NoError(t, err)
	require.Less(t, want, instant.Ticks)
	require.Equal(t, want+1, next)
	for k := range instant.Ticks {
		at, next, err := b.Drawn(t.Context(), period, k, k)
		require.NoError(t, err)
		require.Equal(t, k+1, next)
		if k < want {
			require.Equal(t, instant.Ticks, at)
		} else if k == want {
			require.Equal(t, want, at)
		}
	}
	l.last = instant.Tick(period, want, secs).Unix() - 1
	at, next, err := b.Drawn(t.Context(), period, 0, instant.Ticks-1)
	require.NoError(t, err)
	require.Equal(t, []int{instant.Ticks, want}, []int{at, next}, "its block is not there yet")
	l.fails.Store(true)
	at, next, err = b.Drawn(t.Context(), period, want, want)
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, []int{instant.Ticks, want}, []int{at, next})
}
