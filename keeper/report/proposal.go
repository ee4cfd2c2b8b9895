package report

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

var (
	// ErrProposal: the proposal is not what its content says, or is not signed by its proposer.
	ErrProposal = errors.New("proposal is not sound")
	// ErrOmission: our own statements are missing or are not the ones that we made.
	ErrOmission = errors.New("proposal leaves out or alters statements of ours")
	// ErrSeed: the proposer drew other committees.
	ErrSeed = errors.New("proposal has another seed")
	// ErrLeaves: the leaves do not follow from the statements.
	ErrLeaves = errors.New("proposed root does not follow from the statements")
	// ErrEmpty: nothing was checked by enough keepers.
	ErrEmpty = errors.New("nothing to report")
)

// MaxManifests bounds what a proposal names: the program knows 256 keepers.
const MaxManifests = 256

// signedRecord is what a proposer signs.
func signedRecord(m messages.Proposal, domain records.Domain) records.Proposal {
	h := sha256.New()
	for _, x := range m.Manifests {
		h.Write(x.Keeper[:])
		h.Write(x.Digest[:])
	}
	return records.Proposal{
		Domain: domain, Period: records.Period(m.Period), Round: m.Round, Manifests: uint32(len(m.Manifests)),
		Root: m.Root, Seed: m.Seed, Digest: [32]byte(h.Sum(nil)),
	}
}

// Set is the leaf set of a period with its tree.
type Set struct {
	Period records.Period
	Root   records.Hash
	Leaves []records.Leaf
	Tree   *records.Tree
}

// NewSet builds the tree of leaves that are in order. Errors: ErrEmpty, records.ErrOrder, records.ErrValue.
func NewSet(leaves []records.Leaf) (*Set, error) {
	if len(leaves) == 0 {
		return nil, ErrEmpty
	}
	tree, err := records.LeafTree(leaves)
	if err != nil {
		return nil, err
	}
	return &Set{Period: leaves[0].Period, Root: tree.Root(), Leaves: leaves, Tree: tree}, nil
}

// Refs names the sets of manifests.
func Refs(manifests []messages.Manifest) []Ref {
	out := make([]Ref, len(manifests))
	for i, m := range manifests {
		out[i] = Ref{m.Keeper, m.Digest}
	}
	return out
}

// Propose builds a signed proposal of the sets with these manifests, all of which the tally must hold. roster
// is as in Basis. Errors: ErrEmpty, ErrMissing.
func Propose(t *Tally, w Weights, roster *committee.Roster, manifests []statement.Manifest, round uint32, signer records.Signer) (messages.Proposal, *Set, error) {
	m := messages.Proposal{Version: messages.Version, Period: uint64(t.frame.Period), Seed: roster.Seed()}
	for _, x := range manifests {
		m.Manifests = append(m.Manifests, x.Message())
	}
	slices.SortFunc(m.Manifests, func(a, b messages.Manifest) int { return bytes.Compare(a.Keeper[:], b.Keeper[:]) })
	leaves, err := t.Build(Basis{Weights: w, Roster: roster, Sets: Refs(m.Manifests)})
	if err != nil {
		return m, nil, err
	}
	set, err := NewSet(leaves)
	if err != nil {
		return m, nil, err
	}
	m.Root = set.Root
	m, err = Resign(m, t.frame.Domain, round, signer)
	return m, set, err
}

// Resign is the same proposal for another round, signed by another keeper.
func Resign(m messages.Proposal, domain records.Domain, round uint32, signer records.Signer) (messages.Proposal, error) {
	m.Round, m.Proposer = round, signer.PublicKey()
	sig, err := signedRecord(m, domain).Sign(signer)
	m.Signature = sig
	return m, err
}

// Enough reports whether the manifests are those of keepers with so much weight that a proposal of them counts.
func Enough(manifests []statement.Manifest, w Weights) bool {
	raw := make([]messages.Manifest, len(manifests))
	for i, m := range manifests {
		raw[i] = m.Message()
	}
	return enough(raw, w)
}

func enough(manifests []messages.Manifest, w Weights) bool {
	var weight uint64
	for _, m := range manifests {
		weight += w[solana.PublicKey(m.Keeper)]
	}
	return moreThan(weight, w.Total(), 2, 3)
}

// Authentic checks the proposer's signature, that the proposer is a keeper with weight, and that the manifests are
// signed by keepers with more than two thirds of the weight, in order. Error: ErrProposal.
func Authentic(m messages.Proposal, domain records.Domain, w Weights, keys records.Keys) error {
	if m.Version != messages.Version {
		return fmt.Errorf("%w: version %d", ErrProposal, m.Version)
	}
	proposer := solana.PublicKey(m.Proposer)
	if w[proposer] == 0 {
		return fmt.Errorf("%w: %s is not an active keeper", ErrProposal, proposer)
	}
	if len(m.Manifests) > MaxManifests {
		return fmt.Errorf("%w: %d manifests", ErrProposal, len(m.Manifests))
	}
	record := signedRecord(m, domain)
	_, err := keys.Find(proposer, record.Period, func(key solana.PublicKey) error { return record.Verify(key, m.Signature) })
	if err != nil {
		return fmt.Errorf("%w: signature", ErrProposal)
	}
	for i, raw := range m.Manifests {
		x := statement.ReadManifest(raw)
		switch {
		case x.Period != records.Period(m.Period):
			return fmt.Errorf("%w: manifest of period %d", ErrProposal, x.Period)
		case i > 0 && bytes.Compare(m.Manifests[i-1].Keeper[:], raw.Keeper[:]) >= 0:
			return fmt.Errorf("%w: manifests out of order", ErrProposal)
		case w[x.Keeper] == 0:
			return fmt.Errorf("%w: statements of %s, which is not an active keeper", ErrProposal, x.Keeper)
		}
		if err := x.Verify(domain, keys); err != nil {
			return fmt.Errorf("%w: %w", ErrProposal, err)
		}
	}
	if !enough(m.Manifests, w) {
		return fmt.Errorf("%w: statements of too few keepers", ErrProposal)
	}
	return nil
}

// same reports whether two manifests say the same, whichever of the keeper's keys has signed them.
func same(own statement.Manifest, other messages.Manifest) bool {
	x := statement.ReadManifest(other)
	x.Signature = own.Signature
	return x == own
}

// Check decides whether to vote for an authentic proposal: the committees are those that we draw, our own statements
// are among those that count, and the root is what follows. own is our manifest; nil when we have none.
// Errors: ErrSeed, ErrOmission, ErrMissing, ErrLeaves.
func Check(m messages.Proposal, t *Tally, w Weights, roster *committee.Roster, own *statement.Manifest) (*Set, error) {
	if committee.Seed(m.Seed) != roster.Seed() {
		return nil, ErrSeed
	}
	if own != nil && w[own.Keeper] > 0 && !slices.ContainsFunc(m.Manifests, func(x messages.Manifest) bool { return same(*own, x) }) {
		return nil, ErrOmission
	}
	leaves, err := t.Build(Basis{Weights: w, Roster: roster, Sets: Refs(m.Manifests)})
	if err != nil {
		return nil, err
	}
	set, err := NewSet(leaves)
	if err != nil || set.Root != records.Hash(m.Root) {
		return nil, ErrLeaves
	}
	return set, nil
}
