package report

import (
	"bytes"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// Input is all that a report's leaves follow from, as statements: what reports were once made of.
type Input struct {
	Period     records.Period
	PeriodSecs uint32
	Weights    Weights
	Seed       committee.Seed
	Statements []statement.Signed
}

// Build is the real thing, fed with statements: each keeper's in a set of its own, without equivocating keepers, which
// no set can hold.
func Build(in Input) []records.Leaf {
	d := NewTally(statement.Frame{Domain: domain, Period: in.Period, Secs: in.PeriodSecs})
	signed := map[statement.Key]records.CheckStatement{}
	equivocating := map[solana.PublicKey]bool{}
	by := map[solana.PublicKey][]records.CheckStatement{}
	for _, s := range in.Statements {
		if old, ok := signed[s.Key()]; ok && old != s.Statement {
			equivocating[s.Keeper] = true
		}
		signed[s.Key()] = s.Statement
		by[s.Keeper] = append(by[s.Keeper], s.Statement)
	}
	b := Basis{Weights: in.Weights, Roster: committee.NewRoster(in.Seed, in.Weights)}
	for keeper, all := range by {
		if equivocating[keeper] {
			continue
		}
		raw, _ := statement.EncodeSet(d.frame, all)
		ref, err := d.Add(keeper, raw)
		if err != nil {
			panic(err)
		}
		b.Sets = append(b.Sets, ref)
	}
	leaves, err := d.Build(b)
	if err != nil {
		panic(err)
	}
	return leaves
}

// tally is what one keeper signed about one node.
type tally struct {
	weight uint64
	up     span                       // of the node
	leases map[solana.PublicKey]*span // of its leases
	passed map[records.CheckKind]int
	failed map[records.CheckKind]int
	// figures of the last check of a kind that measured
	figures  map[records.CheckKind]records.CheckStatement
	device   [32]byte // of the last passed inventory check
	deviceAt int64
	// evidence is the last passed evidence check, nil without one
	evidence *records.CheckStatement
	changed  bool // a failed one found other devices
	checks   int
	passes   int

	live, covers, failedLive bool
	bound                    uint32
}

func (t *tally) upFor(secs uint32, member bool) uint32 {
	if t.covers || member {
		up, _ := t.up.clip(secs)
		return up
	}
	return min(t.bound, secs)
}

// span sums covered seconds.
type span struct{ passed, failed uint64 }

func (s span) clip(secs uint32) (passed, failed uint32) { return clip(s.passed, s.failed, secs) }

// admissible is the rule of what counts.
func admissible(s statement.Signed, in Input) bool {
	f := statement.Frame{Domain: domain, Period: in.Period, Secs: in.PeriodSecs}
	return in.Weights[s.Keeper] > 0 && f.Admits(&s.Statement)
}

// naive computes the leaves in the way that is easiest to read: everything sorted into maps. The tests hold Build
// against it, the benchmarks compare with it.
func naive(in Input) []records.Leaf {
	nodes := collect(in)
	total := in.Weights.Total()
	var leaves []records.Leaf
	for node, tallies := range nodes {
		leaves = append(leaves, nodeLeaves(in, node, tallies, total)...)
	}
	records.SortLeaves(leaves)
	return leaves
}

// collect sorts admissible statements by node and keeper, without equivocating keepers.
func collect(in Input) map[solana.PublicKey]map[solana.PublicKey]*tally {
	all := slices.Clone(in.Statements)
	slices.SortFunc(all, statement.Compare)
	all = slices.CompactFunc(all, func(a, b statement.Signed) bool {
		return a.Keeper == b.Keeper && a.Statement == b.Statement
	})
	signed := map[statement.Key]bool{}
	equivocating := map[solana.PublicKey]bool{}
	for _, s := range all {
		if signed[s.Key()] {
			equivocating[s.Keeper] = true
		}
		signed[s.Key()] = true
	}
	nodes := map[solana.PublicKey]map[solana.PublicKey]*tally{}
	for _, s := range all {
		if equivocating[s.Keeper] || !admissible(s, in) {
			continue
		}
		byKeeper := nodes[s.Statement.Node]
		if byKeeper == nil {
			byKeeper = map[solana.PublicKey]*tally{}
			nodes[s.Statement.Node] = byKeeper
		}
		t := byKeeper[s.Keeper]
		if t == nil {
			t = &tally{
				weight: in.Weights[s.Keeper], leases: map[solana.PublicKey]*span{},
				passed: map[records.CheckKind]int{}, failed: map[records.CheckKind]int{},
				figures: map[records.CheckKind]records.CheckStatement{}, bound: in.PeriodSecs,
			}
			byKeeper[s.Keeper] = t
		}
		t.add(s.Statement)
	}
	return nodes
}

func (t *tally) add(s records.CheckStatement) {
	t.checks++
	if s.Passed {
		t.passes++
		t.passed[s.Kind]++
	} else {
		t.failed[s.Kind]++
	}
	switch s.Kind {
	case records.CheckLiveness:
		sp := &t.up
		if !s.Lease.IsZero() {
			if t.leases[s.Lease] == nil {
				t.leases[s.Lease] = &span{}
			}
			sp = t.leases[s.Lease]
		} else {
			t.live = true
			t.covers = t.covers || s.CoveredSeconds > 0
			if !s.Passed {
				t.bound = min(t.bound, uint32(s.CheckedAt-int64(uint64(s.Period)*secs)))
			}
		}
		t.failedLive = t.failedLive || !s.Passed
		if s.Passed {
			sp.passed += uint64(s.CoveredSeconds)
		} else {
			sp.failed += uint64(s.CoveredSeconds)
		}
	case records.CheckWork, records.CheckNetwork:
		if s.Figures.First > 0 && s.Figures.Second > 0 && s.CheckedAt >= t.figures[s.Kind].CheckedAt {
			t.figures[s.Kind] = s
		}
	case records.CheckInventory:
		if s.Passed && s.CheckedAt >= t.deviceAt {
			t.device, t.deviceAt = s.Detail, s.CheckedAt
		}
	case records.CheckEvidence:
		t.changed = t.changed || s.DeviceChanged()
		if s.Passed && (t.evidence == nil || s.CheckedAt >= t.evidence.CheckedAt) {
			t.evidence = &s
		}
	}
}

// naiveAgreedFailed reports whether keepers with more than two thirds of the weight say "failed" and never "passed".
func naiveAgreedFailed(tallies map[solana.PublicKey]*tally, kind records.CheckKind, total uint64) bool {
	var against uint64
	for _, t := range tallies {
		if t.failed[kind] > 0 && t.passed[kind] == 0 {
			against += t.weight
		}
	}
	return moreThan(against, total, 2, 3)
}

func naiveUp(in Input, node solana.PublicKey, tallies map[solana.PublicKey]*tally, total uint64) (uint32, bool) {
	var reported, memberWeight uint64
	var all []value
	members, clean, most := 0, 0, uint32(0)
	roster := committee.NewRoster(in.Seed, in.Weights)
	for keeper, t := range tallies {
		if !t.live {
			continue
		}
		reported += t.weight
		all = append(all, value{t.weight, t.upFor(in.PeriodSecs, roster.Sits(node, keeper))})
		if roster.Sits(node, keeper) {
			memberWeight += t.weight
			members++
			if !t.failedLive {
				clean++
				most = max(most, t.upFor(in.PeriodSecs, true))
			}
		}
	}
	if moreThan(reported, total, 2, 3) {
		return median(all), true
	}
	enough := members >= 3
	if len(roster.Draw(nil, node)) == roster.Len() {
		enough = moreThan(memberWeight, total, 1, 2)
	}
	return most, enough && 2*clean > members
}

func nodeLeaves(in Input, node solana.PublicKey, tallies map[solana.PublicKey]*tally, total uint64) []records.Leaf {
	leaf := records.Leaf{Node: node, Period: in.Period}
	for kind, flag := range map[records.CheckKind]records.Flags{
		records.CheckLiveness: records.FlagOffline, records.CheckInventory: records.FlagSpecMismatch,
		records.CheckWork: records.FlagWorkFailed, records.CheckEvidence: records.FlagEvidenceFailed,
		records.CheckHealth: records.FlagUnhealthy, records.CheckOutput: records.FlagBadOutput,
	} {
		if naiveAgreedFailed(tallies, kind, total) {
			leaf.Flags |= flag
		}
	}
	up, ok := naiveUp(in, node, tallies, total)
	switch {
	case ok:
		leaf.UpSeconds = up
	case leaf.Flags == 0:
		return nil
	}
	leaf.Tier = records.TierNotAsked
	var checks, passes uint64
	devices := map[[32]byte]uint64{}
	leases := map[solana.PublicKey]uint64{}
	for _, t := range tallies {
		checks, passes = checks+uint64(t.checks), passes+uint64(t.passes)
		if t.device != [32]byte{} {
			devices[t.device] += t.weight
		}
		for lease := range t.leases {
			leases[lease] += t.weight
		}
	}
	leaf.ChecksPassed, leaf.ChecksTotal = capped(passes, checks)
	work, network := naiveFigures(in, node, tallies, records.CheckWork), naiveFigures(in, node, tallies, records.CheckNetwork)
	leaf.Operations, leaf.Bandwidth, leaf.DownMbps, leaf.UpMbps = work.First, work.Second, network.First, network.Second
	for root, weight := range devices {
		if moreThan(weight, total, 1, 2) {
			leaf.DeviceRoot = root
		}
	}
	naiveEvidence(&leaf, tallies, total)
	leaves := []records.Leaf{leaf}
	for lease, weight := range leases {
		if moreThan(weight, total, 2, 3) {
			leaves = append(leaves, leaseLeaf(in, leaf, lease, tallies))
		}
	}
	return leaves
}

// naiveFigures asks each member of the committee.
func naiveFigures(in Input, node solana.PublicKey, tallies map[solana.PublicKey]*tally, kind records.CheckKind) records.Figures {
	var first, second []value
	roster := committee.NewRoster(in.Seed, in.Weights)
	for _, i := range roster.Draw(nil, node) {
		var f records.Figures
		if t := tallies[roster.Key(i)]; t != nil {
			f = t.figures[kind].Figures
		}
		w := uint64(1)
		if roster.Everyone() {
			w = in.Weights[roster.Key(i)]
		}
		first, second = append(first, value{w, f.First}), append(second, value{w, f.Second})
	}
	return records.Figures{First: median(first), Second: median(second)}
}

func naiveEvidence(leaf *records.Leaf, tallies map[solana.PublicKey]*tally, total uint64) {
	if leaf.Flags.Has(records.FlagEvidenceFailed) {
		leaf.Tier = 0
		var changed uint64
		for _, t := range tallies {
			if t.changed && t.passed[records.CheckEvidence] == 0 {
				changed += t.weight
			}
		}
		if moreThan(changed, total, 2, 3) {
			leaf.Flags = leaf.Flags&^records.FlagEvidenceFailed | records.FlagDeviceChanged
		}
		return
	}
	var reported uint64
	var tiers []value
	for _, t := range tallies {
		if t.evidence != nil {
			reported += t.weight
			tiers = append(tiers, value{t.weight, uint32(t.evidence.Tier())})
		}
	}
	if !moreThan(reported, total, 2, 3) {
		return
	}
	leaf.Tier = uint8(median(tiers))
	var holder solana.PublicKey
	var weight uint64
	for keeper, t := range tallies {
		if t.evidence == nil || t.evidence.Tier() != leaf.Tier {
			continue
		}
		if t.weight > weight || t.weight == weight && bytes.Compare(keeper[:], holder[:]) < 0 {
			holder, weight, leaf.EvidenceHash = keeper, t.weight, t.evidence.Detail
		}
	}
}

// leaseLeaf is the node's leaf with what was seen of one lease. Offline needs most of the covered time to be downtime.
func leaseLeaf(in Input, leaf records.Leaf, lease solana.PublicKey, tallies map[solana.PublicKey]*tally) records.Leaf {
	var verified, down []value
	for _, t := range tallies {
		if s := t.leases[lease]; s != nil {
			p, f := s.clip(in.PeriodSecs)
			verified, down = append(verified, value{t.weight, p}), append(down, value{t.weight, f})
		}
	}
	leaf.Lease = lease
	leaf.VerifiedSeconds, leaf.DowntimeSeconds = median(verified), median(down)
	if leaf.DowntimeSeconds <= leaf.VerifiedSeconds {
		leaf.Flags &^= records.FlagOffline
	}
	return leaf
}
