package sim

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/adversary/sim/chain"
)

// small is a market that a test can afford, with everything else drawn by the seed.
func small(seed uint64) Options {
	o := Draw(seed)
	o.Keepers = []int{4, 4, 7}[seed%3]
	o.Faults, o.Nodes, o.Periods, o.Split = Faultless(o.Keepers), 6, 3, 0
	return o
}

func play(t *testing.T, o Options) *Result {
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	t.Log(r.Line())
	for _, what := range r.Violations {
		t.Log(what)
	}
	return r
}

// harmless plays a market in which nothing may go wrong, and leases are served.
func harmless(t *testing.T, o Options) {
	t.Helper()
	r := play(t, o)
	require.False(t, r.Failed(), "seed %d", o.Seed)
	require.Positive(t, r.Facts[string(chain.Started)], "a market without leases shows nothing about them")
}

// Whoever is faulty and however, as long as they are not more than f: nobody is paid or slashed unjustly, nothing is
// lost, every period gets its report.
func TestUpToFFaultyKeepersDoNoHarm(t *testing.T) {
	runs := uint64(4)
	if os.Getenv("GANTRY_EXHAUSTIVE") == "1" {
		runs = 100
	} else {
		t.Log("4 small runs; GANTRY_EXHAUSTIVE=1 plays 100, make nightly 200 larger ones")
	}
	for seed := range runs {
		harmless(t, small(seed+1))
	}
}

// RPC nodes that are half a minute behind, show another block at the instant of measurements, or answer with errors, cost no
// honest machine its record, its stake or its pay.
func TestBadEndpointsHarmNobody(t *testing.T) {
	for seed := range uint64(2) {
		o := Options{
			Seed: seed + 10, Keepers: 4, Faults: 1, Dishonest: -1, Nodes: 6, Periods: 6, Period: 10 * time.Minute, Loss: 0.01,
			Endpoints: Endpoints{Lag: 30 * time.Second, Fork: 0.1, Mute: 0.05},
		}
		harmless(t, o)
	}
	o := Options{Keepers: 1, Nodes: 1, Periods: 1, Period: time.Minute, Endpoints: Endpoints{Fork: 2}}
	require.ErrorIs(t, o.check(), ErrOptions)
}

// The check can fail: one dishonest keeper more than the market tolerates stops reports, and twice as many take money
// and stake.
func TestMoreThanFFaultyKeepersAreSeen(t *testing.T) {
	o := small(3)
	o.Keepers, o.Faults, o.Dishonest, o.Nodes, o.Periods = 4, 1, 2, 16, 2
	r := play(t, o)
	require.Positive(t, r.Missed, "honest keepers alone are fewer than two thirds")
	require.Zero(t, r.UnjustPayments+r.UnjustSlashes, "and so are dishonest ones")

	o.Dishonest = 3
	r = play(t, o)
	require.Positive(t, r.UnjustSlashes, "more than two thirds of the keepers slash whom they like")
	require.Positive(t, r.Outside)
}

// f dishonest keepers that vote first, each for a root without leaves, take all four places that a report has to begin
// with: every period becomes final all the same.
func TestRootsWithoutLeavesKeepNoReportOut(t *testing.T) {
	o := Options{
		Seed: 4, Keepers: 13, Faults: 4, Dishonest: 4, Clutter: true, Nodes: 5, Periods: 3, Period: time.Minute, Loss: 0.01,
	}
	r := play(t, o)
	require.False(t, r.Failed())
	require.Equal(t, o.Periods, r.Crowded, "the other roots were there first")
}

// Dishonest keepers that send two proposals at a time sign two manifests for it: they lose their bonds, and nobody else
// does.
func TestEquivocatingProposersAreExpelled(t *testing.T) {
	equivocated, expelled := 0, 0
	for _, seed := range []uint64{2, 3, 10, 11} {
		r := play(t, small(seed))
		require.False(t, r.Failed(), "seed %d", seed)
		require.LessOrEqual(t, r.Facts[string(chain.KeeperLost)], r.TwoManifests+r.Equivocators)
		equivocated, expelled = equivocated+r.TwoManifests, expelled+max(0, r.Facts[string(chain.KeeperLost)]-r.Equivocators)
	}
	t.Logf("%d keepers with two manifests, at least %d of them expelled", equivocated, expelled)
	require.Positive(t, expelled)
}

// What happens is a function of the options: the same trace on one processor and on many, another one for another seed.
func TestOneSeedOneTrace(t *testing.T) {
	o := small(6)
	o.Periods = 2
	first := play(t, o)
	before := runtime.GOMAXPROCS(1)
	second := play(t, o)
	runtime.GOMAXPROCS(before)
	require.Equal(t, first.Trace, second.Trace)
	first.Cost, second.Cost = Cost{}, Cost{}
	require.Equal(t, first, second)
	o.Seed++
	require.NotEqual(t, first.Trace, play(t, o).Trace)
}

func TestOptions(t *testing.T) {
	good := Options{Keepers: 4, Nodes: 3, Periods: 1, Period: time.Minute}
	require.NoError(t, good.check())
	for name, change := range map[string]func(*Options){
		"no keepers":              func(o *Options) { o.Keepers = 0 },
		"no nodes":                func(o *Options) { o.Nodes = 0 },
		"no periods":              func(o *Options) { o.Periods = 0 },
		"short periods":           func(o *Options) { o.Period = time.Second },
		"half seconds":            func(o *Options) { o.Period += time.Millisecond },
		"more dishonest than all": func(o *Options) { o.Dishonest = 5 },
		"too much loss":           func(o *Options) { o.Loss = 0.9 },
	} {
		o := good
		change(&o)
		_, err := Run(t.Context(), o)
		require.ErrorIs(t, err, ErrOptions, name)
	}
}
