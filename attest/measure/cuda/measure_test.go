//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/cuda"
	"github.com/gantry-market/gantry/attest/measure/internal/fakecuda"
)

var place = measure.Place{Domain: [8]byte{3}, Instant: [32]byte{4}, Node: [32]byte{5}}

// measured is what a device's run looks like to a member of the committee.
type measured struct {
	task measure.Task
	run  measure.Run
	seen map[uint32]measure.Hash
}

func measureOn(t *testing.T, d *cuda.Device, p measure.Profile) measured {
	t.Helper()
	m := measured{task: measure.NewTask(place, 1, p), seen: map[uint32]measure.Hash{}}
	var err error
	m.run, err = d.Run(t.Context(), m.task, func(round uint32, root measure.Hash) {
		require.Len(t, m.seen, int(round))
		m.seen[round] = root
	})
	require.NoError(t, err)
	return m
}

// verify signs the run, asks for what a challenge draws and checks the answer as a member does.
func (m measured) verify(t *testing.T, challenge byte) error {
	t.Helper()
	p, result := m.task.Profile, m.run.Result()
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	e := result.Entry(1, p)
	c := measure.Commit(place, []measure.Entry{e})
	signed := measure.Signed{Commitment: c.Bytes(), Signature: ed25519.Sign(key, c.Bytes()), Entries: []measure.Entry{e}}
	_, err := signed.Check(place, [32]byte(key.Public().(ed25519.PublicKey)), []measure.Asked{{GPU: 1, Profile: p}})
	require.NoError(t, err)
	require.NoError(t, measure.CheckRoots(e, result.Roots, m.seen))
	v, err := measure.NewVerifier(m.task, measure.NewColumns(m.task.Columns, p.Order), e, result.Roots)
	require.NoError(t, err)
	draw := measure.NewDraw([32]byte{challenge}, 1, c)
	answer, err := measure.Answer(t.Context(), m.run, p, draw)
	if err != nil {
		return err
	}
	return v.Verify(t.Context(), draw, answer)
}

// Members find runs of the imitated driver right: whole rounds and parts of one at a time, mix bytes of two columns and of
// four, more rounds than slots, several lanes and one.
func TestMeasured(t *testing.T) {
	l := fakecuda.Build(t)
	for name, c := range map[string]struct {
		stripe uint64
		p      measure.Profile
	}{
		"a stripe":        {1 << 30, measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1, Resident: 2, WalkMs: 1, Lanes: 8}},
		"many stripes":    {1, measure.Profile{Order: 1024, Fold: 2, Rows: 1024, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: 1}},
		"slots rewritten": {1 << 20, measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1000, Resident: 1, WalkMs: 1, Lanes: 2}},
	} {
		d, err := cuda.Open(t.Context(), cuda.Options{Driver: l.Path, BLAS: l.Path, StripeBytes: c.stripe})
		require.NoError(t, err)
		m := measureOn(t, d, c.p)
		t.Logf("%s: %d rounds", name, len(m.seen))
		require.NoError(t, m.verify(t, 9), "%s: %v", name, l.Failure())
		require.NoError(t, m.run.Close())
		_, err = m.run.Leaves(t.Context(), []measure.LeafAt{{}})
		require.ErrorIs(t, err, cuda.ErrClosed)
		_, err = m.run.Walks(t.Context(), []measure.WalkAt{{}})
		require.ErrorIs(t, err, cuda.ErrClosed)
		require.NoError(t, m.run.Close())
		require.NoError(t, d.Close())
		requireNothingLeft(t, l, name)
	}
}

// The rounds are those that another program computed from the format's page.
func TestMeasuredRootsAreThoseRecorded(t *testing.T) {
	text, err := os.ReadFile("../testdata/vectors.json")
	require.NoError(t, err)
	var v struct {
		Run struct {
			N, Rows, Lanes, Rounds uint32
			Fold                   uint8
			Nonce                  string
			SeedB                  string `json:"seed_b"`
			Roots                  []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &v))
	r := v.Run
	require.GreaterOrEqual(t, len(r.Roots), 3)
	task := measure.Task{Profile: measure.Profile{Order: r.N, Fold: r.Fold, Rows: r.Rows, ChainMs: 1, Resident: r.Rounds, WalkMs: 1, Lanes: r.Lanes}}
	for text, to := range map[string]*measure.Hash{r.Nonce: &task.Nonce, r.SeedB: &task.Columns} {
		_, err := hex.Decode(to[:], []byte(text))
		require.NoError(t, err)
	}
	l := fakecuda.Build(t)
	d := open(t, l, l.Path)
	run, err := d.Run(t.Context(), task, func(round uint32, root measure.Hash) {
		if int(round) < len(r.Roots) {
			require.Equal(t, r.Roots[round], hex.EncodeToString(root[:]), "round %d", round)
		}
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(run.Result().Roots), len(r.Roots))
	require.NoError(t, run.Close())
	require.NoError(t, d.Close())
}

func TestMeasurementsRefuseAndEnd(t *testing.T) {
	l := fakecuda.Build(t)
	l.Idle(true)
	d := open(t, l, l.Path)
	small := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1 << 30, Resident: 1, WalkMs: 1 << 30, Lanes: 2}
	none := func(uint32, measure.Hash) {}

	_, err := d.Run(t.Context(), measure.Task{}, none)
	require.ErrorIs(t, err, measure.ErrProfile)
	large := small
	large.Resident = measure.MaxRounds
	_, err = d.Run(t.Context(), measure.Task{Profile: large}, none)
	var e *cuda.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "CUDA_ERROR_OUT_OF_MEMORY", e.Name)

	ctx, cancel := context.WithCancel(t.Context())
	_, err = d.Run(ctx, measure.Task{Profile: small}, func(round uint32, _ measure.Hash) {
		if round == 1 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled, "in the chain")
	ctx, cancel = context.WithCancel(t.Context())
	walks := small
	walks.ChainMs = 0
	_, err = d.Run(ctx, measure.Task{Profile: walks}, func(uint32, measure.Hash) { cancel() })
	require.ErrorIs(t, err, context.Canceled, "in the walk")

	small.ChainMs, small.WalkMs = 0, 0
	run, err := d.Run(t.Context(), measure.Task{Profile: small}, none)
	require.NoError(t, err)
	for _, at := range []measure.LeafAt{{Round: 1}, {Leaf: small.Leaves()}} {
		_, err = run.Leaves(t.Context(), []measure.LeafAt{at})
		require.ErrorIs(t, err, cuda.ErrBounds)
	}
	for _, at := range []measure.WalkAt{{Lane: small.Lanes}, {Walk: run.Result().Walks}} {
		_, err = run.Walks(t.Context(), []measure.WalkAt{at})
		require.ErrorIs(t, err, cuda.ErrBounds)
	}
	_, err = run.Leaves(ctx, []measure.LeafAt{{}})
	require.ErrorIs(t, err, context.Canceled)
	_, err = run.Walks(ctx, []measure.WalkAt{{}})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, run.Close())
	require.NoError(t, d.Close())
	requireNothingLeft(t, l, "refused")
}

// Memory that changed under the run is found before it is shown to anybody.
func TestMeasurementsThatDifferAreNotOpened(t *testing.T) {
	l := fakecuda.Build(t)
	d := open(t, l, l.Path)
	m := measureOn(t, d, measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 0, Resident: 1, WalkMs: 0, Lanes: 1})
	l.Wrong(true)
	_, err := m.run.Leaves(t.Context(), []measure.LeafAt{{Leaf: 5}})
	require.ErrorIs(t, err, cuda.ErrRecomputed)
	l.Wrong(false)
	_, err = m.run.Leaves(t.Context(), []measure.LeafAt{{Leaf: 5}})
	require.NoError(t, err)
	require.NoError(t, m.run.Close())
	require.NoError(t, d.Close())
}

// Every call that a measurement makes fails once, at each place: the error names the call, and nothing is left.
func TestMeasurementsWithFailingCalls(t *testing.T) {
	l := fakecuda.Build(t)
	l.Idle(true)
	p := measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 0, Resident: 1, WalkMs: 0, Lanes: 2}
	measureAll := func(d *cuda.Device) error {
		run, err := d.Run(t.Context(), measure.Task{Profile: p}, func(uint32, measure.Hash) {})
		if err != nil {
			return err
		}
		defer run.Close()
		_, err = run.Leaves(t.Context(), []measure.LeafAt{{Leaf: 1}})
		if errors.Is(err, cuda.ErrRecomputed) {
			return nil // kernels do nothing, so that no path fits
		}
		return err
	}
	points := 0
	for blas, names := range map[string][]string{
		"none": {"cuMemAlloc_v2", "cuLaunchKernel", "cuMemcpyDtoH_v2", "cuCtxSynchronize"},
		l.Path: {"cublasLtMatmul", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate"},
	} {
		d := open(t, l, blas)
		require.NoError(t, measureAll(d))
		clean := l.Alive()
		for _, name := range names {
			for after := 0; ; after++ {
				l.Fail(name, after, 700)
				err := measureAll(d)
				if err == nil {
					break // it is called no more than this often
				}
				points++
				var e *cuda.Error
				require.ErrorAs(t, err, &e, "%s %d", name, after)
				require.Equal(t, name, e.Call)
				require.Equal(t, clean, l.Alive(), "%s %d", name, after)
			}
		}
		l.Fail("", 0, 0)
		require.NoError(t, d.Close())
		requireNothingLeft(t, l, "failing")
	}
	t.Logf("%d points of failure", points)
	require.Greater(t, points, 50)
}
