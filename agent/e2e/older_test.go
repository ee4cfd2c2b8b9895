package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// The procedure of docs/operate/backup.md: an agent refuses an old copy of its store, and goes on without one.
func TestAnOldStoreIsRefusedAndALostOneIsNot(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	path := filepath.Join(a.dir, "agent.db")
	a.start()

	// A first lease, so that the copy is of a store in use.
	spec := job("sleep 0.2")
	first := w.order(a.node, spec, 600, true)
	require.Empty(t, w.deploy(a, first.Address, spec).Refused)
	w.until(first.Address, "it ended", ended)
	a.stop()
	old, err := os.ReadFile(path)
	require.NoError(t, err)

	// A second one, with a receipt that is settled.
	a.start()
	spec = job("while :; do sleep 0.1; done")
	second := w.order(a.node, spec, 600, false)
	require.Empty(t, w.deploy(a, second.Address, spec).Refused)
	w.until(second.Address, "it runs", running)
	time.Sleep(2 * time.Second)
	r := w.receipt(a, second.Address)
	w.until(second.Address, "the receipt is settled", func(l market.Lease, ok bool) bool { return ok && l.ReceiptSequence >= r.Sequence })
	a.stop()

	current, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, old, 0o600))
	out, err := a.try("run", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS)
	require.Error(t, err, "an agent runs with a store of before its lease")
	require.Contains(t, out, "the agent's store is an old copy")
	require.Contains(t, out, second.Address.String())
	require.Contains(t, out, "move "+path+" away")

	// The store that belongs to the node is taken, and the job still runs.
	require.NoError(t, os.WriteFile(path, current, 0o600))
	a.start()
	next := func() bool { return w.receipt(a, second.Address).Sequence > r.Sequence } // once another second has passed
	require.Eventually(t, next, time.Minute, 200*time.Millisecond)
	a.stop()

	// Without any, the agent serves: it finds the job by its supervisor, the lease goes on, and receipts go on above the
	// settled one. A restart does not take the new store for an old copy.
	require.NoError(t, os.Remove(path))
	a.start()
	require.Eventually(t, next, time.Minute, 200*time.Millisecond)
	a.stop()
	a.start()
	require.Zero(t, strings.Count(a.out.String(), "old copy"))
	l, live := w.view.Lease(second.Address)
	require.True(t, running(l, live), "the lease has ended")
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: w.keys.Customers[0].Address(), Lease: l})
	w.send(w.keys.Customers[0], instruction, err)
	w.until(second.Address, "it ended", ended)
	last := w.receipt(a, second.Address)
	w.until(second.Address, "it is paid", func(l market.Lease, ok bool) bool { return ok && uint64(l.PaidSecs) == last.Seconds })
}
