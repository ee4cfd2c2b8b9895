package processor

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/gantry-market/gantry/attest/measure"
)

// attempt is all that a member has when it judges one GPU of a machine, and what it asks.
type attempt struct {
	place     measure.Place
	asked     []measure.Asked
	signed    measure.Signed
	gpu       int // which entry
	roots     []measure.Hash
	seen      map[uint32]measure.Hash
	challenge [32]byte
	answer    []byte
}

var nodeKey = ed25519.NewKeyFromSeed(slices.Repeat([]byte{7}, 32))

// judge does what a member does. columns holds the keys of B for the instants of the test.
func (a attempt) judge(columns map[measure.Hash]*measure.Columns) error {
	c, err := a.signed.Check(a.place, [32]byte(nodeKey.Public().(ed25519.PublicKey)), a.asked)
	if err != nil {
		return err
	}
	e := a.signed.Entries[a.gpu]
	if err := measure.CheckRoots(e, a.roots, a.seen); err != nil {
		return err
	}
	task := measure.NewTask(a.place, e.GPU, a.asked[a.gpu].Profile)
	v, err := measure.NewVerifier(task, columns[task.Columns], e, a.roots)
	if err != nil {
		return err
	}
	return v.Verify(context.Background(), measure.NewDraw(a.challenge, e.GPU, c), a.answer)
}

// sign makes the node sign entries.
func (a *attempt) sign(entries []measure.Entry) {
	c := measure.Commit(a.place, entries)
	a.signed = measure.Signed{Commitment: c.Bytes(), Signature: ed25519.Sign(nodeKey, c.Bytes()), Entries: entries}
}

// draw is what the member asks for, if the commitment can be read.
func (a *attempt) draw() measure.Draw {
	c, err := measure.DecodeCommitment(a.signed.Commitment)
	if err != nil {
		panic(err)
	}
	return measure.NewDraw(a.challenge, a.signed.Entries[a.gpu].GPU, c)
}

// open makes a run answer what the member asks for.
func (a *attempt) open(r measure.Run) {
	answer, err := measure.Answer(context.Background(), r, small, a.draw())
	if err != nil {
		panic(err)
	}
	a.answer = answer
}

// show replaces what one GPU has to show by a run, signed anew.
func (a *attempt) show(r measure.Run) {
	entries := slices.Clone(a.signed.Entries)
	entries[a.gpu] = r.Result().Entry(entries[a.gpu].GPU, small)
	a.roots, a.seen = r.Result().Roots, nil
	a.sign(entries)
	a.open(r)
}

func (a attempt) clone() attempt {
	a.asked, a.roots, a.answer, a.seen = slices.Clone(a.asked), slices.Clone(a.roots), slices.Clone(a.answer), maps.Clone(a.seen)
	a.signed.Commitment, a.signed.Signature = slices.Clone(a.signed.Commitment), slices.Clone(a.signed.Signature)
	a.signed.Entries = slices.Clone(a.signed.Entries)
	return a
}

// laboratory has a machine of two GPUs, and runs of others and of cheats to put in their place.
type laboratory struct {
	base    []attempt     // honest answers, of both GPUs
	own     []measure.Run // that gave them
	foreign map[string]measure.Run
	lies    []lie
	columns map[measure.Hash]*measure.Columns
}

func runOf(t testing.TB, p measure.Place, gpu uint8, change func(*forger)) measure.Run {
	t.Helper()
	f := forger{run: newRun(measure.NewTask(p, gpu, small), &Device{threads: 1})}
	if change != nil {
		change(&f)
	}
	if err := f.make(context.Background()); err != nil {
		t.Fatal(err)
	}
	if f.walks != nil {
		return f
	}
	return f.run
}

func newLaboratory(t testing.TB) laboratory {
	t.Helper()
	home := measure.Place{Domain: [8]byte{1}, Instant: sha256.Sum256([]byte("now")), Node: sha256.Sum256([]byte("node"))}
	l := laboratory{foreign: map[string]measure.Run{}, columns: map[measure.Hash]*measure.Columns{}}
	for name, change := range map[string]func(*measure.Place){
		"node": func(p *measure.Place) { p.Node[0]++ }, "instant": func(p *measure.Place) { p.Instant[9]++ },
		"cluster": func(p *measure.Place) { p.Domain[3]++ },
	} {
		p := home
		change(&p)
		l.foreign["of another "+name] = runOf(t, p, 2, nil)
	}
	l.foreign["of a third GPU"] = runOf(t, home, 9, nil)
	l.lies = lies(t, home)

	runs := []measure.Run{runOf(t, home, 2, nil), runOf(t, home, 5, nil)}
	l.own = runs
	asked := []measure.Asked{{GPU: 2, Profile: small}, {GPU: 5, Profile: small}}
	entries := []measure.Entry{runs[0].Result().Entry(2, small), runs[1].Result().Entry(5, small)}
	seed := home.ColumnSeed(small.Order)
	l.columns[seed] = measure.NewColumns(seed, small.Order)
	for i := range byte(16) {
		a := attempt{place: home, asked: asked, gpu: int(i % 2), challenge: [32]byte{i}, seen: map[uint32]measure.Hash{}}
		a.roots = runs[a.gpu].Result().Roots
		for r := 0; r < len(a.roots); r += 2 { // a member misses some
			a.seen[uint32(r)] = a.roots[r]
		}
		a.sign(entries)
		a.open(runs[a.gpu])
		if err := a.judge(l.columns); err != nil {
			t.Fatalf("an honest answer: %v", err)
		}
		l.base = append(l.base, a)
	}
	return l
}

// mutation changes an honest answer into one that no member may take. It returns false where this draw does not show the
// lie: what an answer does not open cannot be judged by it.
type mutation struct {
	name   string
	change func(l laboratory, r *rand.Rand, a *attempt) bool
}

func flip(r *rand.Rand, b []byte) { b[r.IntN(len(b))] ^= 1 << r.IntN(8) }

// leafBytes is the length of an opened leaf of the profile small.
var leafBytes = measure.LeafBytes + 32*small.LeafDepth()

var mutations = []mutation{
	{"bits of the commitment", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		flip(r, a.signed.Commitment)
		return true
	}},
	{"bits of the signature", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		flip(r, a.signed.Signature)
		return true
	}},
	{"the signature of another key", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		seed := make([]byte, 32)
		binary.LittleEndian.PutUint64(seed, r.Uint64())
		a.signed.Signature = ed25519.Sign(ed25519.NewKeyFromSeed(seed), a.signed.Commitment)
		return true
	}},
	{"a commitment cut off or longer", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		if n := r.IntN(2 * measure.MaxCommitmentBytes); n < len(a.signed.Commitment) {
			a.signed.Commitment = a.signed.Commitment[:n]
		} else {
			a.signed.Commitment = append(a.signed.Commitment, make([]byte, n-len(a.signed.Commitment)+1)...)
		}
		a.signed.Signature = ed25519.Sign(nodeKey, a.signed.Commitment)
		return true
	}},
	{"bits of an entry", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		changeEntry(r, a, r.IntN(2))
		return true
	}},
	{"bits of an entry, signed", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		changeEntry(r, a, a.gpu)
		a.sign(a.signed.Entries)
		return true
	}},
	{"GPUs exchanged", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		e := a.signed.Entries
		e[0], e[1] = e[1], e[0]
		if r.IntN(2) == 0 {
			a.sign(e)
		}
		return true
	}},
	{"a GPU's number given to the other's run", func(l laboratory, _ *rand.Rand, a *attempt) bool {
		e := slices.Clone(a.signed.Entries)
		e[0].GPU, e[1].GPU = e[1].GPU, e[0].GPU
		e[0], e[1] = e[1], e[0]
		a.sign(e)
		a.roots, a.seen = l.base[1-a.gpu].roots, nil
		return true
	}},
	{"one GPU left out", func(_ laboratory, _ *rand.Rand, a *attempt) bool {
		a.sign(a.signed.Entries[a.gpu : a.gpu+1])
		a.gpu = 0
		return true
	}},
	{"bits of roots", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		flip(r, a.roots[r.IntN(len(a.roots))][:])
		return true
	}},
	{"bits of roots, signed", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		flip(r, a.roots[r.IntN(len(a.roots))][:])
		signRoots(a)
		return true
	}},
	{"rounds shifted or exchanged", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		if i, j := r.IntN(len(a.roots)), r.IntN(len(a.roots)); i != j {
			a.roots[i], a.roots[j] = a.roots[j], a.roots[i]
		} else {
			a.roots = append(a.roots[1:], a.roots[0])
		}
		if r.IntN(2) == 0 {
			signRoots(a)
		}
		return true
	}},
	{"more or fewer rounds", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		if n := r.IntN(2 * len(a.roots)); n < len(a.roots) {
			a.roots = a.roots[:n]
		} else {
			a.roots = append(a.roots, a.roots[:n-len(a.roots)+1]...)
		}
		if r.IntN(2) == 0 && len(a.roots) > 0 {
			signRoots(a)
		}
		return true
	}},
	{"other roots shown while it ran", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		round := uint32(r.IntN(2 * len(a.roots)))
		h := a.seen[round]
		flip(r, h[:])
		a.seen[round] = h
		return true
	}},
	{"bits of the answer", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		at := r.IntN(len(a.answer))
		a.answer[at] ^= byte(1 + r.IntN(255))
		for range r.IntN(3) { // bits of others, so that none is changed back
			if other := r.IntN(len(a.answer)); other != at {
				a.answer[other] ^= 1
			}
		}
		return true
	}},
	{"a piece of the answer is random", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		at := r.IntN(len(a.answer))
		piece := a.answer[at:min(len(a.answer), at+8+r.IntN(2000))]
		before := slices.Clone(piece)
		for i := range piece {
			piece[i] = byte(r.Uint32())
		}
		return !slices.Equal(before, piece)
	}},
	{"the answer cut off or longer", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		if n := r.IntN(2 * len(a.answer)); n < len(a.answer) {
			a.answer = a.answer[:n]
		} else {
			a.answer = append(a.answer, make([]byte, n-len(a.answer)+1)...)
		}
		return true
	}},
	{"opened leaves exchanged", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		i, j := r.IntN(measure.OpenedLeaves)*leafBytes, r.IntN(measure.OpenedLeaves)*leafBytes
		one, other := a.answer[i:i+leafBytes], a.answer[j:j+leafBytes]
		if slices.Equal(one, other) {
			return false
		}
		kept := slices.Clone(one)
		copy(one, other)
		copy(other, kept)
		return true
	}},
	{"parts of another answer", func(l laboratory, r *rand.Rand, a *attempt) bool {
		other := l.base[r.IntN(len(l.base))].answer
		at := r.IntN(len(a.answer))
		end := min(len(a.answer), len(other), at+1+r.IntN(len(a.answer)))
		if at >= end || slices.Equal(a.answer[at:end], other[at:end]) {
			return false
		}
		copy(a.answer[at:end], other[at:end])
		return true
	}},
	{"a piece of a genuine answer in another's place", func(l laboratory, r *rand.Rand, a *attempt) bool {
		other := l.base[r.IntN(len(l.base))].clone() // of either GPU, perhaps this answer itself
		return mix(r, pieces(a), pieces(&other))
	}},
	{"leaves of one run, walks of another", func(l laboratory, r *rand.Rand, a *attempt) bool {
		binary.LittleEndian.PutUint64(a.challenge[8:], r.Uint64())
		others := []measure.Run{l.own[1-a.gpu]}
		for _, name := range slices.Sorted(maps.Keys(l.foreign)) {
			others = append(others, l.foreign[name])
		}
		m := mixed{leaves: l.own[a.gpu], walks: others[r.IntN(len(others))]}
		if r.IntN(2) == 0 {
			m.leaves, m.walks = m.walks, m.leaves
		}
		a.show(m)
		return true
	}},
	{"the answer to another question", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		binary.LittleEndian.PutUint64(a.challenge[8:], r.Uint64())
		return true
	}},
	{"a run replayed", func(l laboratory, r *rand.Rand, a *attempt) bool {
		binary.LittleEndian.PutUint64(a.challenge[8:], r.Uint64())
		names := slices.Sorted(maps.Keys(l.foreign))
		a.show(l.foreign[names[r.IntN(len(names))]])
		return true
	}},
	{"asked at another place", func(l laboratory, r *rand.Rand, a *attempt) bool {
		switch r.IntN(3) {
		case 0:
			flip(r, a.place.Domain[:])
		case 1:
			flip(r, a.place.Instant[:])
		default:
			flip(r, a.place.Node[:])
		}
		return true
	}},
	{"another profile asked for", func(_ laboratory, r *rand.Rand, a *attempt) bool {
		p := &a.asked[r.IntN(2)].Profile
		*[]*uint32{&p.Rows, &p.ChainMs, &p.Resident, &p.WalkMs, &p.Lanes}[r.IntN(5)] *= 2
		return true
	}},
	{"a run that lies", func(l laboratory, r *rand.Rand, a *attempt) bool {
		binary.LittleEndian.PutUint64(a.challenge[8:], r.Uint64())
		a.gpu = 0
		lie := l.lies[r.IntN(len(l.lies))]
		a.show(lie.run)
		return lie.shows(a)
	}},
}

// pieces are the parts of an answer: bytes and path of each leaf, states and paths of each walk and of the one before it.
func pieces(a *attempt) [][]byte {
	rest := a.answer
	var out [][]byte
	cut := func(lengths ...int) {
		for _, n := range lengths {
			if n > 0 {
				out, rest = append(out, rest[:n]), rest[n:]
			}
		}
	}
	for range measure.OpenedLeaves {
		cut(measure.LeafBytes, 32*small.LeafDepth())
	}
	walks := a.signed.Entries[a.gpu].Walks
	ends := []int{measure.StateBytes, measure.StateBytes, 32 * measure.Depth(walks)}
	for _, at := range a.draw().Walks(small, walks) {
		cut(ends...)
		cut(32 * measure.Depth(small.Lanes))
		if at.Walk > 0 {
			cut(ends...)
		}
	}
	if len(rest) != 0 {
		panic("an answer has more than its pieces")
	}
	return out
}

// mix puts one to four pieces of an answer in places of their lengths; false if nothing is changed by that.
func mix(r *rand.Rand, into, from [][]byte) bool {
	changed := false
	for _, place := range r.Perm(len(into))[:1+r.IntN(4)] {
		to := into[place]
		var fit [][]byte
		for _, p := range from {
			if len(p) == len(to) && !slices.Equal(p, to) {
				fit = append(fit, p)
			}
		}
		if len(fit) > 0 {
			copy(to, fit[r.IntN(len(fit))])
			changed = true
		}
	}
	return changed
}

// mixed shows what genuine runs have made, of one its rounds and of another its walks.
type mixed struct{ leaves, walks measure.Run }

func (m mixed) Result() measure.Result {
	r, w := m.leaves.Result(), m.walks.Result()
	r.Walks, r.WalksRoot = w.Walks, w.WalksRoot
	return r
}

func (m mixed) Leaves(ctx context.Context, at []measure.LeafAt) ([]measure.LeafOpening, error) {
	return m.leaves.Leaves(ctx, at)
}

func (m mixed) Walks(ctx context.Context, at []measure.WalkAt) ([]measure.WalkOpening, error) {
	return m.walks.Walks(ctx, at)
}

func (mixed) Close() error { return nil }

func changeEntry(r *rand.Rand, a *attempt, i int) {
	b := a.signed.Entries[i].Bytes()
	flip(r, b[:])
	e, err := measure.DecodeEntry(b[:])
	if err != nil {
		panic(err)
	}
	a.signed.Entries[i] = e
}

func signRoots(a *attempt) {
	e := &a.signed.Entries[a.gpu]
	e.Rounds, e.LastRoot, e.RoundsRoot = uint32(len(a.roots)), a.roots[len(a.roots)-1], measure.RoundsRoot(a.roots)
	a.seen = nil
	a.sign(a.signed.Entries)
}

// TestCheats: what machines and those between can try, judged as members judge.
func TestCheats(t *testing.T) {
	l := newLaboratory(t)
	t.Run("mutated answers are refused", func(t *testing.T) { mutatedAnswersAreRefused(t, l) })
	t.Run("lies are found", func(t *testing.T) { liesAreFound(t, l) })
	t.Run("wrong cells can be proven", func(t *testing.T) { wrongCellsCanBeProven(t, l) })
}

// mutatedAnswersAreRefused makes answers that no member may take, and fails for one that is taken, and for one that is
// refused for another reason than what a machine can do wrong. GANTRY_EXHAUSTIVE=1 makes a million of them.
func mutatedAnswersAreRefused(t *testing.T, l laboratory) {
	const shards = 4
	count, seed := 2000, uint64(1)
	if os.Getenv("GANTRY_EXHAUSTIVE") != "" {
		count, seed = 1_000_000, rand.Uint64()
	}
	if text := os.Getenv("GANTRY_MUTATIONS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d mutated answers with seed %d", count, seed)
	var mu sync.Mutex
	refused := map[string]int{}
	t.Run("shards", func(t *testing.T) {
		for shard := range uint64(shards) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, shard))
				own := map[string]int{}
				for made := 0; made < count/shards; {
					m := mutations[r.IntN(len(mutations))]
					a := l.base[r.IntN(len(l.base))].clone()
					if !m.change(l, r, &a) {
						continue
					}
					made++
					own[m.name+": "+reason(t, m, a.judge(l.columns))]++
				}
				mu.Lock()
				defer mu.Unlock()
				for name, n := range own {
					refused[name] += n
				}
			})
		}
	})
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		t.Logf("%8d %s", refused[name], name)
	}
}

var reasons = []error{
	measure.ErrEncoding, measure.ErrSignature, measure.ErrPlace, measure.ErrEntries, measure.ErrCount, measure.ErrRoots, measure.ErrSeen,
	measure.ErrSize, measure.ErrLeaf, measure.ErrWalk, measure.ErrLink, measure.ErrCell, measure.ErrSteps,
}

func reason(t *testing.T, m mutation, err error) string {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: taken", m.name)
	}
	for _, r := range reasons {
		if errors.Is(err, r) {
			return r.Error()
		}
	}
	t.Fatalf("%s: refused for no fault of the machine: %v", m.name, err)
	return ""
}
