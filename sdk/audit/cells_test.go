package audit

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/records"
)

// provenCell is a wrong byte that a node signed, the transactions that prove it, and what the program said.
type provenCell struct {
	txs    []Tx
	proven bindings.WrongCellProven
	opened bindings.FaultOpened
}

var processors = measure.Profile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1000, Resident: 16, WalkMs: 500, Lanes: 16}

// proveCell signs byte 9 of leaf 77 of the last of three rounds; wrong is by how much it is off. change may alter what is
// brought after it is signed.
func proveCell(t *testing.T, wrong byte, change func(*ix.WrongCell)) *provenCell {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	finder, provider := solana.PublicKey{8}, solana.PublicKey{3}
	var node market.Node
	node.NodeKey = solana.PublicKeyFromBytes(key.Public().(ed25519.PublicKey))
	node.Address, node.Node.Provider = market.NodeAddress(provider, node.NodeKey), provider
	block := ix.InstantBlock{Period: 500_000, Tick: 3, Slot: 99, Hash: [32]byte{4}}
	place := measure.Place{Domain: [8]byte{1}, Node: node.Address}
	at, _ := instant.Draw(place.Domain, records.Period(block.Period), int(block.Tick), block.Slot, block.Hash, time.Time{})
	place.Instant = at.Seed
	c := measure.CellProof{
		Place: place, GPU: 1, Profile: processors, Rounds: 3, LeafAt: measure.LeafAt{Round: 2, Leaf: 77}, Group: 9, Before: measure.Hash{5},
		LeafOpening: measure.LeafOpening{Path: make([]measure.Hash, processors.LeafDepth())}, RoundPath: make([]measure.Hash, 2),
	}
	right := c.Right()
	c.Bytes[9] = right ^ wrong
	root, ok := c.RoundsRoot()
	require.True(t, ok)
	entry := measure.Entry{GPU: 1, Profile: processors.Hash(), Rounds: 3, RoundsRoot: root, Walks: 1}
	commitment := measure.Commit(place, []measure.Entry{entry}).Bytes()
	w := ix.WrongCell{
		Node: node, Commitment: commitment, Signature: solana.SignatureFromBytes(ed25519.Sign(key, commitment)), Entry: entry.Bytes(), Block: block,
		Round: 2, Before: c.Before, Leaf: 77, Group: 9, Bytes: c.Bytes, Path: c.Path, RoundPath: c.RoundPath,
	}
	if change != nil {
		change(&w)
	}
	commit, err := w.Commit(finder)
	require.NoError(t, err)
	leaf, err := w.AddLeaf(finder)
	require.NoError(t, err)
	prove, err := w.Prove(finder)
	require.NoError(t, err)
	fault := market.WorkFaultAddress(node.Address, finder, block.Period)
	p := processors
	return &provenCell{
		txs: []Tx{transaction(t, commit...), transaction(t, leaf), transaction(t, prove)},
		proven: bindings.WrongCellProven{
			Node: node.Address, Provider: provider, Finder: finder, Fault: fault, Period: block.Period, Round: 2, Leaf: 77, Gpu: 1, Group: 9,
			Claimed: right ^ wrong, Right: right,
			Profile: bindings.MeasureProfile{
				Order: p.Order, Fold: p.Fold, Rows: p.Rows, ChainMs: p.ChainMs, Resident: p.Resident, WalkMs: p.WalkMs, Lanes: p.Lanes,
			},
		},
		opened: bindings.FaultOpened{Fault: fault, Node: node.Address, Period: block.Period},
	}
}

func transaction(t *testing.T, ixs ...solana.Instruction) Tx {
	t.Helper()
	var tx Tx
	for _, i := range ixs {
		data, err := i.Data()
		require.NoError(t, err)
		out := Instruction{Program: i.ProgramID(), Data: data}
		for _, a := range i.Accounts() {
			out.Accounts = append(out.Accounts, a.PublicKey)
		}
		tx.Instructions = append(tx.Instructions, out)
	}
	return tx
}

func (p *provenCell) audit() *Slash {
	s := &Slash{}
	s.fromCell(p.txs, &p.proven, &p.opened)
	return s
}

func TestAWrongByteIsRecomputed(t *testing.T) {
	s := proveCell(t, 1, nil).audit()
	require.True(t, s.OK(), "%+v", s.Steps)
	require.Equal(t, ProvenWrongCell, s.Proof)
	require.Len(t, s.Steps, 3)
	// An accusation that was given up before is no part of it.
	p := proveCell(t, 1, nil)
	other := proveCell(t, 2, nil)
	p.txs = append(other.txs[:2:2], p.txs...)
	require.True(t, p.audit().OK())
}

// TestASlashThatTheBytesDoNotShow: a program that slashed for any of these would be found out.
func TestASlashThatTheBytesDoNotShow(t *testing.T) {
	for name, of := range map[string]func(t *testing.T) *provenCell{
		"right work": func(t *testing.T) *provenCell { return proveCell(t, 0, nil) },
		"another leaf": func(t *testing.T) *provenCell {
			return proveCell(t, 1, func(w *ix.WrongCell) { w.Bytes[0]++ })
		},
		"another place": func(t *testing.T) *provenCell { return proveCell(t, 1, func(w *ix.WrongCell) { w.Leaf++ }) },
		"another round": func(t *testing.T) *provenCell { return proveCell(t, 1, func(w *ix.WrongCell) { w.Round-- }) },
		"a path that is too short": func(t *testing.T) *provenCell {
			return proveCell(t, 1, func(w *ix.WrongCell) { w.RoundPath = w.RoundPath[1:] })
		},
		"another period": func(t *testing.T) *provenCell {
			p := proveCell(t, 1, func(w *ix.WrongCell) { w.Block.Period++ })
			p.proven.Period++
			p.proven.Fault = market.WorkFaultAddress(p.proven.Node, p.proven.Finder, p.proven.Period)
			return p
		},
		"another block":   func(t *testing.T) *provenCell { return proveCell(t, 1, func(w *ix.WrongCell) { w.Block.Slot++ }) },
		"another profile": func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Profile.WalkMs++; return p },
		"no profile": func(t *testing.T) *provenCell {
			p := proveCell(t, 1, nil)
			p.proven.Profile = bindings.MeasureProfile{}
			return p
		},
		"another GPU":      func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Gpu++; return p },
		"another right":    func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Right++; return p },
		"another claim":    func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Claimed++; return p },
		"another provider": func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Provider[0]++; return p },
		"another finder":   func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.proven.Finder[0]++; return p },
		"a lease's fault":  func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.opened.Lease[0]++; return p },
		"no commitment":    func(t *testing.T) *provenCell { p := proveCell(t, 1, nil); p.txs = p.txs[1:]; return p },
		"no leaf": func(t *testing.T) *provenCell {
			p := proveCell(t, 1, nil)
			p.txs = []Tx{p.txs[0], p.txs[2]}
			return p
		},
		"no signature": func(t *testing.T) *provenCell {
			p := proveCell(t, 1, nil)
			p.txs[0].Instructions[0].Data[48]++
			return p
		},
		"cut off": func(t *testing.T) *provenCell {
			p := proveCell(t, 1, nil)
			i := &p.txs[1].Instructions[0]
			i.Data = i.Data[:100]
			return p
		},
	} {
		require.False(t, of(t).audit().OK(), name)
	}
}
