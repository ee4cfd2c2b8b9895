//go:build e2e

package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

// A lease has more time as long as its command stays, up to a budget. A command that was killed and is repeated continues, and the
// budget holds for both.
func TestALeaseIsExtendedUpToItsBudget(t *testing.T) {
	t.Parallel()
	n, customer := newMarket(t)
	credits := func() market.USDC {
		c, ok := snapshotOf(t, n).CreditsOf(customer.Address())
		require.True(t, ok)
		return market.USDC(c.Balance)
	}
	before := credits()
	// 0.00356 USDC for the order at its highest price leave 0.00644: 18 s at 1.26 USDC per GPU-hour.
	args := []string{
		"deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "8s", "--allow-simulated", "--until-stopped", "--budget", "0.01",
		"--name", "long", "--", "sleep", "300",
	}
	first := n.Command(t.Context(), customer, args...)
	require.NoError(t, first.Start())
	lease := func() (l market.Lease, ok bool) {
		for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
			return l, true
		}
		return l, false
	}
	require.Eventually(t, func() bool { l, ok := lease(); return ok && l.StartedAt != 0 && l.FundedUntil-l.StartedAt == 16 }, time.Minute, 100*time.Millisecond)
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()

	out, err := n.Gantry(t.Context(), customer, args...)
	require.NoError(t, err)
	require.Contains(t, out.Stderr, "extended")
	require.Contains(t, out.Stderr, "the budget of 0.01 USDC is used up")
	l, ok := lease()
	require.True(t, ok, out.Stderr)
	require.EqualValues(t, 8+18, l.FundedUntil-l.StartedAt)
	require.Eventually(t, func() bool { l, ok := lease(); return !ok || l.State() == market.LeaseEnded }, time.Minute, 200*time.Millisecond)
	require.LessOrEqual(t, before-credits(), market.USDC(10_000))
}
