package sim

import (
	"bytes"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/keeper/store"
)

// book is a keeper's memory that survives its crashes: package store's promises without its file. A test holds the two
// against each other.
type book struct {
	first    records.Period
	sealed   records.Period
	signed   map[records.Period]map[statementKey]store.Signed
	sets     map[records.Period]store.SetRef
	votes    map[records.Period]records.Hash
	proposed map[records.Period]map[records.Hash][]byte
	leaves   map[records.Period]map[records.Hash][]byte
	proofs   map[string][]byte
}

type statementKey struct {
	node, lease solana.PublicKey
	kind        records.CheckKind
	at          int64
}

func keyOf(s records.CheckStatement) statementKey {
	return statementKey{s.Node, s.Lease, s.Kind, s.CheckedAt}
}

func newBook(first records.Period) *book {
	return &book{
		first: first, signed: map[records.Period]map[statementKey]store.Signed{}, sets: map[records.Period]store.SetRef{}, votes: map[records.Period]records.Hash{},
		proposed: map[records.Period]map[records.Hash][]byte{}, leaves: map[records.Period]map[records.Hash][]byte{}, proofs: map[string][]byte{},
	}
}

// FirstPeriod implements consensus.Book.
func (b *book) FirstPeriod() records.Period { return b.first }

// Sign implements challenge.Book.
func (b *book) Sign(all []records.CheckStatement, sign func(records.CheckStatement) (solana.Signature, error)) ([]store.Signed, []store.Refusal, error) {
	var out []store.Signed
	var refused []store.Refusal
	for _, s := range all {
		have, known := b.signed[s.Period][keyOf(s)]
		switch {
		case known && have.Statement != s:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrConflict})
		case known:
			out = append(out, have)
		case s.Period < b.first:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrEarly})
		case s.Period < b.sealed:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrSealed})
		default:
			sig, err := sign(s)
			if err != nil {
				return nil, nil, err
			}
			fresh := store.Signed{Statement: s, Signature: sig}
			make2(b.signed, s.Period)[keyOf(s)] = fresh
			out = append(out, fresh)
		}
	}
	return out, refused, nil
}

// Statements implements challenge.Book and consensus.Book: in the order of package store.
func (b *book) Statements(p records.Period) ([]store.Signed, error) {
	var out []store.Signed
	for _, s := range b.signed[p] {
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y store.Signed) int { return bytes.Compare(orderOf(x.Statement), orderOf(y.Statement)) })
	return out, nil
}

// orderOf is the key by which package store sorts the statements of a period.
func orderOf(s records.CheckStatement) []byte {
	k := append(append(append([]byte{}, s.Node[:]...), s.Lease[:]...), byte(s.Kind))
	for shift := 56; shift >= 0; shift -= 8 {
		k = append(k, byte(uint64(s.CheckedAt)>>shift))
	}
	return k
}

// Seal implements challenge.Book.
func (b *book) Seal(p records.Period) error {
	b.sealed = max(b.sealed, p+1)
	return nil
}

// Sealed implements consensus.Book.
func (b *book) Sealed() (records.Period, error) { return b.sealed, nil }

// PutManifest implements consensus.Book.
func (b *book) PutManifest(p records.Period, ref store.SetRef) error {
	have, ok := b.sets[p]
	switch {
	case ok && have != ref:
		return store.ErrManifest
	case ok:
	case p < b.first:
		return store.ErrEarly
	case p >= b.sealed:
		return store.ErrOpen
	default:
		b.sets[p] = ref
	}
	return nil
}

// Vote implements consensus.Book.
func (b *book) Vote(p records.Period, root records.Hash, proposal []byte) error {
	if have, ok := b.votes[p]; ok && have == root {
		return nil
	}
	if p < b.first {
		return store.ErrEarly
	}
	b.votes[p] = root
	return b.PutProposal(p, root, proposal)
}

// Voted implements consensus.Book.
func (b *book) Voted(p records.Period) (records.Hash, error) {
	root, ok := b.votes[p]
	if !ok {
		return root, store.ErrNotFound
	}
	return root, nil
}

// PutProposal implements consensus.Book.
func (b *book) PutProposal(p records.Period, root records.Hash, proposal []byte) error {
	make2(b.proposed, p)[root] = bytes.Clone(proposal)
	return nil
}

// Proposal implements consensus.Book.
func (b *book) Proposal(p records.Period, root records.Hash) ([]byte, error) {
	raw, ok := b.proposed[p][root]
	if !ok {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(raw), nil
}

// PutLeaves implements consensus.Book.
func (b *book) PutLeaves(p records.Period, root records.Hash, raw []byte) error {
	make2(b.leaves, p)[root] = bytes.Clone(raw)
	return nil
}

// Leaves implements consensus.Book.
func (b *book) Leaves(p records.Period, root records.Hash) ([]byte, error) {
	raw, ok := b.leaves[p][root]
	if !ok {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(raw), nil
}

// PutProof implements proof.Book.
func (b *book) PutProof(name string, proof []byte) error {
	b.proofs[name] = bytes.Clone(proof)
	return nil
}

// DropProof implements proof.Book.
func (b *book) DropProof(name string) error {
	delete(b.proofs, name)
	return nil
}

// Proofs implements proof.Book.
func (b *book) Proofs() (map[string][]byte, error) { return maps.Clone(b.proofs), nil }

// prune forgets everything about periods before the given one, for which nothing is signed any more.
func (b *book) prune(before records.Period) {
	b.first = max(b.first, before)
	for p := range b.sets {
		if p < before {
			delete(b.sets, p)
		}
	}
	for p := range b.signed {
		if p < before {
			delete(b.signed, p)
		}
	}
	for p := range b.votes {
		if p < before {
			delete(b.votes, p)
		}
	}
	for p := range b.proposed {
		if p < before {
			delete(b.proposed, p)
		}
	}
	for p := range b.leaves {
		if p < before {
			delete(b.leaves, p)
		}
	}
}
