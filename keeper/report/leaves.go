package report

import (
	"bytes"
	"fmt"
	"math"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
)

// Basis is what leaves follow from, besides what keepers said.
type Basis struct {
	Weights Weights
	// Roster draws the committees: of the same weights, with the period's seed.
	Roster *committee.Roster
	// Tier is what the chain says about a node's evidence, for periods in which it was not checked; nil gives 0.
	Tier func(node solana.PublicKey) uint8
	// Sets are the ones that count, one of each keeper; those of keepers without weight are left out.
	Sets []Ref
}

// Build computes the leaves, in the report's order: for every node one without a lease, and one for each lease. README.md
// has the rules. Error: ErrMissing.
func (d *Tally) Build(b Basis) ([]records.Leaf, error) {
	d.follow(b.Roster)
	x := builder{d: d, b: &b, total: b.Weights.Total()}
	for _, r := range b.Sets {
		t := d.sets[r]
		if t == nil {
			return nil, fmt.Errorf("%w: of keeper %s", ErrMissing, r.Keeper)
		}
		if w := b.Weights[r.Keeper]; w > 0 {
			x.sets = append(x.sets, voice{t, r.Keeper, w, b.Roster.Index(r.Keeper)})
		}
	}
	leaves := make([]records.Leaf, 0, len(d.nodes.keys)+len(d.leases.keys))
	for _, node := range d.sorted() {
		leaves = x.node(leaves, node)
	}
	return leaves, nil
}

// voice is a keeper's testimony with its weight and its place in the roster.
type voice struct {
	*testimony
	keeper solana.PublicKey
	weight uint64
	seat   int
}

// heard is what one keeper said about the node at hand.
type heard struct {
	*said
	voice *voice
}

// builder has scratch space that is used for one node after the other.
type builder struct {
	d     *Tally
	b     *Basis
	total uint64
	sets  []voice

	about  []heard
	values []value
	downs  []value
	leases []leaseVote
}

// leaseVote is what one keeper said about a lease.
type leaseVote struct {
	leaseSaid
	weight uint64
}

// node appends the leaves of one node, if enough was said about it.
func (x *builder) node(leaves []records.Leaf, node uint32) []records.Leaf {
	x.about = x.about[:0]
	for i := range x.sets {
		if s := x.sets[i].of(node); s != nil {
			x.about = append(x.about, heard{s, &x.sets[i]})
		}
	}
	if len(x.about) == 0 {
		return leaves
	}
	leaf := records.Leaf{Node: x.d.nodes.keys[node], Period: x.d.frame.Period}
	var failed uint8
	for _, h := range x.about {
		failed |= h.failed
	}
	for kind, flag := range flagOf {
		if failed&(1<<kind) != 0 && flag != 0 && x.condemned(records.CheckKind(kind)) {
			leaf.Flags |= flag
		}
	}
	up, ok := x.up(node)
	if !ok && leaf.Flags == 0 {
		return leaves
	}
	leaf.UpSeconds = up
	if x.b.Tier != nil {
		leaf.Tier = x.b.Tier(leaf.Node)
	}
	var checks, passes uint64
	for _, h := range x.about {
		checks, passes = checks+uint64(h.checks), passes+uint64(h.passes)
	}
	leaf.ChecksPassed, leaf.ChecksTotal = capped(passes, checks)
	leaf.Measured = x.measured(node)
	leaf.DeviceRoot = x.device()
	x.evidence(&leaf)
	return x.withLeases(append(leaves, leaf), leaf)
}

var flagOf = [...]records.Flags{
	records.CheckLiveness: records.FlagOffline, records.CheckInventory: records.FlagSpecMismatch, records.CheckWork: records.FlagWorkFailed,
	records.CheckEvidence: records.FlagEvidenceFailed, records.CheckHealth: records.FlagUnhealthy, records.CheckOutput: records.FlagBadOutput,
}

// up is how long the node was up; ok is false when nothing can be said. What keepers with more than two thirds of the
// weight spoke about, they decide: however many of them lie, more of them do not. Otherwise the committee does, in favour
// of the node only: when most of it spoke and most of those saw nothing fail.
func (x *builder) up(node uint32) (secs uint32, ok bool) {
	x.values = x.values[:0]
	var spoke uint64
	for _, h := range x.about {
		if h.live {
			spoke += h.voice.weight
			x.values = append(x.values, value{h.voice.weight, x.upFor(node, h)})
		}
	}
	if moreThan(spoke, x.total, 2, 3) {
		return median(x.values), true
	}
	members, clean := 0, 0
	spoke = 0
	for _, h := range x.about {
		if !h.live || !x.sits(node, h.voice.seat) {
			continue
		}
		members++
		spoke += h.voice.weight
		if !h.kind(h.failed, records.CheckLiveness) {
			clean++
			secs = max(secs, h.said.up)
		}
	}
	enough := members >= committee.Quorum
	if x.b.Roster.Everyone() {
		enough = moreThan(spoke, x.total, 1, 2)
	}
	if !enough || 2*clean <= members {
		return 0, false
	}
	return secs, true
}

// upFor is the seconds that a keeper saw the node up, or, of one that does not watch it and only looked once, that it can
// have been.
func (x *builder) upFor(node uint32, h heard) uint32 {
	if h.covers || x.sits(node, h.voice.seat) {
		return h.said.up
	}
	return h.bound
}

// sits reports whether the keeper with this place in the roster sits in the node's committee.
func (x *builder) sits(node uint32, seat int) bool {
	if seat < 0 {
		return false
	}
	if x.b.Roster.Everyone() {
		return true
	}
	for _, s := range x.d.seated(node) {
		if int(s) == seat {
			return true
		}
	}
	return false
}

// measured is the median of what the committee measured: it is shown, and nothing is paid by it.
func (x *builder) measured(node uint32) uint32 {
	x.values = x.values[:0]
	for _, h := range x.about {
		if h.kind(h.said.passed, records.CheckWork) && x.sits(node, h.voice.seat) {
			x.values = append(x.values, value{h.voice.weight, h.said.measured})
		}
	}
	return median(x.values)
}

// device is the device root that keepers with more than half of the weight saw.
func (x *builder) device() [32]byte {
	var spoke uint64
	for _, h := range x.about {
		if h.said.device >= 0 {
			spoke += h.voice.weight
		}
	}
	if !moreThan(spoke, x.total, 1, 2) {
		return [32]byte{}
	}
	for i, h := range x.about {
		if h.said.device < 0 {
			continue
		}
		root := h.voice.details[h.said.device]
		var weight uint64
		for _, o := range x.about[i:] {
			if o.said.device >= 0 && o.voice.details[o.said.device] == root {
				weight += o.voice.weight
			}
		}
		if moreThan(weight, x.total, 1, 2) {
			return root
		}
	}
	return [32]byte{}
}

// condemned reports whether keepers with more than two thirds of the weight say "failed" and never "passed".
func (x *builder) condemned(kind records.CheckKind) bool {
	var against uint64
	for _, h := range x.about {
		if h.kind(h.failed, kind) && !h.kind(h.said.passed, kind) {
			against += h.voice.weight
		}
	}
	return moreThan(against, x.total, 2, 3)
}

// withLeases appends a leaf for each lease that keepers with more than two thirds of the weight spoke about.
func (x *builder) withLeases(leaves []records.Leaf, leaf records.Leaf) []records.Leaf {
	x.leases = x.leases[:0]
	for _, h := range x.about {
		for _, l := range h.voice.leases[h.leaseFrom : h.leaseFrom+uint32(h.leaseN)] {
			at := len(x.leases)
			x.leases = append(x.leases, leaseVote{})
			for at > 0 && x.after(x.leases[at-1].lease, l.lease) {
				x.leases[at] = x.leases[at-1]
				at--
			}
			x.leases[at] = leaseVote{l, h.voice.weight}
		}
	}
	for from := 0; from < len(x.leases); {
		x.values, x.downs = x.values[:0], x.downs[:0]
		var spoke uint64
		to := from
		for ; to < len(x.leases) && x.leases[to].lease == x.leases[from].lease; to++ {
			l := x.leases[to]
			spoke += l.weight
			x.values, x.downs = append(x.values, value{l.weight, l.up}), append(x.downs, value{l.weight, l.down})
		}
		if moreThan(spoke, x.total, 2, 3) {
			l := leaf
			l.Lease = x.d.leases.keys[x.leases[from].lease]
			l.VerifiedSeconds, l.DowntimeSeconds = median(x.values), median(x.downs)
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
func (x *builder) after(a, b uint32) bool {
	return a != b && bytes.Compare(x.d.leases.keys[a][:], x.d.leases.keys[b][:]) > 0
}

// capped brings counts into 16 bits and keeps their ratio.
func capped(passed, total uint64) (uint16, uint16) {
	if total > math.MaxUint16 {
		passed, total = passed*math.MaxUint16/total, math.MaxUint16
	}
	return uint16(passed), uint16(total)
}
