package e2e_test

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/localnet/seed"
)

// reports brings a final report of a period on chain, in which the node was measured with these figures, and applies it.
func (w *testbed) reports(a *agent, period, operations, bandwidth uint32) {
	w.t.Helper()
	params, ok := w.view.Params()
	require.True(w.t, ok)
	leaf := records.Leaf{
		Node: a.node, Period: records.Period(period), ChecksPassed: 3, ChecksTotal: 3, UpSeconds: params.PeriodSecs, Operations: operations, Bandwidth: bandwidth,
	}
	tree, err := records.LeafTree([]records.Leaf{leaf})
	require.NoError(w.t, err)
	end, err := market.PeriodEnd(uint64(period), params.PeriodSecs)
	require.NoError(w.t, err)
	time.Sleep(time.Until(time.Unix(end+2, 0)))
	k := w.keys.Keepers[0]
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: k.Address(), Period: uint64(period), Root: tree.Root()})
	w.send(k, instruction, err)
	ctx, cancel := context.WithTimeout(w.t.Context(), 40*time.Second)
	defer cancel()
	require.NoError(w.t, w.view.WaitFor(ctx, func(v *view.View) bool {
		r, ok := v.Report(uint64(period))
		return ok && r.State() == market.ReportFinal
	}))
	proof, err := tree.Proof(0)
	require.NoError(w.t, err)
	instruction, err = ix.ReportApply(ix.NewLeafProof(leaf, proof))
	w.send(k, instruction, err)
}

// A machine that keepers measure below its class warns at once, and leaves after half of the row that costs stake; its owner brings it
// back by command.
func TestASlowMachineLeavesTheMarket(t *testing.T) {
	t.Parallel()
	w := testbedWith(t, "", seed.Calibrated())
	a := w.newAgent(0)
	a.start()
	params, ok := w.view.Params()
	require.True(t, ok)
	least := int(market.SlowPeriods(&params)+1) / 2
	shows := func(lines ...string) {
		t.Helper()
		require.Eventually(t, func() bool { _, body := a.figures("/metrics"); return containsAll(body, lines...) }, 30*time.Second, 100*time.Millisecond)
	}
	shows("gantry_agent_offering 1", "gantry_agent_slow_periods 0")
	first := uint32(time.Now().Unix()/int64(params.PeriodSecs)) + 1 // the first that is whole with the node in it
	for i := range least {
		w.reports(a, first+uint32(i), 3, 1_000_000) // half of what the class asks for
		if i == 0 {
			shows("gantry_agent_slow_periods 1", "gantry_agent_class_share_ratio 0.5", "gantry_agent_offering 1")
			require.Contains(t, a.out.String(), "keepers measured the node below its class")
		}
	}
	a.becomes(market.NodeHibernated)
	shows("gantry_agent_offering 0", `gantry_agent_not_offering{reason="slow"} 1`)
	at := []string{"--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS}
	require.Eventually(t, func() bool {
		return containsAll(a.command(append([]string{"status"}, at...)...), "offers     no: 3 measured periods in a row were below 70 % of its class, the last at 50.0 %; at 6 it costs stake")
	}, 20*time.Second, 500*time.Millisecond)
	require.FileExists(t, filepath.Join(a.dir, "slow"))
	code, body := a.figures("/readyz")
	require.NotEqual(t, http.StatusOK, code, "nobody wanted it so")
	require.Contains(t, body, "below 70 % of its class")

	a.command(append([]string{"update", "--status", "active"}, at...)...)
	a.becomes(market.NodeActive)
	a.stop()
	a.start()
	shows("gantry_agent_offering 1", "gantry_agent_slow_periods 3")
	time.Sleep(12 * time.Second) // looks
	n, ok := w.view.Node(a.node)
	require.True(t, ok)
	require.Equal(t, market.NodeActive, n.State(), "what the owner set stays, until the row has grown")
}
