package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// ErrMissing: a set of statements is not held.
var ErrMissing = errors.New("a keeper's statements are not here yet")

// Tally holds the counts of one period's statement sets. Each keeper's set is counted when it arrives, into a few dozen
// bytes for each node that it is about, so that leaves are made from counts and not from statements, and of any choice
// of sets. It is not safe for concurrent use.
type Tally struct {
	frame  statement.Frame
	nodes  table
	leases table
	sets   map[Ref]*keeperCounts

	order  []uint32 // numbers of nodes, sorted by key
	roster *committee.Roster
	seats  [][committee.Size]int16 // by node: places in the roster of its committee, once drawn; -1 first before
}

// Ref names one set of statements.
type Ref struct {
	Keeper solana.PublicKey
	Digest [32]byte
}

// NewTally returns an empty tally of the frame's period.
func NewTally(f statement.Frame) *Tally {
	return &Tally{
		frame: f, sets: map[Ref]*keeperCounts{},
		nodes: table{ids: map[solana.PublicKey]uint32{}}, leases: table{ids: map[solana.PublicKey]uint32{}},
	}
}

// Frame is what all statements have in common.
func (t *Tally) Frame() statement.Frame { return t.frame }

// Has reports whether a set is held.
func (t *Tally) Has(r Ref) bool { return t.sets[r] != nil }

// Add counts a keeper's set. Errors: statement.ErrSet.
func (t *Tally) Add(keeper solana.PublicKey, raw []byte) (Ref, error) {
	r := Ref{keeper, statement.Digest(raw)}
	if t.sets[r] != nil {
		return r, nil
	}
	counts, err := t.count(raw)
	if err != nil {
		return r, fmt.Errorf("keeper %s: %w", keeper, err)
	}
	t.sets[r] = counts
	return r, nil
}

// Prepare draws the committees of all nodes that are known so far, which Build would otherwise do.
func (t *Tally) Prepare(r *committee.Roster) {
	t.setRoster(r)
	if r.Everyone() {
		return
	}
	for i := range t.seats {
		t.committeeOf(uint32(i))
	}
	t.sortedNodes()
}

// table numbers keys in the order in which they are first seen.
type table struct {
	ids  map[solana.PublicKey]uint32
	keys []solana.PublicKey
}

func (t *table) id(key solana.PublicKey) uint32 {
	n, ok := t.ids[key]
	if !ok {
		n = uint32(len(t.keys))
		t.ids[key], t.keys = n, append(t.keys, key)
	}
	return n
}

// sortedNodes returns the numbers of all nodes, sorted by key.
func (t *Tally) sortedNodes() []uint32 {
	if len(t.order) < len(t.nodes.keys) {
		for n := len(t.order); n < len(t.nodes.keys); n++ {
			t.order = append(t.order, uint32(n))
		}
		slices.SortFunc(t.order, func(a, b uint32) int { return bytes.Compare(t.nodes.keys[a][:], t.nodes.keys[b][:]) })
	}
	return t.order
}

// setRoster makes a roster the one that committees are drawn from.
func (t *Tally) setRoster(r *committee.Roster) {
	if t.roster != r {
		t.roster, t.seats = r, nil
	}
	for len(t.seats) < len(t.nodes.keys) {
		t.seats = append(t.seats, [committee.Size]int16{-1})
	}
}

// committeeOf returns a node's committee; only for rosters in which not everyone sits.
func (t *Tally) committeeOf(node uint32) *[committee.Size]int16 {
	s := &t.seats[node]
	if s[0] < 0 {
		var buf [committee.Size]int
		for i, seat := range t.roster.Draw(buf[:0], t.nodes.keys[node]) {
			s[i] = int16(seat)
		}
	}
	return s
}

// keeperCounts is one keeper's set, counted.
type keeperCounts struct {
	at      []int32 // by node: place in nodes, -1 for none
	nodes   []nodeCounts
	leases  []leaseCounts
	details [][32]byte // device roots and evidence hashes
}

// nodeCounts is what one keeper's statements about one node come to.
type nodeCounts struct {
	node             uint32
	firstLease       uint32 // of keeperCounts.leases
	checks, passes   uint32
	up               uint32 // seconds
	bound            uint32 // up for at most so many seconds, by checks that cover no time
	leaseN           uint16
	work, network    records.Figures // of the last passed check of each that measured something
	passed, failed   uint8           // kinds of checks, as bits
	tier             uint8
	live             bool  // there are statements about the node's liveness,
	covers           bool  // and they cover time
	changed          bool  // failed evidence that found other devices
	device, evidence int32 // places in details, -1 for none
}

// leaseCounts is what one keeper's statements about one lease come to.
type leaseCounts struct{ lease, up, down uint32 }

// has reports whether a set of kinds contains one.
func has(kinds uint8, k records.CheckKind) bool { return kinds&(1<<k) != 0 }

// of returns the counts of a node; nil when the keeper signed nothing about it.
func (k *keeperCounts) of(node uint32) *nodeCounts {
	if int(node) >= len(k.at) || k.at[node] < 0 {
		return nil
	}
	return &k.nodes[k.at[node]]
}
