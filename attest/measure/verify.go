package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/attest/measure/internal/dot"
)

// What a machine did wrong. Each error of [Signed.Check], [CheckRoots] and [Verifier.Verify] that is the machine's
// fault wraps one of them.
var (
	ErrSignature = errors.New("the commitment is not signed by the key")
	ErrPlace     = errors.New("the commitment is of another cluster, instant or node")
	ErrEntries   = errors.New("the entries are not those of the commitment, or not of the GPUs that were asked")
	ErrCount     = errors.New("the number of rounds or walks is not one that the format allows")
	ErrRoots     = errors.New("the roots are not those of the commitment")
	ErrSeen      = errors.New("the roots are not those that the machine sent while it computed")
	ErrSize      = errors.New("the answer has not the length of what was asked for")
	ErrLeaf      = errors.New("a leaf is not of the round's tree")
	ErrWalk      = errors.New("a walk is not of the tree over walks")
	ErrLink      = errors.New("a walk does not begin where the one before it ended")
	ErrCell      = errors.New("a cell is not what the product has there")
	ErrSteps     = errors.New("a walk does not end where its steps lead")
)

// WrongCell is a cell that anyone can prove wrong from the signed commitment.
type WrongCell struct {
	GPU uint8
	LeafAt
	// Group is the wrong byte of the leaf, Want what it should be.
	Group uint8
	Want  byte
	LeafOpening
	// Before is the root of the round before, RoundPath leads from the round to the root over rounds.
	Before    Hash
	RoundPath []Hash
}

func (w *WrongCell) Error() string {
	return fmt.Sprintf("%v: GPU %d, round %d, leaf %d, byte %d is %d and not %d", ErrCell, w.GPU, w.Round, w.Leaf, w.Group, w.Bytes[w.Group], w.Want)
}

func (w *WrongCell) Unwrap() error { return ErrCell }

// Asked is a GPU of a machine and what it is asked for.
type Asked struct {
	GPU     uint8
	Profile Profile
}

// Signed is a commitment with all that is needed to believe that it is a node's.
type Signed struct {
	Commitment []byte
	Signature  []byte
	Entries    []Entry
}

// Check holds a commitment against what was asked: place, key, GPUs in ascending order, and bounds of the format.
func (s Signed) Check(p Place, key [32]byte, asked []Asked) (Commitment, error) {
	if len(s.Commitment) > MaxCommitmentBytes {
		return Commitment{}, fmt.Errorf("%w: a commitment of %d bytes", ErrEncoding, len(s.Commitment))
	}
	c, err := DecodeCommitment(s.Commitment)
	switch {
	case err != nil:
		return c, err
	case c.Place != p:
		return c, ErrPlace
	case !c.Signed(key, s.Signature):
		return c, ErrSignature
	case len(c.Entries) != len(asked) || len(s.Entries) != len(asked):
		return c, fmt.Errorf("%w: %d entries and %d hashes of %d GPUs", ErrEntries, len(s.Entries), len(c.Entries), len(asked))
	}
	for i, e := range s.Entries {
		switch p := asked[i].Profile; {
		case e.Hash() != c.Entries[i]:
			return c, fmt.Errorf("%w: entry %d is not what was signed", ErrEntries, i)
		case e.GPU != asked[i].GPU || e.Profile != p.Hash():
			return c, fmt.Errorf("%w: entry %d is of GPU %d, or of another profile", ErrEntries, i, e.GPU)
		case e.Rounds < p.Resident || e.Rounds > MaxRounds:
			return c, fmt.Errorf("%w: GPU %d made %d rounds, %d to %d are allowed", ErrCount, e.GPU, e.Rounds, p.Resident, MaxRounds)
		case e.Walks < 1 || e.Walks > MaxWalks:
			return c, fmt.Errorf("%w: GPU %d made %d walks, 1 to %d are allowed", ErrCount, e.GPU, e.Walks, MaxWalks)
		}
	}
	return c, nil
}

// CheckRoots holds all roots of a run against its entry, and against those that were seen while it ran, by round.
func CheckRoots(e Entry, roots []Hash, seen map[uint32]Hash) error {
	if len(roots) != int(e.Rounds) || len(roots) == 0 || len(roots) > MaxRounds {
		return fmt.Errorf("%w: %d roots of %d rounds", ErrRoots, len(roots), e.Rounds)
	}
	for r, root := range seen {
		if int(r) >= len(roots) || roots[r] != root {
			return fmt.Errorf("%w: round %d", ErrSeen, r)
		}
	}
	if roots[len(roots)-1] != e.LastRoot || RoundsRoot(roots) != e.RoundsRoot {
		return ErrRoots
	}
	return nil
}

// Columns are the keys of B, the same for all nodes in a period: 128 KiB at the largest order. They are not changed.
type Columns struct {
	seed Hash
	keys [][2]uint32
}

// NewColumns derives the keys of all columns from [Place.ColumnSeed].
func NewColumns(seed Hash, order uint32) *Columns {
	c := &Columns{seed: seed, keys: make([][2]uint32, order)}
	for j := range c.keys {
		k := RowKey(seed, uint32(j))
		c.keys[j] = [2]uint32{k.K0, k.K1}
	}
	return c
}

// Verifier checks what a machine opens of one GPU.
type Verifier struct {
	task    Task
	entry   Entry
	roots   []Hash
	columns *Columns
	row     []int16
}

// NewVerifier takes an entry that [Signed.Check] passed and roots that [CheckRoots] passed.
func NewVerifier(t Task, c *Columns, e Entry, roots []Hash) (*Verifier, error) {
	switch {
	case t.Profile.Validate() != nil:
		return nil, t.Profile.Validate()
	case c.seed != t.Columns || len(c.keys) != int(t.Profile.Order):
		return nil, errors.New("measure: columns of another period or order")
	case len(roots) != int(e.Rounds) || e.Rounds < t.Profile.Resident || e.Walks < 1 || e.Walks > MaxWalks:
		return nil, errors.New("measure: an entry that was not checked")
	}
	return &Verifier{task: t, entry: e, roots: roots, columns: c, row: make([]int16, t.Profile.Order)}, nil
}

// Verify checks an answer to a draw, what is cheap first: its length, all paths, where walks begin, then cells, then the
// steps of walks. It is for one goroutine at a time.
func (v *Verifier) Verify(ctx context.Context, d Draw, answer []byte) error {
	p := v.task.Profile
	if want := AnswerBytes(p, v.entry.Walks, d); len(answer) != want {
		return fmt.Errorf("%w: %d bytes, not %d", ErrSize, len(answer), want)
	}
	r := reader(answer)
	leaves, walks := v.read(&r, d)
	for _, l := range leaves {
		if Climb(LeafHash(&l.Bytes), l.Leaf, l.Path) != v.roots[l.Round] {
			return fmt.Errorf("%w: GPU %d, round %d, leaf %d", ErrLeaf, v.entry.GPU, l.Round, l.Leaf)
		}
	}
	for _, w := range walks {
		if err := v.linked(w); err != nil {
			return fmt.Errorf("%w: GPU %d, lane %d, walk %d", err, v.entry.GPU, w.Lane, w.Walk)
		}
	}
	for o, l := range leaves {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.cells(l, d.Cells(o)); err != nil {
			return err
		}
	}
	for _, w := range walks {
		switch end, err := v.walk(ctx, w); {
		case err != nil:
			return err
		case end != w.End:
			return fmt.Errorf("%w: GPU %d, lane %d, walk %d", ErrSteps, v.entry.GPU, w.Lane, w.Walk)
		}
	}
	return nil
}

type openedLeaf struct {
	LeafAt
	LeafOpening
}

type openedWalk struct {
	WalkAt
	WalkOpening
}

// reader takes an answer of the right length apart.
type reader []byte

func (r *reader) take(n int) []byte {
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

func (r *reader) path(depth int) []Hash {
	path := make([]Hash, depth)
	for i := range path {
		path[i] = Hash(r.take(32))
	}
	return path
}

func (r *reader) ends(depth int) WalkEnds {
	return WalkEnds{Start: decodeState(r.take(StateBytes)), End: decodeState(r.take(StateBytes)), Path: r.path(depth)}
}

func (v *Verifier) read(r *reader, d Draw) ([]openedLeaf, []openedWalk) {
	p := v.task.Profile
	var leaves []openedLeaf
	for _, at := range d.Leaves(p, v.entry.Rounds) {
		leaves = append(leaves, openedLeaf{at, LeafOpening{Bytes: [LeafBytes]byte(r.take(LeafBytes)), Path: r.path(p.LeafDepth())}})
	}
	var walks []openedWalk
	depth := Depth(v.entry.Walks)
	for _, at := range d.Walks(p, v.entry.Walks) {
		w := openedWalk{at, WalkOpening{WalkEnds: r.ends(depth), LanePath: r.path(Depth(p.Lanes))}}
		if at.Walk > 0 {
			before := r.ends(depth)
			w.Before = &before
		}
		walks = append(walks, w)
	}
	return leaves, walks
}

// linked checks that a walk is in its place of the tree and begins where it must.
func (v *Verifier) linked(w openedWalk) error {
	root := func(e WalkEnds, walk uint32) Hash {
		return Climb(Climb(WalkHash(e.Start, e.End), walk, e.Path), w.Lane, w.LanePath)
	}
	if root(w.WalkEnds, w.Walk) != v.entry.WalksRoot {
		return ErrWalk
	}
	if w.Before == nil {
		if w.Start != LaneState(WalkSeed(v.task.Nonce, v.entry.RoundsRoot), w.Lane) {
			return ErrLink
		}
		return nil
	}
	switch {
	case root(*w.Before, w.Walk-1) != v.entry.WalksRoot:
		return ErrWalk
	case w.Before.End != w.Start:
		return ErrLink
	}
	return nil
}

// expand makes a row of a round.
func (v *Verifier) expand(round, row uint32) {
	k := RowKey(RoundSeed(v.task.Nonce, round, v.before(round)), row)
	dot.Expand(v.row, [2]uint32{k.K0, k.K1})
}

func (v *Verifier) before(round uint32) Hash {
	if round == 0 {
		return Hash{}
	}
	return v.roots[round-1]
}

func (v *Verifier) cells(l openedLeaf, cells [OpenedCells]byte) error {
	p := v.task.Profile
	v.expand(l.Round, l.Leaf/p.RowLeaves())
	slices.Sort(cells[:])
	var entries [4]int32
	for _, g := range slices.Compact(cells[:]) {
		at := (l.Leaf%p.RowLeaves()*LeafBytes + uint32(g)) * uint32(p.Fold)
		group := entries[:p.Fold]
		dot.Columns(group, v.row, v.columns.keys[at:at+uint32(p.Fold)])
		if want := Mixed(group); want != l.Bytes[g] {
			return &WrongCell{
				GPU: v.entry.GPU, LeafAt: l.LeafAt, Group: g, Want: want, LeafOpening: l.LeafOpening,
				Before: v.before(l.Round), RoundPath: Path(RoundLeaves(v.roots), l.Round),
			}
		}
	}
	return nil
}

// walk makes the steps of a walk again, with items that it computes.
func (v *Verifier) walk(ctx context.Context, w openedWalk) (State, error) {
	p := v.task.Profile
	s := w.Start.Begin(w.Lane, w.Walk)
	var entries [ItemBytes]int32
	var item [ItemBytes]byte
	for range WalkSteps {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		slot, row, column := p.ItemAt(s.Item(p.Items()))
		v.expand(p.SlotRound(slot, v.entry.Rounds), row)
		dot.Columns(entries[:], v.row, v.columns.keys[column:column+ItemBytes])
		for i, c := range entries {
			item[i] = Kept(c)
		}
		s = s.Step(&item)
	}
	return s, nil
}
