package report

import (
	"bytes"
	"fmt"
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// Basis is what leaves follow from, besides statements.
type Basis struct {
	Weights Weights
	// Roster draws the committees: of the same weights, with the period's seed.
	Roster *committee.Roster
	// Sets are the ones that count, one of each keeper; those of keepers without weight are left out.
	Sets []Ref
}

// Build computes the leaves, in the report's order: for every node one without a lease, and one for each lease. The
// package comment has the rules. Error: ErrMissing.
func (t *Tally) Build(basis Basis) ([]records.Leaf, error) {
	t.setRoster(basis.Roster)
	b := builder{tally: t, basis: &basis, total: basis.Weights.Total()}
	for _, r := range basis.Sets {
		counts := t.sets[r]
		if counts == nil {
			return nil, fmt.Errorf("%w: of keeper %s", ErrMissing, r.Keeper)
		}
		if w := basis.Weights[r.Keeper]; w > 0 {
			b.reporters = append(b.reporters, reporter{counts, r.Keeper, w, basis.Roster.Index(r.Keeper)})
		}
	}
	leaves := make([]records.Leaf, 0, len(t.nodes.keys)+len(t.leases.keys))
	for _, node := range t.sortedNodes() {
		leaves = b.node(leaves, node)
	}
	return leaves, nil
}

// reporter is a keeper whose set counts: its counts, its weight and its place in the roster.
type reporter struct {
	*keeperCounts
	keeper solana.PublicKey
	weight uint64
	seat   int
}

// account is what one keeper signed about the node at hand.
type account struct {
	*nodeCounts
	by *reporter
}

// builder has scratch space that is used for one node after the other.
type builder struct {
	tally     *Tally
	basis     *Basis
	total     uint64 // weight
	reporters []reporter

	accounts []account
	sum      sum // of accounts
	values   []value
	downs    []value
	leases   []leaseAccount
}

// sum is what accounts say together: most say the same, and nothing of most kinds.
type sum struct {
	checks, passes    uint64
	failed            uint8
	device, evidence  bool // some saw a device root, or passed evidence
	worked, networked bool // some measured figures
}

func (s *sum) add(n *nodeCounts) {
	s.checks, s.passes = s.checks+uint64(n.checks), s.passes+uint64(n.passes)
	s.failed |= n.failed
	s.device = s.device || n.device >= 0
	s.evidence = s.evidence || has(n.passed, records.CheckEvidence)
	s.worked = s.worked || n.work.First > 0
	s.networked = s.networked || n.network.First > 0
}

// leaseAccount is what one keeper signed about a lease.
type leaseAccount struct {
	leaseCounts
	weight uint64
}

// node appends the leaves of one node, if enough keepers signed something about it.
func (b *builder) node(leaves []records.Leaf, node uint32) []records.Leaf {
	b.accounts, b.sum = b.accounts[:0], sum{}
	for i := range b.reporters {
		if s := b.reporters[i].of(node); s != nil {
			b.accounts = append(b.accounts, account{s, &b.reporters[i]})
			b.sum.add(s)
		}
	}
	if len(b.accounts) == 0 {
		return leaves
	}
	leaf := records.Leaf{Node: b.tally.nodes.keys[node], Period: b.tally.frame.Period}
	if b.sum.failed != 0 {
		for kind, flag := range flagOf {
			if b.sum.failed&(1<<kind) != 0 && flag != 0 && b.agreedFailed(records.CheckKind(kind)) {
				leaf.Flags |= flag
			}
		}
	}
	up, ok := b.up(node)
	if !ok && leaf.Flags == 0 {
		return leaves
	}
	leaf.UpSeconds = up
	leaf.Tier = records.TierNotAsked
	leaf.ChecksPassed, leaf.ChecksTotal = capped(b.sum.passes, b.sum.checks)
	if b.sum.worked {
		work := b.figures(node, func(n *nodeCounts) records.Figures { return n.work })
		leaf.Operations, leaf.Bandwidth = work.First, work.Second
	}
	if b.sum.networked {
		network := b.figures(node, func(n *nodeCounts) records.Figures { return n.network })
		leaf.DownMbps, leaf.UpMbps = network.First, network.Second
	}
	if b.sum.device {
		leaf.DeviceRoot = b.device()
	}
	if b.sum.evidence || leaf.Flags.Has(records.FlagEvidenceFailed) {
		b.evidence(&leaf)
	}
	return b.withLeases(append(leaves, leaf), leaf)
}

var flagOf = [...]records.Flags{
	records.CheckLiveness: records.FlagOffline, records.CheckInventory: records.FlagSpecMismatch, records.CheckWork: records.FlagWorkFailed,
	records.CheckEvidence: records.FlagEvidenceFailed, records.CheckHealth: records.FlagUnhealthy, records.CheckOutput: records.FlagBadOutput,
}

// up is how long the node was up; ok is false when that cannot be decided. Where keepers with more than two thirds of
// the weight signed something, they decide: however many of them are dishonest, more of them are not. Otherwise the
// committee does, in favour of the node only: when most of it reported and most of those saw nothing fail.
func (b *builder) up(node uint32) (secs uint32, ok bool) {
	b.values = b.values[:0]
	var reported uint64
	for _, a := range b.accounts {
		if a.live {
			reported += a.by.weight
			b.values = append(b.values, value{a.by.weight, b.upFor(node, a)})
		}
	}
	if moreThan(reported, b.total, 2, 3) {
		return median(b.values), true
	}
	members, clean := 0, 0
	reported = 0
	for _, a := range b.accounts {
		if !a.live || !b.sits(node, a.by.seat) {
			continue
		}
		members++
		reported += a.by.weight
		if !has(a.failed, records.CheckLiveness) {
			clean++
			secs = max(secs, a.up)
		}
	}
	enough := members >= committee.Quorum
	if b.basis.Roster.Everyone() {
		enough = moreThan(reported, b.total, 1, 2)
	}
	if !enough || 2*clean <= members {
		return 0, false
	}
	return secs, true
}

// upFor is the seconds that a keeper saw the node up, or, of one that does not watch it and only looked once, that it
// can have been.
func (b *builder) upFor(node uint32, a account) uint32 {
	if a.covers || b.sits(node, a.by.seat) {
		return a.up
	}
	return a.bound
}

// sits reports whether the keeper with this place in the roster sits in the node's committee.
func (b *builder) sits(node uint32, seat int) bool {
	if seat < 0 {
		return false
	}
	if b.basis.Roster.Everyone() {
		return true
	}
	for _, s := range b.tally.committeeOf(node) {
		if int(s) == seat {
			return true
		}
	}
	return false
}

// figures are what a node's committee measured: the lower median of each figure over all members, where one that
// measured nothing counts as zero. So a figure stands only when most members measured, and no node raises its own by being
// measured by its friends alone. A member of a committee that was drawn has one voice: its weight has drawn it already, and
// a keeper with a third of the weight, which sits in nearly all, must not decide in all of them alone. Where all keepers
// measure, without a draw, each has its weight. What holds against dishonest members with less than half of the voices: no figure is
// above the highest that an honest member measured; and where honest members with more than half of the voices measured, none is below
// their lowest, nor zero.
func (b *builder) figures(node uint32, of func(*nodeCounts) records.Figures) records.Figures {
	b.values, b.downs = b.values[:0], b.downs[:0]
	everyone := b.basis.Roster.Everyone()
	silent := uint64(committee.Size)
	if everyone {
		silent = b.total
	}
	for _, a := range b.accounts {
		if f := of(a.nodeCounts); f.First > 0 && b.sits(node, a.by.seat) {
			voice := uint64(1)
			if everyone {
				voice = a.by.weight
			}
			silent -= voice
			b.values, b.downs = append(b.values, value{voice, f.First}), append(b.downs, value{voice, f.Second})
		}
	}
	if len(b.values) == 0 {
		return records.Figures{}
	}
	return records.Figures{First: median(append(b.values, value{silent, 0})), Second: median(append(b.downs, value{silent, 0}))}
}

// device is the device root that keepers with more than half of the weight saw.
func (b *builder) device() [32]byte {
	var reported uint64
	for _, a := range b.accounts {
		if a.device >= 0 {
			reported += a.by.weight
		}
	}
	if !moreThan(reported, b.total, 1, 2) {
		return [32]byte{}
	}
	for i, a := range b.accounts {
		if a.device < 0 {
			continue
		}
		root := a.by.details[a.device]
		var weight uint64
		for _, o := range b.accounts[i:] {
			if o.device >= 0 && o.by.details[o.device] == root {
				weight += o.by.weight
			}
		}
		if moreThan(weight, b.total, 1, 2) {
			return root
		}
	}
	return [32]byte{}
}

// agreedFailed reports whether keepers with more than two thirds of the weight say "failed" and never "passed".
func (b *builder) agreedFailed(kind records.CheckKind) bool {
	var against uint64
	for _, a := range b.accounts {
		if has(a.failed, kind) && !has(a.passed, kind) {
			against += a.by.weight
		}
	}
	return moreThan(against, b.total, 2, 3)
}

// withLeases appends a leaf for each lease that keepers with more than two thirds of the weight reported about.
func (b *builder) withLeases(leaves []records.Leaf, leaf records.Leaf) []records.Leaf {
	b.leases = b.leases[:0]
	for _, a := range b.accounts {
		for _, l := range a.by.leases[a.firstLease : a.firstLease+uint32(a.leaseN)] {
			at := len(b.leases)
			b.leases = append(b.leases, leaseAccount{})
			for at > 0 && b.after(b.leases[at-1].lease, l.lease) {
				b.leases[at] = b.leases[at-1]
				at--
			}
			b.leases[at] = leaseAccount{l, a.by.weight}
		}
	}
	for from := 0; from < len(b.leases); {
		b.values, b.downs = b.values[:0], b.downs[:0]
		var reported uint64
		to := from
		for ; to < len(b.leases) && b.leases[to].lease == b.leases[from].lease; to++ {
			l := b.leases[to]
			reported += l.weight
			b.values, b.downs = append(b.values, value{l.weight, l.up}), append(b.downs, value{l.weight, l.down})
		}
		if moreThan(reported, b.total, 2, 3) {
			l := leaf
			l.Lease = b.tally.leases.keys[b.leases[from].lease]
			l.VerifiedSeconds, l.DowntimeSeconds = median(b.values), median(b.downs)
			// Offline needs most of the time to be downtime.
			if l.DowntimeSeconds <= l.VerifiedSeconds {
				l.Flags &^= records.FlagOffline
			}
			leaves = append(leaves, l)
		}
		from = to
	}
	return leaves
}

// after orders leases by key.
func (b *builder) after(one, other uint32) bool {
	return one != other && bytes.Compare(b.tally.leases.keys[one][:], b.tally.leases.keys[other][:]) > 0
}

// capped brings counts into 16 bits and keeps their ratio.
func capped(passed, total uint64) (uint16, uint16) {
	if total > math.MaxUint16 {
		passed, total = passed*math.MaxUint16/total, math.MaxUint16
	}
	return uint16(passed), uint16(total)
}
