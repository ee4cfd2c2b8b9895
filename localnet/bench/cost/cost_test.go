package cost

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/repository"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/chain"
)

var update = flag.Bool("update", false, "write docs/reports/scale.md anew")

func bench(t *testing.T) Bench {
	b, err := ReadBench(filepath.Join(repository.Root(t), "program/bench/results.json"))
	require.NoError(t, err)
	return b
}

// docs/reports/scale.md is what the code gives.
func TestTheReportIsCurrent(t *testing.T) {
	text, err := Report(bench(t), Today())
	require.NoError(t, err)
	path := filepath.Join(repository.Root(t), "docs/reports/scale.md")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return
	}
	committed, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(committed), text, "go test ./localnet/bench/cost -update writes it")
}

// The measured rent and sizes are those of the structs that this package counts with.
func TestSizesAreTheMeasuredOnes(t *testing.T) {
	b := bench(t)
	require.Equal(t, []uint64{b.Bytes.Lease, b.Bytes.Order}, []uint64{leaseBytes, orderBytes})
	require.Equal(t, []uint64{b.Rent.Lease, b.Rent.Order}, []uint64{b.RentOf(leaseBytes), b.RentOf(orderBytes)})
}

// Keepers put as many leaves into a transaction as the report says.
func TestKeepersPackLikewise(t *testing.T) {
	b := bench(t)
	for _, machines := range sizes {
		m := Market{b, Today(), machines}
		step := m.leaf(m.Leaves())
		actions := make([]crank.Action, crank.MaxBatch)
		for n := range actions {
			var err error
			actions[n].Instructions, err = step.Build(n)
			require.NoError(t, err)
		}
		for _, f := range []Format{Legacy, VersionOne} {
			most, err := f.Most(step, crank.MaxBatch)
			require.NoError(t, err)
			require.Len(t, crank.Pack(actions, payer, f.Form, crank.MaxBatch, nil)[0].Actions, max(most.Steps, 1), "%d machines, %s", machines, f)
		}
	}
}

// Every instruction that is counted was measured.
func TestEveryStepWasMeasured(t *testing.T) {
	p := page{bench: bench(t), assumed: Today()}
	for _, s := range p.recurring() {
		require.NotZero(t, s.Units, s.Name)
		one, err := Legacy.Of(s.Step, 1)
		require.NoError(t, err)
		require.LessOrEqual(t, one.Bytes, Legacy.Bytes(), s.Name)
		require.Greater(t, uint64(one.Limit), s.Units, s.Name)
		require.Equal(t, chain.SignatureFee*chain.Lamports(one.Signatures), one.Fee(0), s.Name)
	}
}

// No change makes anything dearer, and all together are the cheapest.
func TestChangesSave(t *testing.T) {
	m := Market{bench(t), Today(), 40_000}
	for _, price := range []chain.MicroLamports{Today().Quiet, Today().Busy} {
		cost := func(p Plan) float64 {
			h, err := m.Hour(p, price)
			require.NoError(t, err)
			return max(h.ByReports(), h.ByReceipts())
		}
		plans := Plans()
		require.Len(t, plans, 4)
		require.Equal(t, Now(), plans[0])
		for _, p := range plans {
			require.LessOrEqual(t, cost(p), cost(plans[0]), p.Name)
			require.GreaterOrEqual(t, cost(p), cost(plans[3]), p.Name)
		}
	}
}
