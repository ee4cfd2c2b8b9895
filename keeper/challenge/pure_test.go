package challenge

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
)

func TestCover(t *testing.T) {
	node := Subject{Node: solana.PublicKey{1}}
	lease := Subject{Node: solana.PublicKey{1}, Lease: solana.PublicKey{2}}
	c := NewCover(60)
	check := func(s Subject, w Window, at int64, passed bool) [2]int64 {
		p, n := c.Check(s, w, at, passed)
		return [2]int64{int64(p), int64(n)}
	}
	require.Equal(t, [2]int64{10, 5}, check(node, Window{}, 605, true), "from the period's start")
	require.Equal(t, [2]int64{10, 0}, check(node, Window{}, 605, true), "no second twice")
	require.Equal(t, [2]int64{10, 0}, check(node, Window{}, 603, true), "nor when the clock goes back")
	require.Equal(t, [2]int64{10, 15}, check(node, Window{}, 620, false))
	require.Equal(t, [2]int64{10, 10}, check(lease, Window{From: 610}, 620, true), "from the lease's start")
	require.Equal(t, [2]int64{10, 5}, check(lease, Window{From: 610, To: 625}, 640, true), "to the lease's end")

	secs, passed, ok := c.Tail(node, Window{}, 10)
	require.True(t, ok)
	require.False(t, passed, "as the last check said")
	require.EqualValues(t, 40, secs)
	_, _, ok = c.Tail(node, Window{}, 10)
	require.False(t, ok)
	_, _, ok = c.Tail(lease, Window{From: 610, To: 625}, 10)
	require.False(t, ok, "covered to its end")
	require.Equal(t, [2]int64{11, 1}, check(node, Window{}, 661, true))
	_, _, ok = c.Tail(lease, Window{From: 610}, 11)
	require.False(t, ok, "not checked in that period")
	_, _, ok = c.Tail(Subject{Node: solana.PublicKey{9}}, Window{}, 11)
	require.False(t, ok)

	again := NewCover(60)
	again.Restore(wire.CheckStatement{Kind: wire.CheckLiveness, Node: node.Node, CheckedAt: 630, Passed: true})
	again.Restore(wire.CheckStatement{Kind: wire.CheckWork, Node: node.Node, CheckedAt: 650, Passed: true})
	_, n := again.Check(node, Window{}, 640, true)
	require.EqualValues(t, 10, n, "a restart covers nothing again")
	require.Len(t, again.Subjects(), 1)
	again.Forget(641)
	require.Empty(t, again.Subjects())
}

// Whatever the times of the checks: what is covered in a period is never more than the period, and never more than lies
// between its start (or the lease's) and the last check, and with the tail it is all of it.
func TestNoSecondIsCoveredTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCover(60)
		s := Subject{Node: solana.PublicKey{1}}
		w := Window{From: rapid.Int64Range(580, 680).Draw(t, "from")}
		if rapid.Bool().Draw(t, "ends") {
			w.To = w.From + rapid.Int64Range(0, 100).Draw(t, "lasts")
		}
		sum := map[wire.Period]int64{}
		last := int64(0)
		for _, at := range rapid.SliceOfN(rapid.Int64Range(600, 719), 1, 20).Draw(t, "checks") {
			p, n := c.Check(s, w, at, true)
			sum[p] += int64(n)
			last = max(last, at)
		}
		end := int64(720)
		if w.To != 0 {
			end = min(end, w.To)
		}
		for p, n := range sum {
			start, stop := int64(p)*60, min(int64(p+1)*60, end)
			require.LessOrEqual(t, n, max(0, min(stop, last)-max(start, w.From)))
		}
		p := c.PeriodAt(last)
		if n, _, ok := c.Tail(s, w, p); ok {
			require.LessOrEqual(t, sum[p]+int64(n), max(0, min(int64(p+1)*60, end)-max(int64(p)*60, w.From)))
		}
	})
}

func TestSchedule(t *testing.T) {
	tm := Timing{Every: 10 * time.Second, WorkEvery: 4}
	require.Equal(t, 9*time.Second, tm.Jitter(0))
	require.InDelta(t, 11, tm.Jitter(1<<32-1).Seconds(), 0.01)
	due := 0
	for p := range wire.Period(1000) {
		if tm.WorkDue(solana.PublicKey{1}, p) {
			due++
		}
		off := Offset(solana.PublicKey{1}, solana.PublicKey{2}, p, 60)
		require.GreaterOrEqual(t, off, time.Duration(0))
		require.Less(t, off, 15*time.Second)
	}
	require.InDelta(t, 250, due, 60)
	require.False(t, Timing{}.WorkDue(solana.PublicKey{1}, 0), "never")
	for status, want := range map[market.NodeStatus]bool{
		market.NodeActive: true, market.NodeDraining: true, market.NodeHibernated: false,
		market.NodeRetired: false, market.NodeSuspended: false,
	} {
		require.Equal(t, want, Checked(status), status.String())
		n := &market.Node{}
		n.Node.Status = uint8(status)
		require.Equal(t, want, WorkAllowed(n))
		n.LiveLeases = 1
		require.False(t, WorkAllowed(n), "never while a lease lives")
	}
}

func sampleNode() (*market.Node, *market.Model) {
	n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{1}}}
	n.Spec.Gpus, n.Spec.VramMib, n.Spec.CpuCores, n.Spec.RamMib, n.Spec.Model = 2, 40960, 16, 65536, 1
	n.Node.Status = uint8(market.NodeActive)
	m := &market.Model{}
	m.Id, m.Name, m.VramMib = 1, market.Text32("A100-SXM4-40GB"), 40960
	m.WorkSize, m.WorkBoundMs = 32, 300
	return n, m
}

func sampleInventory() *protocol.Inventory {
	g := protocol.GPU{Name: "NVIDIA A100-SXM4-40GB", VRAMMiB: 40536}
	a, b := g, g
	a.Identity, b.Identity = [32]byte{1}, [32]byte{2}
	return &protocol.Inventory{GPUs: []protocol.GPU{a, b}, CPUCores: 16, RAMMiB: 64000}
}

func TestJudgeInventory(t *testing.T) {
	holder := func(d [32]byte) (solana.PublicKey, bool) {
		return map[[32]byte]solana.PublicKey{{1}: {1}, {2}: {1}, {3}: {9}}[d], d[0] <= 3
	}
	for name, c := range map[string]struct {
		change    func(*protocol.Inventory)
		mismatch  bool
		unhealthy bool
	}{
		"as registered": {change: func(*protocol.Inventory) {}},
		"one more GPU": {change: func(i *protocol.Inventory) {
			i.GPUs = append(i.GPUs, protocol.GPU{Name: i.GPUs[0].Name, VRAMMiB: 40960, Identity: [32]byte{5}})
		}},
		"a GPU is gone":                {change: func(i *protocol.Inventory) { i.GPUs = i.GPUs[:1] }, mismatch: true},
		"another model":                {change: func(i *protocol.Inventory) { i.GPUs[0].Name = "NVIDIA T4" }, mismatch: true},
		"as another driver writes it":  {change: func(i *protocol.Inventory) { i.GPUs[0].Name = "NVIDIA A100 40GB" }},
		"a name that begins alike":     {change: func(i *protocol.Inventory) { i.GPUs[0].Name = "NVIDIA RTX A1000" }, mismatch: true},
		"less memory":                  {change: func(i *protocol.Inventory) { i.GPUs[1].VRAMMiB = 20480 }, mismatch: true},
		"a device of another node":     {change: func(i *protocol.Inventory) { i.GPUs[1].Identity = [32]byte{3} }, mismatch: true},
		"a device nobody registered":   {change: func(i *protocol.Inventory) { i.GPUs[1].Identity = [32]byte{7} }, mismatch: true},
		"simulated, registered as not": {change: func(i *protocol.Inventory) { i.Simulated = true }, mismatch: true},
		"few cores":                    {change: func(i *protocol.Inventory) { i.CPUCores = 8 }, unhealthy: true},
		"little memory":                {change: func(i *protocol.Inventory) { i.RAMMiB = 1000 }, unhealthy: true},
		"hot":                          {change: func(i *protocol.Inventory) { i.GPUs[0].TempC = 120 }, unhealthy: true},
		"memory errors":                {change: func(i *protocol.Inventory) { i.GPUs[0].ECCErrors = 1 }, unhealthy: true},
	} {
		t.Run(name, func(t *testing.T) {
			n, m := sampleNode()
			inv := sampleInventory()
			c.change(inv)
			mismatches, ailments := JudgeInventory(inv, n, m, holder)
			require.Equal(t, c.mismatch, len(mismatches) > 0, "%v", mismatches)
			require.Equal(t, c.unhealthy, len(ailments) > 0, "%v", ailments)
		})
	}
}

func TestLeaseUp(t *testing.T) {
	lease := solana.PublicKey{7}
	for state, want := range map[protocol.LeaseState]bool{
		protocol.LeaseWaiting: true, protocol.LeaseRunning: true, protocol.LeaseExited: true, protocol.LeaseBroken: true,
		protocol.LeaseStopped: false, 99: false,
	} {
		l := &protocol.Liveness{Leases: []protocol.LeaseStatus{{Lease: [32]byte{1}, State: protocol.LeaseRunning}, {Lease: lease, State: state}}}
		require.Equal(t, want, LeaseUp(l, lease))
	}
	require.False(t, LeaseUp(&protocol.Liveness{}, lease))
}
