package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/gantry-market/gantry/attest/measure"
)

const (
	// walkBatch is the number of walks that each lane makes between two looks at the clock, a few milliseconds.
	walkBatch = 8
	// traced is how many lanes the kernel trace takes.
	traced = 4
)

// lanes is what all lanes keep while they walk: their states and the left edges of their trees, a level of all lanes in one
// buffer. The lanes have the same number of walks, so that their trees are of one shape.
type lanes struct {
	m      *measurement
	count  uint64
	states *buffer
	edge   []*buffer // of each level the last full node on the left, nil where there is none
	unused []*buffer
	walks  uint32
}

// walk makes walks on all lanes until the time is over.
func (m *measurement) walk(ctx context.Context) (err error) {
	start := time.Now()
	m.seed = measure.WalkSeed(m.task.Nonce, measure.RoundsRoot(m.result.Roots))
	l := &lanes{m: m, count: uint64(m.p.Lanes)}
	defer func() { err = errors.Join(err, l.free()) }()
	if l.states, err = m.d.alloc(16 * l.count); err != nil {
		return err
	}
	if err := m.laneStates(l.states.at, 0, l.count); err != nil {
		return err
	}
	for l.walks < measure.MaxWalks && (l.walks == 0 || !over(start, m.p.WalkMs)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		for range walkBatch {
			if err := l.step(); err != nil {
				return fmt.Errorf("walk %d: %w", l.walks, err)
			}
		}
		if err := m.d.wait(); err != nil {
			return err
		}
	}
	roots, err := l.roots()
	if err != nil {
		return err
	}
	m.lanes = make([]measure.Hash, l.count)
	if err := roots.hashes(m.lanes); err != nil {
		return err
	}
	m.result.Walks = l.walks
	if m.result.WalksRoot, err = l.root(roots); err != nil {
		return err
	}
	m.result.Walk = time.Since(start)
	return nil
}

// laneStates launches the derivation of first states.
func (m *measurement) laneStates(dst, first, count uint64) error {
	s := quarters(&m.seed)
	return m.d.launchLine("lanestates", count, dst, s[0], s[1], s[2], s[3], first, count)
}

// step launches one walk of all lanes and adds its leaves to their trees.
func (l *lanes) step() error {
	node, err := l.level()
	if err != nil {
		return err
	}
	m := l.m
	err = m.d.launchLine("walk", l.count, m.memory.at, m.p.Items(), l.states.at, node.at, uint64(l.walks), l.count)
	level := 0
	for ; err == nil && l.walks>>level&1 == 1; level++ {
		left := l.edge[level]
		err = m.d.launchLine("join", l.count, left.at, node.at, node.at, l.count)
		l.edge[level], l.unused = nil, append(l.unused, left)
	}
	if err != nil {
		l.unused = append(l.unused, node)
		return err
	}
	if level == len(l.edge) {
		l.edge = append(l.edge, nil)
	}
	l.edge[level] = node
	l.walks++
	return nil
}

// level is a buffer for a node of each lane.
func (l *lanes) level() (*buffer, error) {
	if n := len(l.unused); n > 0 {
		b := l.unused[n-1]
		l.unused = l.unused[:n-1]
		return b, nil
	}
	return l.m.d.alloc(32 * l.count)
}

// roots launches the tops of the lanes' trees, padded on the right, and returns where they will be. It goes through the
// levels as [measure.Edge.Root] does.
func (l *lanes) roots() (*buffer, error) {
	var padding measure.Hash // what a node is below which all leaves are padding
	var node *buffer
	depth := measure.Depth(l.walks)
	for level := range depth {
		full := l.walks>>level&1 == 1
		q := quarters(&padding)
		var err error
		switch {
		case full && node != nil:
			err = l.m.d.launchLine("join", l.count, l.edge[level].at, node.at, node.at, l.count)
		case full:
			node = l.edge[level]
			fallthrough
		case node != nil:
			err = l.m.d.launchLine("pad", l.count, node.at, node.at, q[0], q[1], q[2], q[3], l.count)
		}
		if err != nil {
			return nil, err
		}
		padding = measure.Node(padding, padding)
	}
	if node == nil {
		return l.edge[depth], nil
	}
	return node, nil
}

// root makes the tree over the roots of lanes.
func (l *lanes) root(roots *buffer) (root measure.Hash, err error) {
	to, err := l.level()
	if err != nil {
		return root, err
	}
	l.unused = append(l.unused, to) // for free
	from := roots
	for width := l.count; width > 1; width /= 2 {
		if err := l.m.d.launchLine("pairs", width/2, from.at, to.at, width, width/2); err != nil {
			return root, err
		}
		from, to = to, from
	}
	err = from.read(root[:], 0)
	return root, err
}

func (l *lanes) free() error {
	errs := []error{l.states.free()}
	for _, b := range append(l.edge, l.unused...) {
		errs = append(errs, b.free())
	}
	return errors.Join(errs...)
}

// Walks implements [measure.Run]: it makes all walks of the lanes again.
func (m *measurement) Walks(ctx context.Context, at []measure.WalkAt) ([]measure.WalkOpening, error) {
	for _, a := range at {
		if a.Lane >= m.p.Lanes || a.Walk >= m.result.Walks {
			return nil, fmt.Errorf("%w: there is no walk %d of lane %d", ErrBounds, a.Walk, a.Lane)
		}
	}
	out := make([]measure.WalkOpening, 0, len(at))
	err := m.reopened(ctx, func() error {
		for first := 0; first < len(at); first += traced {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("cuda: %w", err)
			}
			some := at[first:min(first+traced, len(at))]
			ends, err := m.trace(some)
			if err != nil {
				return err
			}
			for i, a := range some {
				o, err := m.open(a, ends[i*int(m.result.Walks):][:m.result.Walks])
				if err != nil {
					return err
				}
				out = append(out, o)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// trace returns the state after each walk of up to four lanes, lane after lane.
func (m *measurement) trace(at []measure.WalkAt) (ends []measure.State, err error) {
	count, walks := uint64(len(at)), uint64(m.result.Walks)
	b, err := m.d.alloc(16 * count * (walks + 1))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.free()) }()
	var lane [traced]uint64
	for i, a := range at {
		lane[i] = uint64(a.Lane)
		if err := m.laneStates(b.at+16*uint64(i), lane[i], 1); err != nil {
			return nil, err
		}
	}
	dst := b.at + 16*count
	if err := m.d.launchLine("trace", count, m.memory.at, m.p.Items(), b.at, dst, lane[0], lane[1], lane[2], lane[3], walks, count); err != nil {
		return nil, err
	}
	ends = make([]measure.State, count*walks)
	// All platforms with this driver are little-endian, as states are.
	return ends, b.read(unsafe.Slice((*byte)(unsafe.Pointer(&ends[0])), 16*len(ends)), 16*count)
}

// open makes the opening of a walk from the states after all walks of its lane.
func (m *measurement) open(at measure.WalkAt, ends []measure.State) (o measure.WalkOpening, err error) {
	start := measure.LaneState(m.seed, at.Lane)
	leaves := make([]measure.Hash, len(ends))
	starts := make([]measure.State, len(ends))
	for j, end := range ends {
		starts[j], leaves[j] = start, measure.WalkHash(start, end)
		start = end
	}
	if measure.Root(leaves) != m.lanes[at.Lane] {
		return o, fmt.Errorf("lane %d: %w", at.Lane, ErrRecomputed)
	}
	of := func(walk uint32) measure.WalkEnds {
		return measure.WalkEnds{Start: starts[walk], End: ends[walk], Path: measure.Path(leaves, walk)}
	}
	o = measure.WalkOpening{WalkEnds: of(at.Walk), LanePath: measure.Path(m.lanes, at.Lane)}
	if at.Walk > 0 {
		before := of(at.Walk - 1)
		o.Before = &before
	}
	return o, nil
}
