package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/work"
)

func TestRun(t *testing.T) {
	var steps []string
	last := -1.0
	r, err := Run(context.Background(), Options{
		Sizes: []int{32, 64, 128}, DiskPath: t.TempDir(), DiskBytes: 2 << 20, Seed: work.Seed{1},
		Progress: func(s string, done float64) {
			steps = append(steps, s)
			require.Greater(t, done, last)
			last = done
		},
	})
	require.NoError(t, err)
	require.Len(t, r.Work, 3)
	for _, w := range r.Work {
		require.Positive(t, w.GOPS)
		require.Positive(t, w.VerifyElapsed)
		p, err := work.CPU{}.Prove(context.Background(), work.Seed{1}, w.N)
		require.NoError(t, err)
		require.Equal(t, p.Root, w.Root)
	}
	require.True(t, r.Disk.Measured)
	require.Equal(t, "done", steps[len(steps)-1])
	require.InDelta(t, 1, last, 0)
	require.Positive(t, r.Peak())
}

func TestWrongMachineIsNotBenchmarked(t *testing.T) {
	_, err := Run(context.Background(), Options{Sizes: []int{64}, Prover: work.Faulty{Prover: work.CPU{}}})
	require.ErrorIs(t, err, work.ErrWrongProduct)
}

func TestBudgetSkipsWhatDoesNotFit(t *testing.T) {
	r, err := Run(context.Background(), Options{Sizes: []int{64, 4096}, Budget: 300 * time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, r.Work[0].Skipped)
	require.Contains(t, r.Work[1].Skipped, "would take")
	require.Zero(t, r.Work[1].GOPS)
	require.False(t, r.Disk.Measured)
	require.NotEmpty(t, r.Disk.Note)
}

func TestBadOptions(t *testing.T) {
	_, err := Run(context.Background(), Options{Sizes: []int{33}})
	require.ErrorIs(t, err, work.ErrOrder)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Run(ctx, Options{})
	require.ErrorIs(t, err, context.Canceled)
	r, err := Run(context.Background(), Options{Sizes: []int{32}, DiskPath: "/no/such/dir", DiskBytes: 1})
	require.NoError(t, err)
	require.Contains(t, r.Disk.Note, "not measured")
}
