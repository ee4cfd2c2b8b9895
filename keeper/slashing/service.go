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

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Store keeps proofs. *store.Store is one.
type Store interface {
	PutProof(name string, proof []byte) error
	DropProof(name string) error
	Proofs() (map[string][]byte, error)
}

// Options of a Service; all but Log are required.
type Options struct {
	Store Store
	Self  solana.PublicKey
	// Delay is how long another keeper's half-made proof is left alone before this one makes its own.
	Delay time.Duration
	Log   zerolog.Logger
}

// Service holds the proofs that are not on chain yet. It is safe for concurrent use.
type Service struct {
	o Options

	mu     sync.Mutex
	held   map[string]entry
	others map[solana.PublicKey]int64 // nodes against which another keeper has begun a fraud proof: unix second since when
	awards *awards
}

// New reads the proofs that the store keeps. Errors: options.ErrMissing, store.ErrCorrupt.
func New(o Options) (*Service, error) {
	if err := options.Complete("slashing", o, "Log"); err != nil {
		return nil, err
	}
	s := &Service{o: o, held: map[string]entry{}, others: map[solana.PublicKey]int64{}, awards: newAwards()}
	kept, err := o.Store.Proofs()
	if err != nil {
		return nil, err
	}
	for name, raw := range kept {
		e, err := decode(raw)
		if err != nil {
			return nil, err
		}
		s.held[name] = e
	}
	return s, nil
}

// Errors of equivocations that are not kept.
var (
	// ErrNoProof: they are not opposite statements about one check, nor different manifests of one period.
	ErrNoProof = errors.New("the statements or manifests do not contradict each other in a way that the chain takes as proof")
	// ErrOwn: they are signed with this keeper's own key.
	ErrOwn = errors.New("this keeper's own wallet has equivocated: another process uses its key, or its store was lost; its bond can be slashed for it")
)

// Statements takes two verified statements with which a keeper equivocates, and reports whether no proof was held
// against it. Errors: ErrNoProof, ErrOwn, the store's.
func (s *Service) Statements(a, b statement.Signed) (fresh bool, err error) {
	if a.Keeper != b.Keeper || !market.StatementsEquivocate(a.Statement, b.Statement) {
		return false, ErrNoProof
	}
	if a.Keeper == s.o.Self {
		return false, ErrOwn
	}
	one, other := a.Statement.Encode(), b.Statement.Encode()
	return s.take(entry{Equivocation: &equivocationProof{
		Keeper: a.Keeper, Records: [2][]byte{one[:], other[:]}, Signatures: [2][64]byte{a.Signature, b.Signature},
	}})
}

// Manifests does the same with two verified manifests of a keeper.
func (s *Service) Manifests(domain records.Domain, a, b statement.Manifest) (fresh bool, err error) {
	if !a.Contradicts(b) {
		return false, ErrNoProof
	}
	if a.Keeper == s.o.Self {
		return false, ErrOwn
	}
	one, other := a.Signed(domain).Encode(), b.Signed(domain).Encode()
	return s.take(entry{Equivocation: &equivocationProof{
		Keeper: a.Keeper, Records: [2][]byte{one[:], other[:]}, Signatures: [2][64]byte{a.Signature, b.Signature},
	}})
}

// Against reports whether an equivocation proof against a keeper is held.
func (s *Service) Against(keeper solana.PublicKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.held[entry{Equivocation: &equivocationProof{Keeper: keeper}}.name()]
	return ok
}

// take keeps a proof, unless one against the same is held: there is one entry at most for each node and keeper.
func (s *Service) take(e entry) (fresh bool, err error) {
	raw, err := e.encode()
	if err != nil {
		return false, err
	}
	name := e.name()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.held[name]; ok {
		return false, nil
	}
	if err := s.o.Store.PutProof(name, raw); err != nil {
		return false, err
	}
	s.held[name] = e
	return true, nil
}

// Held returns how many proofs wait to be brought.
func (s *Service) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// Due is what can be done about the proofs now, unix seconds of the chain's clock: a source of actions for
// crank.Runner. A proof that has done its work, or cannot any more, is forgotten.
func (s *Service) Due(v *view.Accounts, now int64) ([]crank.Action, error) {
	if v.Market == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &due{s: s, v: v, now: now, mint: v.Market.StakeMint}
	for _, name := range slices.Sorted(maps.Keys(s.held)) {
		e := s.held[name]
		done := false
		if e.Cell != nil {
			done = q.cell(*e.Cell)
		} else {
			done = q.equivocation(*e.Equivocation)
		}
		if done {
			q.fail(s.o.Store.DropProof(name))
			delete(s.held, name)
		}
	}
	q.leftovers()
	q.awards()
	return q.out, q.err
}

// due collects the actions of one look.
type due struct {
	s    *Service
	v    *view.Accounts
	now  int64
	mint solana.PublicKey
	out  []crank.Action
	err  error
}

// finder is the key that brings the proofs: this keeper's signer.
func (q *due) finder() solana.PublicKey { return q.v.SignerOf(q.s.o.Self) }

func (q *due) fail(err error) { q.err = errors.Join(q.err, err) }

// add appends an action of these instructions. group is what keepers are ranked by; empty when no other keeper can do it.
func (q *due) add(kind crank.Kind, group, key string, ixs []solana.Instruction, err error) {
	if err != nil {
		q.fail(err)
		return
	}
	key = string(kind) + "/" + key
	q.out = append(q.out, crank.Action{Kind: kind, Group: cmp.Or(group, key), Mine: group == "", Key: key, Instructions: ixs})
}

// inOrder lists a map's keys in one order for everybody.
func inOrder[T any](m map[solana.PublicKey]T) []solana.PublicKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
}
