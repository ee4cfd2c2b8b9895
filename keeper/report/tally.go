package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/committee"
	"github.com/gantry-market/gantry/keeper/statement"
)

// ErrMissing: a set of statements is not held.
var ErrMissing = errors.New("a keeper's statements are not here yet")

// Tally gathers what keepers said about one period. Each keeper's set of statements is counted when it arrives, into a
// few dozen bytes for each node that it speaks about, so that leaves are made from counts and not from statements, and of
// any choice of sets. It is not safe for concurrent use.
type Tally struct {
	frame  statement.Frame
	nodes  table
	leases table
	sets   map[Ref]*testimony

	order []uint32 // of d.nodes, by key
	drawn *committee.Roster
	seats [][committee.Size]int16 // by node: places in the roster, once drawn
}

// Ref names one set of statements.
type Ref struct {
	Keeper solana.PublicKey
	Digest [32]byte
}

// NewTally is of the frame's period.
func NewTally(f statement.Frame) *Tally {
	return &Tally{
		frame: f, sets: map[Ref]*testimony{},
		nodes: table{ids: map[solana.PublicKey]uint32{}}, leases: table{ids: map[solana.PublicKey]uint32{}},
	}
}

// Frame is what all statements have in common.
func (d *Tally) Frame() statement.Frame { return d.frame }

// Has reports whether a set is held.
func (d *Tally) Has(r Ref) bool { return d.sets[r] != nil }

// Add counts a keeper's set. Errors: statement.ErrSet.
func (d *Tally) Add(keeper solana.PublicKey, raw []byte) (Ref, error) {
	r := Ref{keeper, statement.Digest(raw)}
	if d.sets[r] != nil {
		return r, nil
	}
	t, err := d.count(raw)
	if err != nil {
		return r, fmt.Errorf("keeper %s: %w", keeper, err)
	}
	d.sets[r] = t
	return r, nil
}

// Prepare draws the committees of all nodes that are known so far, which Build would otherwise do.
func (d *Tally) Prepare(r *committee.Roster) {
	d.follow(r)
	if r.Everyone() {
		return
	}
	for i := range d.seats {
		d.seated(uint32(i))
	}
	d.sorted()
}

// table gives small numbers to keys.
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

// sorted is all nodes by key.
func (d *Tally) sorted() []uint32 {
	if len(d.order) < len(d.nodes.keys) {
		for n := len(d.order); n < len(d.nodes.keys); n++ {
			d.order = append(d.order, uint32(n))
		}
		slices.SortFunc(d.order, func(a, b uint32) int { return bytes.Compare(d.nodes.keys[a][:], d.nodes.keys[b][:]) })
	}
	return d.order
}

// follow makes the draws those of a roster.
func (d *Tally) follow(r *committee.Roster) {
	if d.drawn != r {
		d.drawn, d.seats = r, nil
	}
	for len(d.seats) < len(d.nodes.keys) {
		d.seats = append(d.seats, [committee.Size]int16{-1})
	}
}

// seated is a node's committee; only for rosters in which not everyone sits.
func (d *Tally) seated(node uint32) *[committee.Size]int16 {
	s := &d.seats[node]
	if s[0] < 0 {
		var buf [committee.Size]int
		for i, seat := range d.drawn.Draw(buf[:0], d.nodes.keys[node]) {
			s[i] = int16(seat)
		}
	}
	return s
}

// testimony is what one keeper's set says, counted.
type testimony struct {
	at      []int32 // by node: place in said, -1 for nothing
	said    []said
	leases  []leaseSaid
	details [][32]byte // device roots and evidence hashes
}

// said is what one keeper said about one node.
type said struct {
	node             uint32
	leaseFrom        uint32
	checks, passes   uint32
	up               uint32 // seconds
	bound            uint32 // up for at most so many seconds, by checks that cover no time
	leaseN           uint16
	measured         uint32 // lower median of the passed work checks
	passed, failed   uint8  // kinds, as bits
	tier             uint8
	live             bool // said something about the node's liveness,
	covers           bool // and for how long
	changed          bool // failed evidence that found other devices
	device, evidence int32
}

// leaseSaid is what one keeper said about one lease.
type leaseSaid struct{ lease, up, down uint32 }

func (s *said) kind(set uint8, k records.CheckKind) bool { return set&(1<<k) != 0 }

// of is what the keeper said about a node; nil for nothing.
func (t *testimony) of(node uint32) *said {
	if int(node) >= len(t.at) || t.at[node] < 0 {
		return nil
	}
	return &t.said[t.at[node]]
}
