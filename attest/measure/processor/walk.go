package processor

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/attest/measure"
)

// batch is the number of walks that each lane makes between two looks at the clock.
const batch = 16

// lane is a lane while it walks.
type lane struct {
	state measure.State
	edge  measure.Edge
}

// walk makes walks on all lanes until the time is over. Each thread has lanes of its own, whose reads of memory wait side
// by side.
func (r *run) walk(ctx context.Context) error {
	start := r.elapsed()
	p := r.task.Profile
	r.seed = measure.WalkSeed(r.task.Nonce, measure.RoundsRoot(r.result.Roots))
	lanes := make([]lane, p.Lanes)
	for l := range lanes {
		lanes[l].state = measure.LaneState(r.seed, uint32(l))
	}
	share := min(r.device.threads, len(lanes))
	for r.result.Walks < measure.MaxWalks && (r.result.Walks == 0 || !r.since(start, p.WalkMs)) {
		err := r.parallel(ctx, share, share, func(_, i int) error {
			from, to := i*len(lanes)/share, (i+1)*len(lanes)/share
			for j := range uint32(batch) {
				r.step(lanes[from:to], uint32(from), r.result.Walks+j)
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.result.Walks += batch
	}
	for l := range lanes {
		r.lanes = append(r.lanes, lanes[l].edge.Root())
	}
	r.result.WalksRoot = measure.Root(r.lanes)
	r.result.Walk = r.elapsed() - start
	return nil
}

// step makes one walk on neighbouring lanes, of which first is the first.
func (r *run) step(lanes []lane, first, walk uint32) {
	states := make([]measure.State, len(lanes))
	for l := range lanes {
		states[l] = lanes[l].state.Begin(first+uint32(l), walk)
	}
	items := r.task.Profile.Items()
	for range measure.WalkSteps {
		for l, s := range states {
			states[l] = s.Step(r.item(s.Item(items)))
		}
	}
	for l := range lanes {
		lanes[l].edge.Add(measure.WalkHash(lanes[l].state, states[l]))
		lanes[l].state = states[l]
	}
}

func (r *run) item(x uint64) *[measure.ItemBytes]byte {
	return (*[measure.ItemBytes]byte)(r.memory[x*measure.ItemBytes:])
}

// Walks implements [measure.Run]: it runs the lanes again.
func (r *run) Walks(ctx context.Context, at []measure.WalkAt) ([]measure.WalkOpening, error) {
	if r.memory == nil {
		return nil, ErrClosed
	}
	for _, a := range at {
		if a.Lane >= r.task.Profile.Lanes || a.Walk >= r.result.Walks {
			return nil, fmt.Errorf("processor: there is no walk %d of lane %d", a.Walk, a.Lane)
		}
	}
	out := make([]measure.WalkOpening, len(at))
	err := r.each(ctx, len(at), func(_, i int) error {
		opened, err := r.again(ctx, at[i])
		out[i] = opened
		return err
	})
	return out, err
}

// again makes all walks of a lane once more, and opens one of them.
func (r *run) again(ctx context.Context, at measure.WalkAt) (measure.WalkOpening, error) {
	items := r.task.Profile.Items()
	leaves := make([]measure.Hash, r.result.Walks)
	var one, before measure.WalkEnds
	s := measure.LaneState(r.seed, at.Lane)
	for j := range leaves {
		if err := ctx.Err(); err != nil {
			return measure.WalkOpening{}, err
		}
		start := s
		s = s.Begin(at.Lane, uint32(j))
		for range measure.WalkSteps {
			s = s.Step(r.item(s.Item(items)))
		}
		leaves[j] = measure.WalkHash(start, s)
		switch uint32(j) {
		case at.Walk:
			one = measure.WalkEnds{Start: start, End: s}
		case at.Walk - 1:
			before = measure.WalkEnds{Start: start, End: s}
		}
	}
	one.Path = measure.Path(leaves, at.Walk)
	o := measure.WalkOpening{WalkEnds: one, LanePath: measure.Path(r.lanes, at.Lane)}
	if at.Walk > 0 {
		before.Path = measure.Path(leaves, at.Walk-1)
		o.Before = &before
	}
	return o, nil
}
