package slashing

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

var cellProfile = bindings.MeasureProfile{Order: 1024, Fold: 4, Rows: 1024, ChainMs: 1000, Resident: 16, WalkMs: 500, Lanes: 16}

// putModel puts the node's model on chain, measured by profiles of these lengths now and before.
func (w *fixture) putModel(chainMs, before uint32) {
	m := &market.Model{Meta: market.Meta{Address: market.ModelAddress(w.node().Spec.Model)}}
	m.Id, m.Profile, m.PreviousProfile = w.node().Spec.Model, cellProfile, cellProfile
	m.Profile.ChainMs, m.PreviousProfile.ChainMs = chainMs, before
	w.v.Put(m.Address, m)
}

// wrongCell is a byte of a commitment that the node has signed for a period. The builder follows no path.
func (w *fixture) wrongCell(t require.TestingT, period uint64) ix.WrongCell {
	entry := measure.Entry{GPU: 1, Profile: market.ProfileOf(cellProfile).Hash(), Rounds: 40, RoundsRoot: measure.Hash{byte(period)}, Walks: 3}
	place := measure.Place{Domain: domain, Instant: [32]byte{4}, Node: w.node().Address}
	raw := measure.Commitment{Place: place, Entries: []measure.Hash{{7}, entry.Hash()}}.Bytes()
	signature, err := nodeKey.Sign(raw)
	require.NoError(t, err)
	c := ix.WrongCell{
		Node: *w.node(), Commitment: raw, Signature: signature, Entry: entry.Bytes(),
		Block: ix.InstantBlock{Period: period, Tick: 2, Slot: 77, Hash: [32]byte{9}},
		Round: 5, Before: [32]byte{1}, Leaf: 6, Group: 8, Path: make([][32]byte, 23), RoundPath: make([][32]byte, 6),
	}
	c.Bytes[8] = 55
	return c
}

// commitTo is fraud_proof_commitment, addLeaf is fraud_proof_leaf.
func (w *fixture) commitTo(finder solana.PublicKey, c ix.WrongCell) {
	entry, err := measure.DecodeEntry(c.Entry[:])
	require.NoError(w.t, err)
	a := &market.FraudProof{Meta: market.Meta{Address: market.FraudProofAddress(c.Node.Address, finder)}}
	a.Node, a.Finder, a.Seed, a.Root, a.Profile = c.Node.Address, finder, [32]byte{4}, entry.RoundsRoot, entry.Profile
	a.Period, a.Rounds, a.Gpu = c.Block.Period, entry.Rounds, entry.GPU
	w.v.Put(a.Address, a)
}

func (w *fixture) addLeaf(finder solana.PublicKey, c ix.WrongCell, siblings int) {
	a := *w.v.FraudProofs[market.FraudProofAddress(c.Node.Address, finder)]
	a.Round, a.Before, a.Row, a.Column, a.Claimed, a.Level = c.Round, c.Before, c.Leaf, uint32(c.Group), int32(c.Bytes[c.Group]), uint8(siblings)
	a.Chunk = measure.Climb(measure.LeafHash(&c.Bytes), c.Leaf, c.Path[:siblings])
	w.v.Put(a.Address, &a)
}

// A keeper that is killed between the steps goes on with the next one.
func TestAWrongCellInThreeSteps(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.putModel(1000, 1000)
	c := w.wrongCell(t, period)
	require.NoError(t, w.service.WrongCell(c))
	require.NoError(t, w.service.WrongCell(w.wrongCell(t, period+1)), "one is enough")
	require.Equal(t, 1, w.service.Held())
	step := func(kind crank.Kind, mine bool) {
		t.Helper()
		actions := w.due()
		require.Equal(t, []crank.Kind{kind}, kinds(actions))
		require.Equal(t, mine, actions[0].Mine)
		fit(t, actions)
		w.kill()
		w.open()
	}
	step(crank.FraudProofCommitment, false)
	w.commitTo(self, c)
	step(crank.FraudProofLeaf, true)
	other := c
	other.Group = 9
	w.addLeaf(self, other, 20)
	step(crank.FraudProofLeaf, true) // another byte than the one that is wrong
	w.addLeaf(self, c, 20)
	step(crank.ProveWrongCell, true)
	w.slashNode()
	w.closeFraudProof(w.v.FraudProofs[market.FraudProofAddress(w.node().Address, self)])
	require.Empty(t, w.due())
	require.Zero(t, w.service.Held())
	require.NoError(t, w.service.WrongCell(c))
	require.Empty(t, w.due(), "what one proof covers is not proven again")
}

// What this keeper had begun of another proof is closed first; what another has begun is waited for.
func TestAFraudProofOfAnotherCommitmentIsClosed(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.putModel(1000, 1000)
	require.NoError(t, w.service.WrongCell(w.wrongCell(t, period)))
	w.commitTo(self, w.wrongCell(t, period-1))
	require.Equal(t, []crank.Kind{crank.FraudProofClose}, kinds(w.due()))
	w.execute(w.due()[0])
	w.commitTo(rival, w.wrongCell(t, period))
	require.Empty(t, w.due(), "they are left the time")
	w.now += delay
	require.Equal(t, []crank.Kind{crank.FraudProofCommitment}, kinds(w.due()))
}

// The program computes by a model's profile and the one before it. Of any other nothing can be proven.
func TestAProfileThatIsForgottenIsGivenUp(t *testing.T) {
	w := newFixture(t, t.TempDir())
	c := w.wrongCell(t, period)
	require.NoError(t, w.service.WrongCell(c))
	require.Equal(t, []crank.Kind{crank.FraudProofCommitment}, kinds(w.due()), "the model is not read yet")
	w.putModel(2000, 1000)
	w.commitTo(self, c)
	require.Equal(t, []crank.Kind{crank.FraudProofLeaf}, kinds(w.due()))
	w.putModel(3000, 2000)
	require.Equal(t, []crank.Kind{crank.FraudProofClose}, kinds(w.due()), "the rent comes back")
	require.Zero(t, w.service.Held())
}

func TestNoCellIsProvenAboutTheFuture(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.putModel(1000, 1000)
	c := w.wrongCell(t, period+1)
	require.NoError(t, w.service.WrongCell(c))
	w.commitTo(self, c)
	w.addLeaf(self, c, 20)
	require.Empty(t, w.due())
	w.now += secs
	require.Equal(t, []crank.Kind{crank.ProveWrongCell}, kinds(w.due()))
}

func TestDamagedCellsAreFound(t *testing.T) {
	w := newFixture(t, t.TempDir())
	require.NoError(t, w.service.WrongCell(w.wrongCell(t, period)))
	for name, damage := range map[string]func(c *wrongCell){
		"an entry":     func(c *wrongCell) { c.Entry = c.Entry[1:] },
		"a leaf":       func(c *wrongCell) { c.Bytes = append(c.Bytes, 1) },
		"a commitment": func(c *wrongCell) { c.Commitment = c.Commitment[:9] },
	} {
		cell := *w.service.held[workName(w.node().Address)].Cell
		damage(&cell)
		raw, err := entry{Cell: &cell}.encode()
		require.NoError(t, err)
		_, err = decode(raw)
		require.ErrorIs(t, err, store.ErrCorrupt, name)
	}
}
