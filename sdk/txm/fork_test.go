package txm

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Blocks that nobody has voted for yet are dropped again and again, with the transactions in them: some come back
// later, some never. Every intent has its effect once in the end, and what was reported as confirmed stays.
func TestForks(t *testing.T) {
	var forks atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		r.chain.validFor = rapid.Uint64Range(4, 20).Draw(rt, "validity")
		pattern := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) forked {
			return forked{
				off: rapid.Bool().Draw(rt, "off"), lost: rapid.Bool().Draw(rt, "lost"), late: rapid.Uint64Range(0, 8).Draw(rt, "late"),
			}
		}), 1, 12).Draw(rt, "forks")
		quiet := 100 + rapid.Uint64Range(5, 80).Draw(rt, "blocks with forks")
		r.chain.setFork(func(height uint64) forked {
			if height > quiet {
				return forked{}
			}
			return pattern[height%uint64(len(pattern))]
		})
		m := r.manager()
		names := []string{"a", "b", "c"}
		errs := make([]error, len(names))
		var wg sync.WaitGroup
		for i, n := range names {
			wg.Add(1)
			go func() {
				defer wg.Done()
				_, errs[i] = m.Submit(ctxFor(t), Intent{ID: n, Instructions: do(n), Commitment: chain.Finalized})
			}()
		}
		wg.Wait()
		for i, n := range names {
			require.NoError(rt, errs[i])
			require.Equal(rt, 1, r.chain.effect(n))
		}
		r.chain.mu.Lock()
		forks.Add(int64(r.chain.forks))
		r.chain.mu.Unlock()
		m.Close()
	})
	require.Positive(t, forks.Load(), "no transaction was ever taken back: the test shows nothing")
}

// A refusal that only a dropped block has seen decides nothing.
func TestRefusalOnADroppedFork(t *testing.T) {
	r := newRig(t)
	r.chain.setFork(func(height uint64) forked {
		for _, l := range r.chain.landed {
			if l.height == height && r.chain.forks == 0 {
				return forked{off: true}
			}
		}
		return forked{}
	})
	m := r.manager()
	_, err := m.Submit(ctxFor(t), Intent{ID: "x", Instructions: do("late:9"), Commitment: chain.Finalized})
	var pe *txerr.ProgramError
	require.ErrorAs(t, err, &pe)
	require.EqualValues(t, 9, pe.Code)
	r.chain.mu.Lock()
	require.Equal(t, 1, r.chain.forks)
	r.chain.mu.Unlock()
	require.Zero(t, r.chain.effect("late:9"))
}
