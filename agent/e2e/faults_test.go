package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// rentedWithKernelLog is a running agent with a lease that runs, and the log of its kernel.
func (w *testbed) rentedWithKernelLog(more ...string) (*agent, market.Lease, *os.File) {
	w.t.Helper()
	path := filepath.Join(w.dir, "kmsg")
	require.NoError(w.t, syscall.Mkfifo(path, 0o600))
	kernel, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = kernel.Close() })
	a := w.newAgent(0, append(more, "--simulate-kernel-log", path)...)
	a.start()
	spec := job("sleep 300")
	l := w.order(a.node, spec, 600, false)
	require.Empty(w.t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "it runs", running)
	return a, l, kernel
}

// A GPU's hardware fails while it is rented: the customer is told, the operator too, the node does not bid until it is
// repaired, and its inventory says so to keepers.
func TestAFaultOfTheHardwareIsSaidByTheNode(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	notices := make(chan alert.Notice, 9)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n alert.Notice
		if json.NewDecoder(r.Body).Decode(&n) == nil {
			notices <- n
		}
	}))
	defer hook.Close()
	a, l, kernel := w.rentedWithKernelLog("--notify", hook.URL)
	await := func(why string, cond func() bool) {
		t.Helper()
		require.Eventually(t, cond, time.Minute, 100*time.Millisecond, why)
	}
	detail := func() string { return w.status(a, l.Address).Status.Detail }
	fault := func() uint64 {
		answer, err := w.ask(a, messages.CheckInventory, nil)
		require.NoError(t, err)
		return answer.Inventory.GPUs[0].Fault
	}
	status := func() string { return a.command("status", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS) }
	await("its job runs", func() bool { return detail() == "" })
	require.Zero(t, fault())

	_, err := kernel.WriteString("4,1,9000000000000000,-;NVRM: Xid (PCI:0000:00:00): 13, pid=7, name=python3, a job's own error\n" +
		"4,2,9000000000000000,-;NVRM: Xid (PCI:0000:00:00): 48, pid=7, name=python3, DBE\n")
	require.NoError(t, err)
	await("the customer is told", func() bool { return strings.Contains(detail(), "a memory error that cannot be corrected") })
	require.Contains(t, detail(), "exception in a program", "and of what its own job does")
	require.Equal(t, uint64(48), fault())
	await("the operator is told", func() bool { return strings.Contains(status(), "Xid 48") })
	require.NotContains(t, status(), "Xid 13", "a job's error is nothing to repair")
	await("a person gets a notice", func() bool { return len(notices) > 0 })
	n := <-notices
	require.Equal(t, "gpu/0/48", n.Key)
	require.Contains(t, n.Text, "gantry-agent repaired")
	require.Contains(t, a.command("notify-test", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS, "--notify", hook.URL), "was sent to "+hook.URL)
	require.Equal(t, "test", (<-notices).Key)
	require.Empty(t, notices, "each is sent once")

	require.Contains(t, a.command("repaired", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS), "forgotten")
	await("it is repaired", func() bool { return fault() == 0 })
	require.Empty(t, detail())
}
