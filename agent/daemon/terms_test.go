package daemon

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// Finding P 10: thresholds that no machine reaches cost the stake of a node that accepts them.
func TestTermsThatTheMachineDoesNotReachAreNotAccepted(t *testing.T) {
	type figures struct{ operations, bandwidth uint32 }
	const until = 1_000
	for name, c := range map[string]struct {
		known, asked, measured figures
		guaranteed             int64
		accepts                bool
	}{
		"no class yet, and impossible":           {asked: figures{math.MaxUint32, 0}, measured: figures{1_000, 100}},
		"impossible, with a guarantee":           {asked: figures{math.MaxUint32, 0}, measured: figures{1_000, 100}, guaranteed: until},
		"reached":                                {asked: figures{1_000, 100}, measured: figures{700, 70}, accepts: true},
		"reached, with a guarantee":              {asked: figures{1_000, 100}, measured: figures{700, 70}, guaranteed: until, accepts: true},
		"a little too slow":                      {asked: figures{1_000, 100}, measured: figures{699, 100}},
		"too little bandwidth":                   {asked: figures{1_000, 100}, measured: figures{1_000, 69}},
		"no more than before":                    {known: figures{1_000, 100}, asked: figures{1_000, 100}, measured: figures{1, 1}, guaranteed: until, accepts: true},
		"less than before":                       {known: figures{1_000, 100}, asked: figures{500, 100}, accepts: true, guaranteed: until},
		"more of one":                            {known: figures{1_000, 100}, asked: figures{1_001, 50}, measured: figures{1, 1}},
		"never measured":                         {asked: figures{1_000, 100}, accepts: true},
		"never measured, and it cannot leave":    {asked: figures{1_000, 100}, guaranteed: until},
		"no thresholds, and it was not measured": {guaranteed: until, accepts: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, m := &market.Node{}, &market.Model{}
			n.MinOperations, n.MinBandwidth = c.known.operations, c.known.bandwidth
			n.Operations, n.Bandwidth, n.GuaranteedUntil = c.measured.operations, c.measured.bandwidth, c.guaranteed
			m.MinOperations, m.MinBandwidth = c.asked.operations, c.asked.bandwidth
			require.Equal(t, c.accepts, doubtTerms(n, m) == "", doubtTerms(n, m))
		})
	}
}
