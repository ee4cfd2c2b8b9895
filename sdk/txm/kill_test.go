package txm

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/chain"
)

// life runs a manager over the rig's store until it is killed at an RPC call or everything is done. It reports whether
// it was killed.
//
// Every write to the store lies between two calls of the RPC, so dying before and after each call covers dying in every
// state.
func (r *rig) life(intents []Intent, at int, after bool) (killed bool) {
	store := r.open()
	rpc := &mortal{fakeChain: r.chain, at: at, after: after}
	rpc.onDead = func() { _ = store.db.Close() }
	m, err := New(r.options(rpc, store))
	require.NoError(r.t, err)
	_, err = m.Resume(nil)
	require.NoError(r.t, err)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for _, in := range intents {
		wg.Add(1)
		go func() {
			defer wg.Done()
			in.Commitment = chain.Finalized
			_, _ = m.Submit(m.ctx, in)
		}()
	}
	go func() { wg.Wait(); close(done) }()
	deadline := time.After(15 * time.Second)
	for {
		select {
		case <-done:
		case <-deadline:
			r.t.Fatalf("not done in time; killed at %d (after %v)", at, after)
		case <-time.After(500 * time.Microsecond):
			rpc.mu.Lock()
			killed = rpc.dead
			rpc.mu.Unlock()
			if !killed {
				continue
			}
		}
		m.Close()
		<-done
		_ = store.Close()
		rpc.mu.Lock()
		defer rpc.mu.Unlock()
		return rpc.dead
	}
}

// TestKillAtEveryCall kills the process before and after every single call it makes, restarts it and expects exactly
// one effect.
func TestKillAtEveryCall(t *testing.T) {
	for name, setup := range map[string]func(c *fakeChain){
		"lands at once":  func(*fakeChain) {},
		"lands late":     func(c *fakeChain) { c.delay = func() uint64 { return 6 } },
		"first is lost":  func(c *fakeChain) { c.drop = func(n int) bool { return n == 1 } },
		"first expires":  func(c *fakeChain) { c.validFor = 5; c.drop = func(n int) bool { return n < 4 } },
		"unclear answer": func(c *fakeChain) { c.sendErr = fmt.Errorf("%w: cut", chain.ErrAmbiguous) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, after := range []bool{false, true} {
				kills := 0
				for at, survived := 1, 0; survived < 2 && at <= 60; at++ {
					r := newRig(t)
					setup(r.chain)
					in := []Intent{{ID: "x", Instructions: do("a")}}
					if r.life(in, at, after) {
						kills++
						require.LessOrEqual(t, r.chain.effect("a"), 1)
						require.False(t, r.life(in, 0, false))
					} else {
						survived++ // it makes fewer calls than that
					}
					require.Equal(t, 1, r.chain.effect("a"), "killed at call %d, after its effect: %v", at, after)
				}
				require.Greater(t, kills, 3)
			}
		})
	}
}

// TestKillAndResumeWithoutResubmitting checks that what was accepted is not lost even if nobody asks for it again.
func TestKillAndResumeWithoutResubmitting(t *testing.T) {
	for at := 1; at <= 12; at++ {
		r := newRig(t)
		in := []Intent{{ID: "x", Instructions: do("a")}}
		r.life(in, at, at%2 == 0)
		require.False(t, r.life(nil, 0, false))
		m := r.manager()
		_, err := m.Resume(nil)
		require.NoError(t, err)
		_, err = m.Wait(ctxFor(t), "x", chain.Finalized)
		require.NoError(t, err)
		require.Equal(t, 1, r.chain.effect("a"))
		m.Close()
	}
}

// TestRandomLives lets a bad network and kills meet several intents at random moments.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		lost := rapid.SliceOfN(rapid.Bool(), 1, 12).Draw(rt, "lost")
		delays := rapid.SliceOfN(rapid.Uint64Range(0, 14), 1, 6).Draw(rt, "delays")
		r.chain.validFor = rapid.Uint64Range(3, 20).Draw(rt, "validity")
		r.chain.stale = rapid.IntRange(0, 2).Draw(rt, "stale")
		if rapid.Bool().Draw(rt, "ambiguous") {
			r.chain.sendErr = fmt.Errorf("%w: cut", chain.ErrAmbiguous)
		}
		end := rapid.IntRange(5, 40).Draw(rt, "trouble ends")
		r.chain.drop = func(n int) bool { return n < end && lost[n%len(lost)] }
		r.chain.delay = func() uint64 {
			if r.chain.sends >= end {
				return 0
			}
			return delays[r.chain.sends%len(delays)]
		}
		var intents []Intent
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "late:9", "fail:8"}), 1, 4, rapid.ID).Draw(rt, "intents")
		for _, n := range names {
			intents = append(intents, Intent{ID: n, Instructions: do(n)})
		}
		for i := range rapid.IntRange(0, 4).Draw(rt, "kills") {
			at := rapid.IntRange(1, 60).Draw(rt, fmt.Sprint("call", i))
			r.life(intents, at, rapid.Bool().Draw(rt, fmt.Sprint("after", i)))
			for _, n := range names {
				require.LessOrEqual(rt, r.chain.effect(n), 1)
			}
		}
		require.False(rt, r.life(intents, 0, false))
		store := r.open()
		defer store.Close()
		for _, n := range names {
			rec, err := store.Get(n)
			require.NoError(rt, err)
			want := 1
			if n == "late:9" || n == "fail:8" {
				want = 0
				require.Equal(rt, StateFailed, rec.State)
			} else {
				require.Equal(rt, StateFinalised, rec.State)
			}
			require.Equal(rt, want, r.chain.effect(n), n)
		}
	})
}
