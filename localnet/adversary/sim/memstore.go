package sim

import (
	"bytes"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// memStore is a keeper's memory that survives its crashes: package store's promises without its file. A test holds the
// two against each other.
type memStore struct {
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

func newMemStore(first records.Period) *memStore {
	return &memStore{
		first: first, signed: map[records.Period]map[statementKey]store.Signed{}, sets: map[records.Period]store.SetRef{}, votes: map[records.Period]records.Hash{},
		proposed: map[records.Period]map[records.Hash][]byte{}, leaves: map[records.Period]map[records.Hash][]byte{}, proofs: map[string][]byte{},
	}
}

// FirstPeriod implements consensus.Store.
func (m *memStore) FirstPeriod() records.Period { return m.first }

// Sign is what package store does.
func (m *memStore) Sign(all []records.CheckStatement, sign func(records.CheckStatement) (solana.Signature, error)) ([]store.Signed, []store.Refusal, error) {
	var out []store.Signed
	var refused []store.Refusal
	for _, s := range all {
		have, known := m.signed[s.Period][keyOf(s)]
		switch {
		case known && have.Statement != s:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrConflict})
		case known:
			out = append(out, have)
		case s.Period < m.first:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrEarly})
		case s.Period < m.sealed:
			refused = append(refused, store.Refusal{Statement: s, Err: store.ErrSealed})
		default:
			sig, err := sign(s)
			if err != nil {
				return nil, nil, err
			}
			fresh := store.Signed{Statement: s, Signature: sig}
			submap(m.signed, s.Period)[keyOf(s)] = fresh
			out = append(out, fresh)
		}
	}
	return out, refused, nil
}

// signingStore signs with a keeper's key what the store takes: package signing's promises without its file.
type signingStore struct {
	*memStore
	key records.Signer
}

// SignStatements implements check.Store.
func (s signingStore) SignStatements(all []records.CheckStatement) ([]store.Signed, []store.Refusal, error) {
	return s.Sign(all, func(st records.CheckStatement) (solana.Signature, error) { return st.Sign(s.key) })
}

// Statements implements check.Store and consensus.Store: in the order of package store.
func (m *memStore) Statements(p records.Period) ([]store.Signed, error) {
	var out []store.Signed
	for _, s := range m.signed[p] {
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

// Seal implements check.Store.
func (m *memStore) Seal(p records.Period) error {
	m.sealed = max(m.sealed, p+1)
	return nil
}

// Sealed implements consensus.Store.
func (m *memStore) Sealed() (records.Period, error) { return m.sealed, nil }

// PutManifest implements consensus.Store.
func (m *memStore) PutManifest(p records.Period, ref store.SetRef) error {
	have, ok := m.sets[p]
	switch {
	case ok && have != ref:
		return store.ErrManifest
	case ok:
	case p < m.first:
		return store.ErrEarly
	case p >= m.sealed:
		return store.ErrOpen
	default:
		m.sets[p] = ref
	}
	return nil
}

// Vote implements consensus.Store.
func (m *memStore) Vote(p records.Period, root records.Hash, proposal []byte) error {
	if have, ok := m.votes[p]; ok && have == root {
		return nil
	}
	if p < m.first {
		return store.ErrEarly
	}
	m.votes[p] = root
	return m.PutProposal(p, root, proposal)
}

// Voted implements consensus.Store.
func (m *memStore) Voted(p records.Period) (records.Hash, error) {
	root, ok := m.votes[p]
	if !ok {
		return root, store.ErrNotFound
	}
	return root, nil
}

// PutProposal implements consensus.Store.
func (m *memStore) PutProposal(p records.Period, root records.Hash, proposal []byte) error {
	submap(m.proposed, p)[root] = bytes.Clone(proposal)
	return nil
}

// Proposal implements consensus.Store.
func (m *memStore) Proposal(p records.Period, root records.Hash) ([]byte, error) {
	raw, ok := m.proposed[p][root]
	if !ok {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(raw), nil
}

// PutLeaves implements consensus.Store.
func (m *memStore) PutLeaves(p records.Period, root records.Hash, raw []byte) error {
	submap(m.leaves, p)[root] = bytes.Clone(raw)
	return nil
}

// Leaves implements consensus.Store.
func (m *memStore) Leaves(p records.Period, root records.Hash) ([]byte, error) {
	raw, ok := m.leaves[p][root]
	if !ok {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(raw), nil
}

// PutProof implements slashing.Store.
func (m *memStore) PutProof(name string, proof []byte) error {
	m.proofs[name] = bytes.Clone(proof)
	return nil
}

// DropProof implements slashing.Store.
func (m *memStore) DropProof(name string) error {
	delete(m.proofs, name)
	return nil
}

// Proofs implements slashing.Store.
func (m *memStore) Proofs() (map[string][]byte, error) { return maps.Clone(m.proofs), nil }

// prune forgets everything about periods before the given one, for which nothing is signed any more.
func (m *memStore) prune(before records.Period) {
	m.first = max(m.first, before)
	for p := range m.sets {
		if p < before {
			delete(m.sets, p)
		}
	}
	for p := range m.signed {
		if p < before {
			delete(m.signed, p)
		}
	}
	for p := range m.votes {
		if p < before {
			delete(m.votes, p)
		}
	}
	for p := range m.proposed {
		if p < before {
			delete(m.proposed, p)
		}
	}
	for p := range m.leaves {
		if p < before {
			delete(m.leaves, p)
		}
	}
}
