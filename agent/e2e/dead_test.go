package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// An agent is dead when its job ends, and comes back later: the lease lasts until then, and the customer is asked to pay
// for the job's time only.
func TestAnAgentThatWasDeadClaimsTheTimeOfItsJob(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()
	file := filepath.Join(w.dir, "over")
	spec := job("sleep 3; touch " + file)
	l := w.order(a.node, spec, 600, true)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "it runs", running)
	w.untilStatus(a, l.Address, 10*time.Second, func(st messages.LeaseStatus) bool { return st.StartedAt != 0 })
	a.kill()
	var over os.FileInfo
	require.Eventually(t, func() (done bool) {
		info, err := os.Stat(file)
		over = info
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	time.Sleep(8 * time.Second) // that no job runs, and no agent
	a.start()
	l = w.until(l.Address, "it ended", ended)
	require.Equal(t, market.EndedJobDone, l.Reason())
	var claimed uint64
	require.Eventually(t, func() bool { // once the agent has seen the end
		r := w.receipt(a, l.Address)
		claimed = r.Seconds
		return r.Refused == ""
	}, time.Minute, 100*time.Millisecond)
	time.Sleep(2 * time.Second)
	if r := w.receipt(a, l.Address); r.Refused == "" { // it may ask for more
		claimed = r.Seconds
	}
	ran := over.ModTime().Unix() - l.StartedAt
	t.Logf("the lease lasted %d s, its job until second %d of it; the agent claims %d s", l.EndedAt-l.StartedAt, ran, claimed)
	require.LessOrEqual(t, int64(claimed), ran+2, "time is claimed in which no job ran")
}
