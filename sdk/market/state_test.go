package market

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/idl/bindings"
)

func sampleNode() (Node, Model, Requirement) {
	n := Node{}
	n.Status, n.Price, n.UptimeBps, n.Tier = uint8(NodeActive), 1_000_000, 9_900, 1
	n.Spec = NodeSpec{Model: 1, Gpus: 4, VramMib: 40_960, CpuCores: 64, RamMib: 262_144, DiskGib: 4_000, Cuda: 1_208, Interconnect: 1, Region: Text16("us-west-2"), Site: Text16("a")}
	n.GpuMask = 0b0001
	m := Model{}
	m.Id, m.TflopsX10 = 1, 3_120
	return n, m, Requirement{Models: Models(1)}
}

func TestSatisfies(t *testing.T) {
	site := Text16("a")
	for name, c := range map[string]struct {
		change func(*Node, *Model, *Requirement)
		gpus   uint8
		want   error
	}{
		"fits":              {func(*Node, *Model, *Requirement) {}, 3, nil},
		"too many GPUs":     {func(*Node, *Model, *Requirement) {}, 4, bindings.ErrorCodeNotEnoughGpus},
		"other model":       {func(_ *Node, _ *Model, r *Requirement) { r.Models = Models(2, 3) }, 1, bindings.ErrorCodeUnsuitableModel},
		"wrong model given": {func(n *Node, _ *Model, _ *Requirement) { n.Spec.Model = 2 }, 1, bindings.ErrorCodeUnsuitableModel},
		"any with power":    {func(_ *Node, _ *Model, r *Requirement) { r.Models, r.MinTflopsX10 = Models(), 3_000 }, 1, nil},
		"too weak":          {func(_ *Node, _ *Model, r *Requirement) { r.MinTflopsX10 = 3_121 }, 1, bindings.ErrorCodeUnsuitableModel},
		"memory":            {func(_ *Node, _ *Model, r *Requirement) { r.MinVramMib = 40_961 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"interconnect":      {func(_ *Node, _ *Model, r *Requirement) { r.MinInterconnect = 2 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"tier":              {func(_ *Node, _ *Model, r *Requirement) { r.MinTier = 2 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"tier of the model": {func(_ *Node, m *Model, _ *Requirement) { m.MinTier = 2 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"simulated":         {func(n *Node, _ *Model, _ *Requirement) { n.Spec.Simulated = 1 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"simulated will do": {func(n *Node, _ *Model, r *Requirement) { n.Spec.Simulated, r.AllowSimulated = 1, 1 }, 1, nil},
		"cores":             {func(_ *Node, _ *Model, r *Requirement) { r.MinCpuCores = 17 }, 1, bindings.ErrorCodeUnsuitableShare},
		"cores of two GPUs": {func(_ *Node, _ *Model, r *Requirement) { r.MinCpuCores = 32 }, 2, nil},
		"machine's memory":  {func(_ *Node, _ *Model, r *Requirement) { r.MinRamMib = 65_537 }, 1, bindings.ErrorCodeUnsuitableShare},
		"disk":              {func(_ *Node, _ *Model, r *Requirement) { r.MinDiskGib = 1_001 }, 1, bindings.ErrorCodeUnsuitableShare},
		"CUDA":              {func(_ *Node, _ *Model, r *Requirement) { r.MinCuda = 1_209 }, 1, bindings.ErrorCodeUnsuitableShare},
		"all of its share": {func(_ *Node, _ *Model, r *Requirement) {
			r.MinCpuCores, r.MinRamMib, r.MinDiskGib, r.MinCuda = 16, 65_536, 1_000, 1_208
		}, 1, nil},
		"runs no images":     {func(_ *Node, _ *Model, r *Requirement) { r.MinIsolation = 1 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"runs images":        {func(n *Node, _ *Model, r *Requirement) { n.Spec.Isolation, r.MinIsolation = 1, 1 }, 1, nil},
		"has no volumes":     {func(n *Node, _ *Model, r *Requirement) { n.Spec.Isolation, r.MinIsolation = 1, 2 }, 1, bindings.ErrorCodeUnsuitableHardware},
		"has volumes":        {func(n *Node, _ *Model, r *Requirement) { n.Spec.Isolation, r.MinIsolation = 2, 1 }, 1, nil},
		"region prefix":      {func(_ *Node, _ *Model, r *Requirement) { r.Region = Text16("us-w") }, 1, nil},
		"other region":       {func(_ *Node, _ *Model, r *Requirement) { r.Region = Text16("eu") }, 1, bindings.ErrorCodeUnsuitableLocation},
		"same site":          {func(_ *Node, _ *Model, r *Requirement) { r.SameSite = 1 }, 1, nil},
		"other site":         {func(n *Node, _ *Model, r *Requirement) { n.Spec.Site, r.SameSite = Text16("b"), 1 }, 1, bindings.ErrorCodeUnsuitableLocation},
		"uptime":             {func(_ *Node, _ *Model, r *Requirement) { r.MinUptimeBps = 9_901 }, 1, bindings.ErrorCodeUnsuitableReputation},
		"reputation":         {func(_ *Node, _ *Model, r *Requirement) { r.MinReputationBps = 9_000 }, 1, bindings.ErrorCodeUnsuitableReputation},
		"not guaranteed":     {func(_ *Node, _ *Model, r *Requirement) { r.Guaranteed = 1 }, 1, bindings.ErrorCodeUnsuitableGuarantee},
		"guaranteed":         {func(n *Node, _ *Model, r *Requirement) { r.Guaranteed, n.GuaranteedUntil = 1, 700 }, 1, nil},
		"not long enough":    {func(n *Node, _ *Model, r *Requirement) { r.Guaranteed, n.GuaranteedUntil = 1, 699 }, 1, bindings.ErrorCodeUnsuitableGuarantee},
		"reputation reached": {func(_ *Node, _ *Model, r *Requirement) { r.MinReputationBps = 8_450 }, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n, m, r := sampleNode()
			c.change(&n, &m, &r)
			err := Satisfies(&r, &n, &m, c.gpus, site, 0, 700)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestAwardable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Market, *Order, *Node, *Provider)
		want   error
	}{
		"yes":       {func(*Market, *Order, *Node, *Provider) {}, nil},
		"paused":    {func(mk *Market, _ *Order, _ *Node, _ *Provider) { mk.Paused = PauseAwards }, bindings.ErrorCodeAwardsPaused},
		"status":    {func(_ *Market, o *Order, _ *Node, _ *Provider) { o.Status = uint8(OrderAwarded) }, bindings.ErrorCodeWrongOrderStatus},
		"deadline":  {func(_ *Market, o *Order, _ *Node, _ *Provider) { o.AwardDeadline = 9 }, bindings.ErrorCodeTooLate},
		"draining":  {func(_ *Market, _ *Order, n *Node, _ *Provider) { n.Status = uint8(NodeDraining) }, bindings.ErrorCodeWrongNodeStatus},
		"too dear":  {func(_ *Market, _ *Order, n *Node, _ *Provider) { n.Price = 2_000_001 }, CodePriceTooHigh},
		"stake":     {func(_ *Market, _ *Order, n *Node, _ *Provider) { n.RequiredStake = 1 }, bindings.ErrorCodeInsufficientStake},
		"not fit":   {func(_ *Market, o *Order, _ *Node, _ *Provider) { o.GpusPerNode = 4 }, bindings.ErrorCodeNotEnoughGpus},
		"site kept": {func(_ *Market, o *Order, _ *Node, _ *Provider) { o.NodesAwarded, o.Requirement.SameSite = 1, 1 }, bindings.ErrorCodeUnsuitableLocation},
	} {
		t.Run(name, func(t *testing.T) {
			n, m, r := sampleNode()
			mk, p := Market{}, Provider{}
			p.Stake, p.LockedStake = 100, 100
			o := Order{}
			o.Status, o.AwardDeadline, o.MaxPrice, o.GpusPerNode, o.Requirement = uint8(OrderOpen), 10, 2_000_000, 1, r
			c.change(&mk, &o, &n, &p)
			err := Awardable(&mk, &o, &n, &p, &m, 10)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

func TestCandidatesAreOrderedAsTheProtocolSays(t *testing.T) {
	make := func(id byte, price uint64, uptime uint16) Candidate {
		n := Node{Meta: Meta{Address: solana.PublicKey{id}}}
		n.Price, n.UptimeBps = price, uptime
		c, err := NewCandidate(solana.PublicKey{1}, n, 0, 0)
		require.NoError(t, err)
		return c
	}
	cheap, dear := make(1, 1_000, 9_000), make(2, 2_000, 10_000)
	twin := make(3, 1_000, 9_000)
	all := []Candidate{dear, twin, cheap}
	slices.SortFunc(all, Candidate.Compare)
	require.Equal(t, dear.Node.Address, all[2].Node.Address)
	require.Negative(t, bytes.Compare(all[0].Tie[:], all[1].Tie[:]))
	better := cheap
	better.Reputation++
	require.Negative(t, better.Compare(cheap))
	require.Zero(t, cheap.Compare(cheap))
}

// Whatever time it is, a lease bills no more than has passed, was funded and was not down, and never less later.
func TestBillableSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Lease{}
		l.StartedAt = rapid.Int64Range(1, 1<<40).Draw(t, "start")
		l.FundedUntil = l.StartedAt + rapid.Int64Range(0, 1<<31).Draw(t, "funded")
		if rapid.Bool().Draw(t, "ended") {
			l.EndedAt = rapid.Int64Range(l.StartedAt, l.FundedUntil).Draw(t, "end")
		}
		l.DowntimeSecs = rapid.Uint32Max(1_000).Draw(t, "down")
		a := rapid.Int64().Draw(t, "now")
		b := rapid.Int64Min(a).Draw(t, "later")
		now, later := l.BillableSecs(a), l.BillableSecs(b)
		if later < now || int64(later) > max(0, l.FundedUntil-l.StartedAt) {
			t.Fatalf("%d s, later %d s", now, later)
		}
	})
	require.Zero(t, (&Lease{}).BillableSecs(1<<40))
}

// An extension costs what the totals differ by, whatever was paid before and at which price.
func TestTheCostOfAnExtension(t *testing.T) {
	l := Lease{}
	l.StartedAt, l.FundedUntil, l.Lease.Price, l.Gpus = 1_000, 1_000+7_200, 3_600_000, 2 // 0.002 USDC a second
	for _, paid := range []uint32{0, 10, 3_600, 7_200} {
		l.PaidSecs = paid
		cost, err := l.ExtensionCost(60)
		require.NoError(t, err)
		require.Equal(t, USDC(120_000), cost, "%d s are paid", paid)
	}
	l.RepricedSecs, l.RepricedPaid = 7_200, 20_000_000 // an unjust award: what was served cost more
	cost, err := l.ExtensionCost(60)
	require.NoError(t, err)
	require.Equal(t, USDC(120_000), cost)
	_, err = l.ExtensionCost(0)
	require.ErrorIs(t, err, bindings.ErrorCodeInvalidDuration)
	_, err = l.ExtensionCost(MaxDurationSecs)
	require.ErrorIs(t, err, bindings.ErrorCodeInvalidDuration)

	rapid.Check(t, func(t *rapid.T) {
		l := Lease{}
		l.Lease.Price, l.Gpus = rapid.Uint64Max(1<<40).Draw(t, "price"), rapid.Uint8Range(1, 8).Draw(t, "gpus")
		l.StartedAt, l.FundedUntil = 1_000, 1_000+rapid.Int64Range(1, 1<<20).Draw(t, "time")
		a, b := rapid.Uint32Range(1, 1<<20).Draw(t, "a"), rapid.Uint32Range(1, 1<<20).Draw(t, "b")
		once, err := l.ExtensionCost(a + b)
		require.NoError(t, err)
		first, err := l.ExtensionCost(a)
		require.NoError(t, err)
		l.FundedUntil += int64(a)
		second, err := l.ExtensionCost(b)
		require.NoError(t, err)
		require.Equal(t, once, first+second)
	})
}

func TestWhenALeaseMayClose(t *testing.T) {
	me, other := solana.PublicKey{1}, solana.PublicKey{2}
	ended := func(change func(*Lease)) *Lease {
		l := &Lease{}
		l.Customer, l.Status, l.StartedAt, l.FundedUntil, l.EndedAt = me, uint8(LeaseEnded), 1_000, 2_000, 1_100
		l.SettleSecs, l.RatingSecs, l.PaidSecs, l.Lease.Paid = 10, 6, 100, 1
		change(l)
		return l
	}
	for name, c := range map[string]struct {
		change func(*Lease)
		by     solana.PublicKey
		now    int64
		want   error
	}{
		"paid in full, customer":          {func(*Lease) {}, me, 1_100, nil},
		"paid in full, others wait":       {func(*Lease) {}, other, 1_105, CodeTooEarly},
		"after the time to rate":          {func(*Lease) {}, other, 1_106, nil},
		"a second gives 1,000 to rate":    {func(l *Lease) { l.EndedAt, l.PaidSecs, l.RatingSecs = 1_001, 1, 5_000 }, other, 2_000, CodeTooEarly},
		"and no more":                     {func(l *Lease) { l.EndedAt, l.PaidSecs, l.RatingSecs = 1_001, 1, 5_000 }, other, 2_001, nil},
		"nothing was paid, so none rates": {func(l *Lease) { l.EndedAt, l.PaidSecs, l.Lease.Paid = 1_000, 0, 0 }, other, 1_000, nil},
		"rated":                           {func(l *Lease) { l.Rating = 4 }, other, 1_101, nil},
		"award can be contested":          {func(l *Lease) { l.Rating, l.Lease.Score, l.ChallengeUntil = 4, 1, 1_110 }, other, 1_110, CodeTooEarly},
		"customer need not wait for that": {func(l *Lease) { l.Rating, l.Lease.Score, l.ChallengeUntil = 4, 1, 1_110 }, me, 1_110, nil},
		"nor anyone after it":             {func(l *Lease) { l.Rating, l.Lease.Score, l.ChallengeUntil = 4, 1, 1_110 }, other, 1_111, nil},
		"running":                         {func(l *Lease) { l.Status = uint8(LeaseRunning) }, me, 1_101, CodeWrongLeaseStatus},
		"fault pending":                   {func(l *Lease) { l.PendingFaults = 1 }, me, 1_200, bindings.ErrorCodeFaultPending},
		"tail unknown":                    {func(l *Lease) { l.PaidSecs = 90 }, me, 1_110, CodeUnsettled},
		"tail unknown, deadline":          {func(l *Lease) { l.PaidSecs = 90 }, me, 1_111, nil},
		"tail reported":                   {func(l *Lease) { l.PaidSecs, l.LastReportPeriod, l.ReportWindow = 90, 219, windowFull }, me, 1_101, nil},
		"tail reported too early":         {func(l *Lease) { l.PaidSecs, l.LastReportPeriod, l.ReportWindow = 90, 218, windowFull }, me, 1_101, CodeUnsettled},
		"tail reported, a gap before":     {func(l *Lease) { l.PaidSecs, l.LastReportPeriod, l.ReportWindow = 90, 219, windowFull&^2 }, me, 1_101, CodeUnsettled},
		"claimed and unpaid":              {func(l *Lease) { l.PaidSecs, l.ReceiptSecs = 90, 95 }, me, 1_115, CodeUnsettled},
		"claimed and unpaid for too long": {func(l *Lease) { l.PaidSecs, l.ReceiptSecs = 90, 95 }, me, 1_121, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := ended(c.change).CanClose(c.by, &Node{}, &Params{PeriodSecs: 5}, c.now)
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}
