package check

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

func TestCover(t *testing.T) {
	node := Subject{Node: solana.PublicKey{1}}
	lease := Subject{Node: solana.PublicKey{1}, Lease: solana.PublicKey{2}}
	c := NewCover(60, 15)
	type span struct {
		at      int64
		seconds uint32
		passed  bool
	}
	check := func(s Subject, w Window, at int64, passed bool) []span {
		var out []span
		for _, x := range c.Check(s, w, at, passed, 0, 60) {
			require.EqualValues(t, at/60, x.Period)
			out = append(out, span{x.At, x.Seconds, x.Passed})
		}
		return out
	}
	require.Empty(t, check(node, Window{}, 605, true), "what passes is held until there is news")
	require.Empty(t, check(node, Window{}, 605, true))
	require.Empty(t, check(node, Window{}, 603, true), "the clock goes back")
	require.Equal(t, []span{{605, 5, true}, {615, 10, false}}, check(node, Window{}, 615, false), "the first failure is stated at once")
	require.Empty(t, check(node, Window{}, 620, false), "the next is held")
	require.Empty(t, check(node, Window{}, 622, false))
	require.Equal(t, []span{{622, 7, false}}, check(node, Window{}, 625, true))
	require.Empty(t, check(lease, Window{From: 610}, 620, true))
	require.Empty(t, check(lease, Window{From: 610, To: 625}, 640, true))

	tail := func(s Subject, w Window, p records.Period) span {
		x, ok := c.Tail(s, w, p)
		require.True(t, ok)
		require.EqualValues(t, p, x.Period)
		return span{x.At, x.Seconds, x.Passed}
	}
	require.Equal(t, span{660, 38, true}, tail(node, Window{}, 10), "from the last failure to the end")
	_, ok := c.Tail(node, Window{}, 10)
	require.False(t, ok)
	require.Equal(t, span{660, 15, true}, tail(lease, Window{From: 610, To: 625}, 10), "from the lease's start to its end")
	require.Empty(t, check(node, Window{}, 661, true))
	_, ok = c.Tail(lease, Window{From: 610}, 11)
	require.False(t, ok, "not checked in that period")
	_, ok = c.Tail(Subject{Node: solana.PublicKey{9}}, Window{}, 11)
	require.False(t, ok)

	// A long interval between checks: only the last of it is in doubt.
	require.Equal(t, []span{{685, 25, true}, {700, 15, false}}, check(node, Window{}, 700, false))
	never := NewCover(60, 15).Check(node, Window{}, 715, false, 0, 60)
	require.Equal(t, []Span{{Period: 11, At: 715, Seconds: 15}}, never, "whom we have never seen is down for no more than that")

	x, ok := c.Flush(lease, 10)
	require.False(t, ok, x)
	check(lease, Window{From: 610}, 670, true)
	x, ok = c.Flush(lease, 11)
	require.True(t, ok, "of a lease that is gone before the period ends")
	require.EqualValues(t, 10, x.Seconds)
	_, ok = c.Flush(lease, 11)
	require.False(t, ok)

	again := NewCover(60, 15)
	again.Restore(records.CheckStatement{Kind: records.CheckLiveness, Node: node.Node, Period: 10, CheckedAt: 630, Passed: true})
	again.Restore(records.CheckStatement{Kind: records.CheckWork, Node: node.Node, Period: 10, CheckedAt: 650, Passed: true})
	again.Check(node, Window{}, 640, true, 0, 60)
	x, ok = again.Tail(node, Window{}, 10)
	require.True(t, ok)
	require.EqualValues(t, 30, x.Seconds, "a restart covers nothing again")
	require.Len(t, again.Subjects(), 1)
	again.Forget(641)
	require.Empty(t, again.Subjects())
}

// Whatever the times and results of the checks: what is stated about a period is never more than the period nor than
// what lies between the subject's start and end, nothing is stated about a time to come, and no second is stated to be
// up and down at once. A subject that passes every check is stated to be up all the time.
func TestNoSecondIsCoveredTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := NewCover(60, rapid.Int64Range(1, 80).Draw(t, "doubt"))
		s := Subject{Node: solana.PublicKey{1}}
		w := Window{From: rapid.Int64Range(580, 680).Draw(t, "from")}
		if rapid.Bool().Draw(t, "ends") {
			w.To = w.From + rapid.Int64Range(0, 100).Draw(t, "lasts")
		}
		end := int64(720)
		if w.To != 0 {
			end = min(end, w.To)
		}
		sum := map[records.Period]int64{}
		upTo, always := int64(600), true
		say := func(x Span) {
			sum[x.Period] += int64(x.Seconds)
			require.LessOrEqual(t, x.At, upTo)
		}
		at := int64(600)
		for i := range rapid.IntRange(1, 20).Draw(t, "checks") {
			at += rapid.Int64Range(-3, 30).Draw(t, "step")
			at = min(max(at, 600), 719)
			passed := rapid.Bool().Draw(t, "passed")
			if at/60 > upTo/60 {
				upTo = at / 60 * 60
				if x, ok := c.Tail(s, w, records.Period(upTo/60-1)); ok {
					say(x)
				}
			}
			upTo, always = max(upTo, at), always && passed
			if upTo/60 != at/60 {
				break // a clock that goes back over a period's end: the recorder moves such findings
			}
			for _, x := range c.Check(s, w, at, passed, 0, 60) {
				say(x)
			}
			_ = i
		}
		p := records.Period(upTo / 60)
		upTo = int64(p+1) * 60
		if x, ok := c.Tail(s, w, p); ok {
			say(x)
		}
		for p, n := range sum {
			room := max(0, min(int64(p+1)*60, end)-max(int64(p)*60, w.From))
			require.LessOrEqual(t, n, room)
			if always {
				require.Equal(t, room, n)
			}
		}
	})
}

func TestSchedule(t *testing.T) {
	for status, want := range map[market.NodeStatus]bool{
		market.NodeActive: true, market.NodeDraining: true, market.NodeHibernated: false,
		market.NodeRetired: false, market.NodeSuspended: false,
	} {
		require.Equal(t, want, Checked(status), status.String())
		n := &market.Node{}
		n.Node.Status = uint8(status)
		require.Equal(t, want, Free(n))
		n.LiveLeases = 1
		require.False(t, Free(n), "never while a lease lives")
	}
}

func sampleNode() (*market.Node, *market.Model) {
	n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{1}}}
	n.Spec.Gpus, n.Spec.VramMib, n.Spec.CpuCores, n.Spec.RamMib, n.Spec.Model, n.Spec.Cuda = 2, 40960, 16, 65536, 1, 1204
	n.Node.Status = uint8(market.NodeActive)
	m := &market.Model{}
	m.Id, m.Name, m.VramMib = 1, market.Text32("A100-SXM4-40GB"), 40960
	return n, m
}

func sampleInventory() *messages.Inventory {
	g := messages.GPU{Name: "NVIDIA A100-SXM4-40GB", VRAMMiB: 40536}
	a, b := g, g
	a.Identity, b.Identity = [32]byte{1}, [32]byte{2}
	return &messages.Inventory{GPUs: []messages.GPU{a, b}, CPUCores: 16, RAMMiB: 64000, CUDA: 1208}
}

func TestJudgeInventory(t *testing.T) {
	holder := func(d [32]byte) (solana.PublicKey, bool) {
		return map[[32]byte]solana.PublicKey{{1}: {1}, {2}: {1}, {3}: {9}}[d], d[0] <= 3
	}
	for name, c := range map[string]struct {
		change    func(*messages.Inventory)
		mismatch  bool
		unhealthy bool
	}{
		"as registered": {change: func(*messages.Inventory) {}},
		"one more GPU": {change: func(i *messages.Inventory) {
			i.GPUs = append(i.GPUs, messages.GPU{Name: i.GPUs[0].Name, VRAMMiB: 40960, Identity: [32]byte{5}})
		}},
		"a GPU is gone":                {change: func(i *messages.Inventory) { i.GPUs = i.GPUs[:1] }, mismatch: true},
		"another model":                {change: func(i *messages.Inventory) { i.GPUs[0].Name = "NVIDIA T4" }, mismatch: true},
		"as another driver writes it":  {change: func(i *messages.Inventory) { i.GPUs[0].Name = "NVIDIA A100 40GB" }},
		"a name that begins alike":     {change: func(i *messages.Inventory) { i.GPUs[0].Name = "NVIDIA RTX A1000" }, mismatch: true},
		"less memory":                  {change: func(i *messages.Inventory) { i.GPUs[1].VRAMMiB = 20480 }, mismatch: true},
		"a device of another node":     {change: func(i *messages.Inventory) { i.GPUs[1].Identity = [32]byte{3} }, mismatch: true},
		"a device nobody registered":   {change: func(i *messages.Inventory) { i.GPUs[1].Identity = [32]byte{7} }, mismatch: true},
		"simulated, registered as not": {change: func(i *messages.Inventory) { i.Simulated = true }, mismatch: true},
		"few cores":                    {change: func(i *messages.Inventory) { i.CPUCores = 8 }, unhealthy: true},
		"an older CUDA":                {change: func(i *messages.Inventory) { i.CUDA = 1203 }, unhealthy: true},
		"little memory":                {change: func(i *messages.Inventory) { i.RAMMiB = 1000 }, unhealthy: true},
		"hot":                          {change: func(i *messages.Inventory) { i.GPUs[0].TempC = 120 }, unhealthy: true},
		"a fault by its own word":      {change: func(i *messages.Inventory) { i.GPUs[1].Fault = 79 }, unhealthy: true},
		"split in instances":           {change: func(i *messages.Inventory) { i.GPUs[1].MIG = true }, unhealthy: true},
		"a board of another form":      {change: func(i *messages.Inventory) { i.GPUs[0].Name = "NVIDIA A100-PCIE-40GB" }, mismatch: true},
		"memory errors":                {change: func(i *messages.Inventory) { i.GPUs[0].ECCErrors = 1 }, unhealthy: true},
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

// Whose claims others hold is not slashed for it: evidence decides. What it still holds must be there.
func TestANodeThatMissesClaimsIsNotJudgedByWhoHoldsThem(t *testing.T) {
	holder := func(d [32]byte) (solana.PublicKey, bool) {
		return map[[32]byte]solana.PublicKey{{1}: {1}, {2}: {9}, {3}: {9}}[d], d[0] <= 3
	}
	n, m := sampleNode()
	inv := sampleInventory()
	mismatches, _ := JudgeInventory(inv, n, m, holder)
	require.NotEmpty(t, mismatches, "it is said to hold both")
	require.Equal(t, market.DeviceRoot([][32]byte{{1}}), ShownRoot(inv, n, holder), "a root over what it holds")
	missing := *n
	missing.ClaimsMissing = 1
	mismatches, _ = JudgeInventory(inv, &missing, m, holder)
	require.Empty(t, mismatches)
	require.Equal(t, market.DeviceRoot([][32]byte{{2}, {1}}), ShownRoot(inv, &missing, holder))
	inv.GPUs[0].Identity = [32]byte{8}
	mismatches, _ = JudgeInventory(inv, &missing, m, holder)
	require.NotEmpty(t, mismatches, "the GPU that it holds is gone")
	missing.ClaimsMissing = 2
	mismatches, _ = JudgeInventory(inv, &missing, m, holder)
	require.Empty(t, mismatches)
}

func TestLeaseUp(t *testing.T) {
	lease := solana.PublicKey{7}
	for state, want := range map[messages.LeaseState]bool{
		messages.LeaseWaiting: true, messages.LeaseRunning: true, messages.LeaseExited: true, messages.LeaseBroken: true,
		messages.LeaseStopped: false, 99: false,
	} {
		l := &messages.Liveness{Leases: []messages.LeaseStatus{{Lease: [32]byte{1}, State: messages.LeaseRunning}, {Lease: lease, State: state}}}
		require.Equal(t, want, LeaseUp(l, lease))
	}
	require.False(t, LeaseUp(&messages.Liveness{}, lease))
}
