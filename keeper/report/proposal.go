package report

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/protocol"
	"github.com/gantry-market/gantry/client/wire"
	"github.com/gantry-market/gantry/keeper/statement"
)

var (
	// ErrProposal: the proposal is not what its content says, or is not signed by its proposer.
	ErrProposal = errors.New("proposal is not sound")
	// ErrOmission: one of our own statements is missing or was changed.
	ErrOmission = errors.New("proposal leaves out or alters a statement of ours")
	// ErrLeaves: the leaves do not follow from the statements.
	ErrLeaves = errors.New("proposed leaves do not follow from the statements")
	// ErrEmpty: nothing was checked by enough keepers.
	ErrEmpty = errors.New("nothing to report")
)

// proposalTag separates proposals from everything else that a keeper signs.
const proposalTag = "gantry-proposal-1"

// SigningHash is what a proposer signs: sha256(tag ‖ period u64 LE ‖ round u32 LE ‖ root).
func SigningHash(p wire.Period, round uint32, root wire.Hash) [32]byte {
	b := make([]byte, 0, len(proposalTag)+44)
	b = append(b, proposalTag...)
	b = binary.LittleEndian.AppendUint64(b, uint64(p))
	b = binary.LittleEndian.AppendUint32(b, round)
	b = append(b, root[:]...)
	return sha256.Sum256(b)
}

// Set is the leaf set of a period with its tree.
type Set struct {
	Period wire.Period
	Root   wire.Hash
	Leaves []wire.Leaf
	Tree   *wire.Tree
}

// NewSet builds the tree of leaves that are in order. Errors: ErrEmpty, wire.ErrOrder, wire.ErrValue.
func NewSet(leaves []wire.Leaf) (*Set, error) {
	if len(leaves) == 0 {
		return nil, ErrEmpty
	}
	tree, err := wire.LeafTree(leaves)
	if err != nil {
		return nil, err
	}
	return &Set{Period: leaves[0].Period, Root: tree.Root(), Leaves: leaves, Tree: tree}, nil
}

// Propose builds a signed proposal of the admissible statements. Error: ErrEmpty.
func Propose(in Input, round uint32, signer wire.Signer) (protocol.Proposal, *Set, error) {
	var admitted []statement.Signed
	for _, s := range in.Statements {
		if Admissible(s, in.Period, in.PeriodSecs, in.Weights) {
			admitted = append(admitted, s)
		}
	}
	in.Statements = admitted
	set, err := NewSet(Build(in))
	if err != nil {
		return protocol.Proposal{}, nil, err
	}
	m := protocol.Proposal{Version: protocol.Version, Period: uint64(in.Period), Root: set.Root}
	for _, l := range set.Leaves {
		enc := l.Encode()
		m.Leaves = append(m.Leaves, enc[:])
	}
	for _, s := range admitted {
		m.Statements = append(m.Statements, s.Message())
	}
	m, err = Resign(m, round, signer)
	return m, set, err
}

// Resign is the same proposal for another round, signed by another keeper.
func Resign(m protocol.Proposal, round uint32, signer wire.Signer) (protocol.Proposal, error) {
	m.Round, m.Proposer = round, signer.PublicKey()
	hash := SigningHash(wire.Period(m.Period), round, m.Root)
	sig, err := signer.Sign(hash[:])
	if err != nil {
		return m, fmt.Errorf("sign proposal: %w", err)
	}
	m.Signature = sig
	return m, nil
}

// Authentic checks the proposer's signature and that the proposer is a keeper with weight. Error: ErrProposal.
func Authentic(m protocol.Proposal, w Weights) error {
	if m.Version != protocol.Version {
		return fmt.Errorf("%w: version %d", ErrProposal, m.Version)
	}
	proposer := solana.PublicKey(m.Proposer)
	if w[proposer] == 0 {
		return fmt.Errorf("%w: %s is not an active keeper", ErrProposal, proposer)
	}
	hash := SigningHash(wire.Period(m.Period), m.Round, m.Root)
	if !solana.Signature(m.Signature).Verify(proposer, hash[:]) {
		return fmt.Errorf("%w: signature", ErrProposal)
	}
	return nil
}

// ReadSet decodes a proposal's leaves and checks that they lead to its root, without judging where they come from: for
// sets that the chain has made final. Errors: ErrProposal, those of leaves.
func ReadSet(m protocol.Proposal) (*Set, error) {
	leaves := make([]wire.Leaf, 0, len(m.Leaves))
	for i, raw := range m.Leaves {
		l, err := wire.DecodeLeaf(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: leaf %d: %w", ErrProposal, i, err)
		}
		leaves = append(leaves, l)
	}
	set, err := NewSet(leaves)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProposal, err)
	}
	if set.Root != wire.Hash(m.Root) || set.Period != wire.Period(m.Period) {
		return nil, fmt.Errorf("%w: root", ErrProposal)
	}
	return set, nil
}

// Check decides whether to vote for a proposal: its statements are signed by keepers, all of own are among them as they
// are, and the leaves are what follows. in.Statements is ignored; verify is asked for every statement of others and may
// know some already. Errors: ErrProposal, ErrOmission, ErrLeaves.
func Check(m protocol.Proposal, in Input, own []statement.Signed, verify func(statement.Signed) error) (*Set, error) {
	if m.Period != uint64(in.Period) {
		return nil, fmt.Errorf("%w: period %d", ErrProposal, m.Period)
	}
	set, err := ReadSet(m)
	if err != nil {
		return nil, err
	}
	given := make(map[statement.Key]statement.Signed, len(m.Statements))
	in.Statements = make([]statement.Signed, 0, len(m.Statements))
	for i, raw := range m.Statements {
		s, err := statement.Read(raw)
		if err != nil {
			return nil, fmt.Errorf("%w: statement %d: %w", ErrProposal, i, err)
		}
		if !Admissible(s, in.Period, in.PeriodSecs, in.Weights) {
			return nil, fmt.Errorf("%w: statement %d of keeper %s does not belong in this report", ErrProposal, i, s.Keeper)
		}
		if err := verify(s); err != nil {
			return nil, fmt.Errorf("%w: statement %d: %w", ErrProposal, i, err)
		}
		given[s.Key()] = s
		in.Statements = append(in.Statements, s)
	}
	mine := map[statement.Key]bool{}
	for _, s := range own {
		if !Admissible(s, in.Period, in.PeriodSecs, in.Weights) {
			continue
		}
		if have, ok := given[s.Key()]; !ok || have.Statement != s.Statement {
			return nil, fmt.Errorf("%w: %s of node %s at %d", ErrOmission, s.Statement.Kind, s.Statement.Node, s.Statement.CheckedAt)
		}
		mine[s.Key()] = true
	}
	if len(own) > 0 {
		for key := range given {
			if key.Keeper == own[0].Keeper && !mine[key] {
				return nil, fmt.Errorf("%w: one that we did not make", ErrOmission)
			}
		}
	}
	want, err := NewSet(Build(in))
	if err != nil || want.Root != set.Root {
		return nil, ErrLeaves
	}
	return set, nil
}
