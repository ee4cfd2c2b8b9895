package report

import (
	"math"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/statement"
)

// Input is all that a report's leaves follow from.
type Input struct {
	Period     wire.Period
	PeriodSecs uint32
	Weights    Weights
	// Tier is what the chain says about a node's evidence, for periods in which it was not checked; nil gives 0.
	Tier       func(node solana.PublicKey) uint8
	Statements []statement.Signed
}

// tally is what one keeper said about one node.
type tally struct {
	weight uint64
	up     span                       // of the node
	leases map[solana.PublicKey]*span // of its leases
	passed map[wire.CheckKind]int
	failed map[wire.CheckKind]int
	// measured by passed work checks, TFLOPS × 10
	measured []uint32
	device   [32]byte // of the last passed inventory check
	deviceAt int64
	// evidence is the last passed evidence check, nil without one
	evidence *wire.CheckStatement
	changed  bool // a failed one found other devices
	checks   int
	passes   int
}

// span sums covered seconds.
type span struct{ passed, failed uint64 }

// clip bounds the sums by the period: nobody covers more than there is.
func (s span) clip(secs uint32) (passed, failed uint32) {
	p := min(s.passed, uint64(secs))
	return uint32(p), uint32(min(s.failed, uint64(secs)-p))
}

// Admissible reports whether a statement may count for the period: of a keeper with weight, of this period, made within
// it, covering no more than it has.
func Admissible(s statement.Signed, p wire.Period, secs uint32, w Weights) bool {
	st := s.Statement
	start := int64(uint64(p) * uint64(secs))
	return w[s.Keeper] > 0 && st.Period == p && st.CoveredSeconds <= secs &&
		st.CheckedAt >= start && st.CheckedAt <= start+int64(secs)
}

// Build computes the leaves: for every node one without a lease, and one for each lease that keepers saw.
func Build(in Input) []wire.Leaf {
	nodes := collect(in)
	total := in.Weights.Total()
	var leaves []wire.Leaf
	for node, tallies := range nodes {
		leaves = append(leaves, nodeLeaves(in, node, tallies, total)...)
	}
	wire.SortLeaves(leaves)
	return leaves
}

// collect sorts admissible statements by node and keeper, without keepers that contradict themselves.
func collect(in Input) map[solana.PublicKey]map[solana.PublicKey]*tally {
	all := slices.Clone(in.Statements)
	slices.SortFunc(all, statement.Compare)
	all = slices.CompactFunc(all, func(a, b statement.Signed) bool {
		return a.Keeper == b.Keeper && a.Statement == b.Statement
	})
	said := map[statement.Key]bool{}
	liars := map[solana.PublicKey]bool{}
	for _, s := range all {
		if said[s.Key()] {
			liars[s.Keeper] = true
		}
		said[s.Key()] = true
	}
	nodes := map[solana.PublicKey]map[solana.PublicKey]*tally{}
	for _, s := range all {
		if liars[s.Keeper] || !Admissible(s, in.Period, in.PeriodSecs, in.Weights) {
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
				passed: map[wire.CheckKind]int{}, failed: map[wire.CheckKind]int{},
			}
			byKeeper[s.Keeper] = t
		}
		t.add(s.Statement)
	}
	return nodes
}

func (t *tally) add(s wire.CheckStatement) {
	t.checks++
	if s.Passed {
		t.passes++
		t.passed[s.Kind]++
	} else {
		t.failed[s.Kind]++
	}
	switch s.Kind {
	case wire.CheckLiveness:
		sp := &t.up
		if !s.Lease.IsZero() {
			if t.leases[s.Lease] == nil {
				t.leases[s.Lease] = &span{}
			}
			sp = t.leases[s.Lease]
		}
		if s.Passed {
			sp.passed += uint64(s.CoveredSeconds)
		} else {
			sp.failed += uint64(s.CoveredSeconds)
		}
	case wire.CheckWork:
		if s.Passed {
			t.measured = append(t.measured, s.Measured)
		}
	case wire.CheckInventory:
		if s.Passed && s.CheckedAt >= t.deviceAt {
			t.device, t.deviceAt = s.Detail, s.CheckedAt
		}
	case wire.CheckEvidence:
		t.changed = t.changed || s.DeviceChanged()
		if s.Passed && (t.evidence == nil || s.CheckedAt >= t.evidence.CheckedAt) {
			t.evidence = &s
		}
	}
}

// condemned reports whether keepers with more than two thirds of the weight say "failed" and never "passed".
func condemned(tallies map[solana.PublicKey]*tally, kind wire.CheckKind, total uint64) bool {
	var against uint64
	for _, t := range tallies {
		if t.failed[kind] > 0 && t.passed[kind] == 0 {
			against += t.weight
		}
	}
	return moreThan(against, total, 2, 3)
}

func nodeLeaves(in Input, node solana.PublicKey, tallies map[solana.PublicKey]*tally, total uint64) []wire.Leaf {
	var heard uint64
	for _, t := range tallies {
		heard += t.weight
	}
	if !moreThan(heard, total, 1, 2) {
		return nil
	}
	leaf := wire.Leaf{Node: node, Period: in.Period}
	if in.Tier != nil {
		leaf.Tier = in.Tier(node)
	}
	var checks, passes uint64
	var up, measured []value
	devices := map[[32]byte]uint64{}
	leases := map[solana.PublicKey]uint64{}
	for _, t := range tallies {
		checks, passes = checks+uint64(t.checks), passes+uint64(t.passes)
		if t.passed[wire.CheckLiveness]+t.failed[wire.CheckLiveness] > 0 {
			secs, _ := t.up.clip(in.PeriodSecs)
			up = append(up, value{t.weight, secs})
		}
		if len(t.measured) > 0 {
			slices.Sort(t.measured)
			measured = append(measured, value{t.weight, t.measured[(len(t.measured)-1)/2]})
		}
		if t.device != [32]byte{} {
			devices[t.device] += t.weight
		}
		for lease := range t.leases {
			leases[lease] += t.weight
		}
	}
	leaf.ChecksPassed, leaf.ChecksTotal = capped(passes, checks)
	leaf.UpSeconds = median(up)
	leaf.Measured = median(measured)
	for root, weight := range devices {
		if moreThan(weight, total, 1, 2) {
			leaf.DeviceRoot = root
		}
	}
	for kind, flag := range map[wire.CheckKind]wire.Flags{
		wire.CheckLiveness: wire.FlagOffline, wire.CheckInventory: wire.FlagSpecMismatch,
		wire.CheckWork: wire.FlagWorkFailed, wire.CheckEvidence: wire.FlagEvidenceFailed,
		wire.CheckHealth: wire.FlagUnhealthy, wire.CheckOutput: wire.FlagBadOutput,
	} {
		if condemned(tallies, kind, total) {
			leaf.Flags |= flag
		}
	}
	agreeOnEvidence(&leaf, tallies, total)
	leaves := []wire.Leaf{leaf}
	for lease, weight := range leases {
		if moreThan(weight, total, 1, 2) {
			leaves = append(leaves, leaseLeaf(in, leaf, lease, tallies))
		}
	}
	return leaves
}

// leaseLeaf is the node's leaf with what was seen of one lease. Offline needs most of the covered time to be downtime.
func leaseLeaf(in Input, leaf wire.Leaf, lease solana.PublicKey, tallies map[solana.PublicKey]*tally) wire.Leaf {
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
		leaf.Flags &^= wire.FlagOffline
	}
	return leaf
}

// capped brings counts into 16 bits and keeps their ratio.
func capped(passed, total uint64) (uint16, uint16) {
	if total > math.MaxUint16 {
		passed, total = passed*math.MaxUint16/total, math.MaxUint16
	}
	return uint16(passed), uint16(total)
}
