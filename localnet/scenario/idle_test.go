//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// idleWatch looks twenty times a second which sandboxes of a machine's idle job there are.
type idleWatch struct {
	folder string

	mu    sync.Mutex
	seen  []time.Time // when there was one
	most  int
	count int
}

// sandboxes are those of the idle job: each has one process that runs it.
func (w *idleWatch) sandboxes() int {
	found, _ := processes(func(_, cmdline []byte) bool {
		return bytes.Contains(cmdline, []byte("\x00run\x00--bundle\x00"+w.folder+"\x00"))
	})
	count := 0
	for pid := range found {
		if !found[parentOf(pid)] { // a child that is about to become another program still has its parent's arguments
			count++
		}
	}
	return count
}

// parentOf is the parent of a process; 0 where it is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // behind the name
	var state string
	var parent int
	_, _ = fmt.Sscan(rest, &state, &parent)
	return parent
}

func (w *idleWatch) follow(ctx context.Context) {
	for pause(ctx, 50*time.Millisecond) == nil {
		n, now := w.sandboxes(), time.Now()
		w.mu.Lock()
		w.count, w.most = n, max(w.most, n)
		if n > 0 {
			w.seen = append(w.seen, now)
		}
		w.mu.Unlock()
	}
}

func (w *idleWatch) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// within is how often one was seen in a time.
func (w *idleWatch) within(from, until time.Time) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.seen {
		if !at.Before(from) && !at.After(until) {
			n++
		}
	}
	return n
}

// loggedAt are the times at which an agent has logged a text, in order.
func loggedAt(t *testing.T, n *network.Network, machine, text string) (at []time.Time) {
	t.Helper()
	raw, err := os.ReadFile(n.LogPath(machine))
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(raw), "\n") {
		var l struct {
			Time    time.Time `json:"time"`
			Message string    `json:"message"`
		}
		if start := strings.IndexByte(line, '{'); start >= 0 && json.Unmarshal([]byte(line[start:]), &l) == nil && l.Message == text {
			at = append(at, l.Time)
		}
	}
	return at
}

// The owner's container runs while nobody rents the machine. It is gone at every measurement, all of which the machine passes, and
// before a customer's lease, which starts as on any machine. Nothing of it is left then, also when the agent is killed. It comes back after
// the lease, once, and ends with the setting.
func TestTheOwnersIdleJob(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	params := seed.Params()
	params.PeriodSecs = 75        // a measurement takes up to 48 s of it, because it can be opened for 30
	params.StartDeadlineSecs = 60 // the job has two seconds to end, and a busy computer takes more
	params.ReportRetentionSecs = 6*params.PeriodSecs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 2, Customers: 1, Nodes: network.DefaultNodes(1), Params: &params, Models: seed.Calibrated(), Log: warnings(t),
		Registry: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	m, customer := n.Nodes[0], n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	image, digest := imagetest.Start(t, nil).Push(t, "owner/work", jobImage(t))

	w := &idleWatch{folder: filepath.Join(n.DataDir(m.Name), "jobs", "idle")}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { w.follow(ctx) })
	defer following.Wait()
	defer cancel()
	becomesIdle := func(runs int) {
		t.Helper()
		require.Eventually(t, func() bool { return w.now() == runs }, 2*time.Minute, 50*time.Millisecond)
	}
	idleIs := func(job *config.IdleJob) {
		t.Helper()
		require.NoError(t, n.Stop(t.Context(), m.Name))
		cfg, err := config.Load(n.DataDir(m.Name))
		require.NoError(t, err)
		cfg.Idle = job
		require.NoError(t, cfg.Save())
		require.NoError(t, n.StartAgent(t.Context(), m))
	}
	killed := func() {
		t.Helper()
		serves := func() int { return len(loggedAt(t, n, m.Name, "agent serves")) }
		before := serves()
		require.NoError(t, n.Kill(m.Name))
		require.Eventually(t, func() bool { return serves() > before }, 2*time.Minute, 100*time.Millisecond)
	}
	command := func(args ...string) string {
		t.Helper()
		out, err := n.Agent(t.Context(), m, args...)
		require.NoError(t, err)
		require.Zero(t, out.Code, out.Stderr)
		return out.Stdout
	}

	idleIs(&config.IdleJob{Image: image, Command: []string{"live", "/tmp"}, MemoryGiB: 1, DiskGiB: 1})
	began := time.Now()
	becomesIdle(1)
	require.Eventually(t, func() bool { return len(loggedAt(t, n, m.Name, "agent serves")) > 0 }, 2*time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(command("idle", "status"), "runs on GPUs [0]") }, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return command("idle", "logs") != "" }, time.Minute, 100*time.Millisecond)

	// After a kill of the agent, the next one adopts the job or starts it again.
	killed()
	becomesIdle(1)

	// A lease. The model's thresholds ask for a machine that was measured.
	require.Eventually(t, func() bool {
		node, found := snapshotOf(t, n).Node(m.Address)
		return found && node.MeanShare() >= 7_000
	}, 5*time.Minute, 500*time.Millisecond)
	becomesIdle(1)
	ordered := time.Now()
	lease := leaseIn(t, ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--verify", "always",
		"--network", "none", "--detach", "--image", digest, "--", "live", "/tmp"))
	started := time.Now()
	var l market.Lease
	require.Eventually(t, func() bool {
		l, _ = snapshotOf(t, n).Lease(solana.MustPublicKeyFromBase58(lease))
		return l.StartedAt != 0
	}, time.Minute, 100*time.Millisecond)
	t.Logf("ordered, measured by the customer and started in %.1f s; on chain %d s from award to start, of %d", started.Sub(ordered).Seconds(), l.StartedAt-l.AwardedAt, params.StartDeadlineSecs)
	require.LessOrEqual(t, l.StartedAt-l.AwardedAt, int64(params.StartDeadlineSecs/2))
	require.Zero(t, w.now())
	require.NoFileExists(t, filepath.Join(w.folder, "disk.img"), "its disk is given back")
	require.Eventually(t, func() bool { return strings.Contains(command("idle", "status"), "waits: leases have the GPUs") }, time.Minute, 100*time.Millisecond)
	killed()
	require.NoError(t, pause(t.Context(), 5*time.Second))
	ended := time.Now()
	require.Zero(t, w.within(started, ended), "no idle job beside a lease")
	kills := uint64(ended.Unix()) / uint64(params.PeriodSecs)
	ok(t, n, customer, "stop", lease)
	becomesIdle(1)

	// Measurements. Keepers count an agent that was killed as away, in the reports up to that of the last kill.
	reported := func(period uint64) (node market.Node) {
		t.Helper()
		require.Eventually(t, func() bool {
			node, _ = snapshotOf(t, n).Node(m.Address)
			return node.LastReportPeriod >= period
		}, 5*time.Minute, 500*time.Millisecond)
		return node
	}
	before := reported(kills)
	require.Eventually(t, func() bool { return len(loggedAt(t, n, m.Name, "the measurement ends")) >= 3 }, 5*time.Minute, 500*time.Millisecond)
	begins, ends := loggedAt(t, n, m.Name, "the node is measured"), loggedAt(t, n, m.Name, "the measurement ends")
	for _, from := range begins {
		for _, until := range ends {
			if until.After(from) {
				require.Zero(t, w.within(from, until), "measured from %s to %s", from, until)
				break
			}
		}
	}
	becomesIdle(1)
	node := reported(before.LastReportPeriod + 1)
	require.Greater(t, node.ChecksTotal, before.ChecksTotal)
	require.Equal(t, node.ChecksTotal-before.ChecksTotal, node.ChecksPassed-before.ChecksPassed)
	require.GreaterOrEqual(t, node.MeanShare(), uint16(7_000))
	require.Zero(t, node.SlowPeriods)
	require.Zero(t, node.PendingFaults)
	require.Equal(t, 1, w.most, "never two")
	w.mu.Lock()
	share := float64(len(w.seen)) / time.Since(began).Seconds() / 20
	w.mu.Unlock()
	t.Logf("%d measurements, mean share %d of 10000; the job had %.0f %% of the time in periods of %d s\n%s", len(begins), node.MeanShare(), 100*share, params.PeriodSecs, command("idle", "status"))

	idleIs(nil)
	require.Zero(t, w.sandboxes())
	require.NoDirExists(t, w.folder)
}
