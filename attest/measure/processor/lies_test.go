package processor

import (
	"context"
	"crypto/sha256"
	"errors"
	"testing"

	"github.com/gantry-market/gantry/attest/measure"
)

// forger is a machine that cheats and signs all of it: its trees are right, what they are over is not.
type forger struct {
	*run
	bytes func(round uint32, mixed []byte)  // changes mix bytes before their tree is made
	kept  func(memory []byte)               // changes the memory before the walk
	walks func(r *run) [][]measure.WalkEnds // makes walks of its own, without paths
	ends  [][]measure.WalkEnds
}

// make does what [Device.Run] does, with the changes.
func (f *forger) make(ctx context.Context) error {
	p := f.task.Profile
	n := int(p.Order)
	f.columns = make([]int16, n*n)
	for j := range n {
		expand(f.columns[j*n:(j+1)*n], f.task.Columns, uint32(j))
	}
	work := []scratch{{rows: make([]int16, stripe*n), entries: make([]int32, stripe*n)}}
	var before measure.Hash
	for round := range p.Resident + 1 {
		root, err := f.round(ctx, round, before, work)
		if err != nil {
			return err
		}
		if f.bytes != nil {
			f.bytes(round, f.mixed[round])
			var leaves []measure.Hash
			for l := range p.Leaves() {
				leaves = append(leaves, measure.LeafHash((*[measure.LeafBytes]byte)(f.mixed[round][l*measure.LeafBytes:])))
			}
			root = measure.Root(leaves)
		}
		f.result.Roots = append(f.result.Roots, root)
		before = root
	}
	if f.kept != nil {
		f.kept(f.memory)
	}
	if f.walks == nil {
		return f.walk(ctx)
	}
	f.seed = measure.WalkSeed(f.task.Nonce, measure.RoundsRoot(f.result.Roots))
	f.ends = f.walks(f.run)
	for _, lane := range f.ends {
		f.lanes = append(f.lanes, measure.Root(walkLeaves(lane)))
	}
	f.result.Walks, f.result.WalksRoot = uint32(len(f.ends[0])), measure.Root(f.lanes)
	return nil
}

func walkLeaves(lane []measure.WalkEnds) []measure.Hash {
	var leaves []measure.Hash
	for _, w := range lane {
		leaves = append(leaves, measure.WalkHash(w.Start, w.End))
	}
	return leaves
}

// Walks opens walks that the forger made itself.
func (f forger) Walks(_ context.Context, at []measure.WalkAt) ([]measure.WalkOpening, error) {
	var out []measure.WalkOpening
	for _, a := range at {
		lane := f.ends[a.Lane]
		ends := func(walk uint32) measure.WalkEnds {
			e := lane[walk]
			e.Path = measure.Path(walkLeaves(lane), walk)
			return e
		}
		o := measure.WalkOpening{WalkEnds: ends(a.Walk), LanePath: measure.Path(f.lanes, a.Lane)}
		if a.Walk > 0 {
			before := ends(a.Walk - 1)
			o.Before = &before
		}
		out = append(out, o)
	}
	return out, nil
}

// lie is a run that is wrong where shows says that a draw opens it.
type lie struct {
	name  string
	want  error
	run   measure.Run
	shows func(a *attempt) bool
}

func always(*attempt) bool { return true }

// steps makes a walk from a state, as the run's memory leads it.
func steps(r *run, s measure.State) measure.State {
	for range measure.WalkSteps {
		s = s.Step(r.item(s.Item(small.Items())))
	}
	return s
}

// walked makes lanes of four walks: from says with which lane's first state a lane begins, place as which walk each is
// made, again whether each begins where its lane began.
func walked(r *run, from func(lane uint32) uint32, place func(lane, walk uint32) measure.WalkAt, again bool) [][]measure.WalkEnds {
	lanes := make([][]measure.WalkEnds, small.Lanes)
	for l := range lanes {
		start := measure.LaneState(r.seed, from(uint32(l)))
		s := start
		for j := range uint32(4) {
			if again {
				s = start
			}
			at := place(uint32(l), j)
			end := steps(r, s.Begin(at.Lane, at.Walk))
			lanes[l] = append(lanes[l], measure.WalkEnds{Start: s, End: end})
			s = end
		}
	}
	return lanes
}

func itself(lane uint32) uint32 { return lane }

func own(lane, walk uint32) measure.WalkAt { return measure.WalkAt{Lane: lane, Walk: walk} }

// lies are runs of the GPU 2 of a place.
func lies(t testing.TB, p measure.Place) []lie {
	t.Helper()
	garbage := func(b []byte) {
		for i := 0; i < len(b); i += 32 {
			h := sha256.Sum256(b[i : i+32])
			copy(b[i:], h[:])
		}
	}
	walksShown := func(shown func(measure.WalkAt) bool) func(*attempt) bool {
		return func(a *attempt) bool {
			for _, at := range a.draw().Walks(small, a.signed.Entries[a.gpu].Walks) {
				if shown(at) {
					return true
				}
			}
			return false
		}
	}
	return []lie{
		{"a round that was made up", measure.ErrCell, runOf(t, p, 2, func(f *forger) {
			f.bytes = func(round uint32, mixed []byte) {
				if round == 1 {
					garbage(mixed)
				}
			}
		}), func(a *attempt) bool {
			for _, at := range a.draw().Leaves(small, a.signed.Entries[a.gpu].Rounds) {
				if at.Round == 1 {
					return true
				}
			}
			return false
		}},
		{"one byte of ten guessed", measure.ErrCell, runOf(t, p, 2, func(f *forger) {
			f.bytes = func(_ uint32, mixed []byte) {
				for i := range mixed {
					if h := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)}); h[0] < 26 {
						mixed[i] ^= h[1] | 1
					}
				}
			}
		}), always},
		{"a slot that was not kept", measure.ErrSteps, runOf(t, p, 2, func(f *forger) {
			f.kept = func(memory []byte) { clear(memory[:small.SlotBytes()]) }
		}), always},
		{"no walk has its place mixed in", measure.ErrSteps, runOf(t, p, 2, func(f *forger) {
			f.walks = func(r *run) [][]measure.WalkEnds {
				return walked(r, itself, func(uint32, uint32) measure.WalkAt { return measure.WalkAt{} }, false)
			}
		}), walksShown(func(at measure.WalkAt) bool { return at != measure.WalkAt{} })},
		{"all lanes are the first", nil, runOf(t, p, 2, func(f *forger) {
			f.walks = func(r *run) [][]measure.WalkEnds {
				first := func(uint32) uint32 { return 0 }
				return walked(r, first, func(_, walk uint32) measure.WalkAt { return own(0, walk) }, false)
			}
		}), walksShown(func(at measure.WalkAt) bool { return at.Lane > 0 })},
		{"each walk begins where its lane began", measure.ErrLink, runOf(t, p, 2, func(f *forger) {
			f.walks = func(r *run) [][]measure.WalkEnds { return walked(r, itself, own, true) }
		}), walksShown(func(at measure.WalkAt) bool { return at.Walk > 0 })},
	}
}

// liesAreFound: each cheat is refused for what it did, by every member whose draw opens it, and the honest way to do the same
// passes.
func liesAreFound(t *testing.T, l laboratory) {
	for _, lie := range l.lies {
		shown := 0
		for member := range byte(8) {
			a := l.base[0].clone()
			a.challenge[5] = member
			a.show(lie.run)
			err := a.judge(l.columns)
			switch {
			case !lie.shows(&a):
			case err == nil, lie.want != nil && !errors.Is(err, lie.want):
				t.Errorf("%s, member %d: %v", lie.name, member, err)
			default:
				shown++
			}
		}
		if shown < 4 {
			t.Errorf("%s: %d of 8 members saw it", lie.name, shown)
		}
	}
	a := l.base[0].clone()
	a.show(runOf(t, a.place, 2, func(f *forger) {
		f.bytes, f.kept = func(uint32, []byte) {}, func([]byte) {}
		f.walks = func(r *run) [][]measure.WalkEnds { return walked(r, itself, own, false) }
	}))
	if err := a.judge(l.columns); err != nil {
		t.Errorf("a forger that changes nothing: %v", err)
	}
}

// wrongCellsCanBeProven: the error has what the program needs, from the leaf up to what was signed.
func wrongCellsCanBeProven(t *testing.T, l laboratory) {
	a := l.base[0].clone()
	a.show(l.lies[1].run)
	var wrong *measure.WrongCell
	if err := a.judge(l.columns); !errors.As(err, &wrong) {
		t.Fatalf("the cheat was refused by %v", err)
	}
	e := a.signed.Entries[0]
	root := measure.Climb(measure.LeafHash(&wrong.Bytes), wrong.Leaf, wrong.Path)
	if got := measure.Climb(measure.RoundHash(wrong.Round, wrong.Before, root), wrong.Round, wrong.RoundPath); got != e.RoundsRoot || wrong.GPU != e.GPU {
		t.Errorf("the cell leads to %x of GPU %d, not to the root over rounds", got, wrong.GPU)
	}
	task := measure.NewTask(a.place, e.GPU, small)
	row, column := make([]int8, small.Order), make([]int8, small.Order)
	measure.RowKey(measure.RoundSeed(task.Nonce, wrong.Round, wrong.Before), wrong.Leaf/small.RowLeaves()).Expand(row)
	var group []int32
	for j := range uint32(small.Fold) {
		measure.RowKey(task.Columns, (wrong.Leaf%small.RowLeaves()*measure.LeafBytes+uint32(wrong.Group))*uint32(small.Fold)+j).Expand(column)
		group = append(group, measure.Dot(row, column))
	}
	if got := measure.Mixed(group); got != wrong.Want || got == wrong.Bytes[wrong.Group] {
		t.Errorf("the cell is %d, the error wants %d, the machine has %d", got, wrong.Want, wrong.Bytes[wrong.Group])
	}
}
