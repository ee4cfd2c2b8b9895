package buy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestWhatABudgetStillPaysFor(t *testing.T) {
	l := market.Lease{}
	l.StartedAt, l.FundedUntil, l.Lease.Price, l.Gpus = 1_000, 1_060, 3_600_000, 1 // 0.001 USDC a second
	for left, want := range map[market.USDC]uint32{0: 0, 999: 0, 1_000: 1, 9_999: 9, 10_000: 10, 1 << 40: 10} {
		got, err := affordable(&l, 10, left)
		require.NoError(t, err)
		require.Equal(t, want, got, "%d", left)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := market.Lease{}
		l.StartedAt, l.FundedUntil = 1_000, 1_000+rapid.Int64Range(1, 1<<20).Draw(t, "time")
		l.Lease.Price, l.Gpus = rapid.Uint64Range(1, 1<<36).Draw(t, "price"), rapid.Uint8Range(1, 8).Draw(t, "gpus")
		most, left := rapid.Uint32Range(1, 1<<20).Draw(t, "most"), market.USDC(rapid.Uint64Max(1<<40).Draw(t, "left"))
		n, err := affordable(&l, most, left)
		require.NoError(t, err)
		require.LessOrEqual(t, n, most)
		if n > 0 {
			cost, err := l.ExtensionCost(n)
			require.NoError(t, err)
			require.LessOrEqual(t, cost, left)
		}
		if n < most {
			cost, err := l.ExtensionCost(n + 1)
			require.NoError(t, err)
			require.Greater(t, cost, left)
		}
	})
}

func TestWhatIsWrongWithARenewal(t *testing.T) {
	for says, r := range map[string]Request{
		"nothing is extended": {GPU: "A100", Budget: "5"},
		"has a fixed time":    {GPU: "A100", UntilStopped: true, Redundancy: 3, RunToCompletion: true, Command: []string{"x"}},
		"--budget: it is 0":   {GPU: "A100", UntilStopped: true, Budget: "0"},
		"--budget: ":          {GPU: "A100", UntilStopped: true, Budget: "much"},
	} {
		require.ErrorContains(t, r.checkRenewal(), says)
	}
	require.NoError(t, (&Request{GPU: "A100", UntilStopped: true, Budget: "5"}).checkRenewal())
}
