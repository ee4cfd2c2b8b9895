package processor

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/gantry-market/gantry/attest/measure"
)

// Faulty computes nothing: its bytes are made up, and its trees are right. Local networks and tests show with it that such
// a machine is found.
type Faulty struct{}

var _ measure.Device = Faulty{}

// Run implements [measure.Device].
func (Faulty) Run(ctx context.Context, t measure.Task, ended func(uint32, measure.Hash)) (measure.Run, error) {
	r := &faultyRun{}
	for round := range t.Profile.Resident {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		bytes := make([][measure.LeafBytes]byte, t.Profile.Leaves())
		leaves := make([]measure.Hash, len(bytes))
		for i := range bytes {
			var place [8]byte
			binary.LittleEndian.PutUint32(place[:], round)
			binary.LittleEndian.PutUint32(place[4:], uint32(i))
			for at := 0; at < measure.LeafBytes; at += sha256.Size {
				h := sha256.Sum256(append(place[:], byte(at)))
				copy(bytes[i][at:], h[:])
			}
			leaves[i] = measure.LeafHash(&bytes[i])
		}
		r.bytes, r.leaves, r.roots = append(r.bytes, bytes), append(r.leaves, leaves), append(r.roots, measure.Root(leaves))
		ended(round, r.roots[round])
	}
	seed := measure.WalkSeed(t.Nonce, measure.RoundsRoot(r.roots))
	for lane := range t.Profile.Lanes {
		w := measure.WalkEnds{Start: measure.LaneState(seed, lane), End: measure.State{S0: 1}}
		r.walks, r.lanes = append(r.walks, w), append(r.lanes, measure.WalkHash(w.Start, w.End))
	}
	return r, nil
}

type faultyRun struct {
	bytes  [][][measure.LeafBytes]byte
	leaves [][]measure.Hash
	roots  []measure.Hash
	walks  []measure.WalkEnds
	lanes  []measure.Hash
}

// Result implements [measure.Run].
func (r *faultyRun) Result() measure.Result {
	return measure.Result{Roots: r.roots, Walks: 1, WalksRoot: measure.Root(r.lanes)}
}

// Leaves implements [measure.Run].
func (r *faultyRun) Leaves(_ context.Context, at []measure.LeafAt) (out []measure.LeafOpening, _ error) {
	for _, a := range at {
		out = append(out, measure.LeafOpening{Bytes: r.bytes[a.Round][a.Leaf], Path: measure.Path(r.leaves[a.Round], a.Leaf)})
	}
	return out, nil
}

// Walks implements [measure.Run].
func (r *faultyRun) Walks(_ context.Context, at []measure.WalkAt) (out []measure.WalkOpening, _ error) {
	for _, a := range at {
		out = append(out, measure.WalkOpening{WalkEnds: r.walks[a.Lane], LanePath: measure.Path(r.lanes, a.Lane)})
	}
	return out, nil
}

// Close implements [measure.Run].
func (*faultyRun) Close() error { return nil }
