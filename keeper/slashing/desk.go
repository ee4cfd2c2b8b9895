package slashing

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/index"
	"github.com/gantry-market/gantry/keeper/statement"
)

// Book keeps proofs. *store.Store is one.
type Book interface {
	PutProof(name string, proof []byte) error
	DropProof(name string) error
	Proofs() (map[string][]byte, error)
}

// Options of a Desk; all are required.
type Options struct {
	Book Book
	Self solana.PublicKey
	// Patience is how long another keeper's half-made proof is left alone before this one makes its own.
	Patience time.Duration
	Log      zerolog.Logger
}

// Desk holds the proofs that are not on chain yet. It is safe for concurrent use.
type Desk struct {
	o Options

	mu     sync.Mutex
	held   map[string]record
	others map[solana.PublicKey]int64 // nodes that somebody else accuses: unix second since when
	awards *awards
}

// Open reads what was kept. Error: store.ErrCorrupt.
func Open(o Options) (*Desk, error) {
	d := &Desk{o: o, held: map[string]record{}, others: map[solana.PublicKey]int64{}, awards: newAwards()}
	kept, err := o.Book.Proofs()
	if err != nil {
		return nil, err
	}
	for name, raw := range kept {
		r, err := decode(raw)
		if err != nil {
			return nil, err
		}
		d.held[name] = r
	}
	return d, nil
}

// BadWork takes a wrong product that a node has signed. It is on disk when the call returns without an error.
func (d *Desk) BadWork(b market.BadWork) error {
	_, err := d.take(record{Work: &badWork{
		Node: b.Node.Address, Commitment: b.Commitment[:], Signature: b.Signature, Opening: b.Opening, Column: uint32(b.Column),
	}})
	return err
}

// Errors of contradictions that are not kept.
var (
	// ErrNoProof: they are not opposite words about one check, nor different manifests of one period.
	ErrNoProof = errors.New("the statements or manifests do not contradict each other in a way that the chain takes as proof")
	// ErrOwn: they are signed with this keeper's own key.
	ErrOwn = errors.New("this keeper's own wallet has signed a contradiction: another process uses its key, or its records were lost; its bond can be slashed for it")
)

// Contradiction takes two verified statements with which a keeper contradicts itself, and reports whether none was held
// against it. Errors: ErrNoProof, ErrOwn, the book's.
func (d *Desk) Contradiction(a, b statement.Signed) (fresh bool, err error) {
	if a.Keeper != b.Keeper || !market.Equivocates(a.Statement, b.Statement) {
		return false, ErrNoProof
	}
	if a.Keeper == d.o.Self {
		return false, ErrOwn
	}
	one, other := a.Statement.Encode(), b.Statement.Encode()
	return d.take(record{Equivocation: &contradiction{
		Keeper: a.Keeper, Words: [2][]byte{one[:], other[:]}, Signatures: [2][64]byte{a.Signature, b.Signature},
	}})
}

// Manifests does the same with two verified manifests of a keeper.
func (d *Desk) Manifests(domain records.Domain, a, b statement.Manifest) (fresh bool, err error) {
	if !a.Contradicts(b) {
		return false, ErrNoProof
	}
	if a.Keeper == d.o.Self {
		return false, ErrOwn
	}
	one, other := a.Signed(domain).Encode(), b.Signed(domain).Encode()
	return d.take(record{Equivocation: &contradiction{
		Keeper: a.Keeper, Words: [2][]byte{one[:], other[:]}, Signatures: [2][64]byte{a.Signature, b.Signature},
	}})
}

// Against reports whether a contradiction of a keeper is held.
func (d *Desk) Against(keeper solana.PublicKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.held[record{Equivocation: &contradiction{Keeper: keeper}}.name()]
	return ok
}

// take keeps a proof, unless one against the same is held: there is one record at most for each node and keeper.
func (d *Desk) take(r record) (fresh bool, err error) {
	raw, err := r.encode()
	if err != nil {
		return false, err
	}
	name := r.name()
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.held[name]; ok {
		return false, nil
	}
	if err := d.o.Book.PutProof(name, raw); err != nil {
		return false, err
	}
	d.held[name] = r
	return true, nil
}

// Held returns how many proofs wait to be brought.
func (d *Desk) Held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held)
}

// Due is what can be done about the proofs now, unix seconds of the chain's clock: a source of actions for crank.Runner.
// A proof that has done its work, or cannot any more, is forgotten.
func (d *Desk) Due(v *index.View, now int64) ([]crank.Action, error) {
	if v.Market == nil {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	q := &due{d: d, v: v, now: now, mint: v.Market.StakeMint}
	for _, name := range slices.Sorted(maps.Keys(d.held)) {
		r := d.held[name]
		done := false
		if r.Work != nil {
			done = q.work(*r.Work)
		} else {
			done = q.equivocation(*r.Equivocation)
		}
		if done {
			q.fail(d.o.Book.DropProof(name))
			delete(d.held, name)
		}
	}
	q.leftovers()
	q.awards()
	return q.out, q.err
}

// due collects the actions of one look.
type due struct {
	d    *Desk
	v    *index.View
	now  int64
	mint solana.PublicKey
	out  []crank.Action
	err  error
}

func (q *due) fail(err error) { q.err = errors.Join(q.err, err) }

// add appends an action of these instructions. group is what keepers are ranked by; empty when nobody else can do it.
func (q *due) add(kind crank.Kind, group, key string, ixs []solana.Instruction, err error) {
	if err != nil {
		q.fail(err)
		return
	}
	key = string(kind) + "/" + key
	q.out = append(q.out, crank.Action{Kind: kind, Group: cmp.Or(group, key), Mine: group == "", Key: key, Instructions: ixs})
}

// share makes the stake-token account that somebody's share goes to, unless it is there.
func (q *due) share(owner solana.PublicKey) solana.Instruction {
	return market.CreateTokenAccount(q.d.o.Self, owner, q.mint)
}

// inOrder lists a map's keys in one order for everybody.
func inOrder[T any](m map[solana.PublicKey]T) []solana.PublicKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
}
