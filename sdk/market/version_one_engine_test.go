package market_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txform"
)

// deeper puts the tree of a report into a larger one, as its first leaves: each proof gets the same hashes more.
func deeper(p ix.LeafProof, more []records.Hash) ix.LeafProof {
	p.Siblings = append(append([]records.Hash(nil), p.Siblings...), more...)
	return p
}

// In a market of a million machines a proof has 21 hashes. Leaves share a transaction of version 1 there, and a fault that
// no legacy transaction holds is opened.
func TestAFaultOfAMillionMachinesLands(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper := w.Keeper()
	provider := w.Provider(1_000 * market.OneGNT)
	params, _ := w.View.Params()
	var nodes []market.Node
	for range 4 {
		_, n := w.Node(provider, testmarket.H100, 1, 1_000_000)
		nodes = append(nodes, n)
	}
	period := uint64(w.Now())/uint64(params.PeriodSecs) + 1
	var leaves []records.Leaf
	for i, n := range nodes {
		l := records.Leaf{Node: n.Address, Period: records.Period(period), ChecksPassed: 3, ChecksTotal: 3, UpSeconds: params.PeriodSecs}
		if i == 0 {
			l.ChecksPassed, l.Flags = 2, records.FlagWorkFailed
		}
		leaves = append(leaves, l)
	}
	records.SortLeaves(leaves)
	tree, err := records.LeafTree(leaves)
	require.NoError(t, err)
	more := make([]records.Hash, 19) // and two of the four leaves' own tree
	for i := range more {
		more[i] = records.Hash{0xaa, byte(i)}
	}
	var proofs []ix.LeafProof
	for i, l := range leaves {
		p, err := tree.Proof(uint32(i))
		require.NoError(t, err)
		proofs = append(proofs, deeper(ix.NewLeafProof(l, p), more))
		require.Len(t, proofs[i].Siblings, 21)
		require.Equal(t, proofs[0].Root(), proofs[i].Root())
	}

	sign, payer := []solana.PrivateKey{keeper}, keeper.PublicKey()
	end, err := market.PeriodEnd(period, params.PeriodSecs)
	require.NoError(t, err)
	w.Until(end)
	vote, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: payer, Period: period, Root: proofs[0].Root()})
	w.Do("report_vote", sign, vote, err)
	w.Wait("report final", func(v *view.View) bool {
		r, ok := v.Report(period)
		return ok && r.State() == market.ReportFinal
	})

	var applied []solana.Instruction
	var fault solana.Instruction
	var cheat market.Node
	for _, p := range proofs {
		if p.Leaf.Flags == 0 {
			instruction, err := ix.ReportApply(p)
			require.NoError(t, err)
			applied = append(applied, instruction)
			continue
		}
		for _, n := range nodes {
			if n.Address == p.Leaf.Node {
				cheat = n
			}
		}
		fault, err = ix.FaultOpen(ix.FaultOpenArgs{Payer: payer, Node: cheat, OfNode: true, Proof: p})
		require.NoError(t, err)
	}
	send := func(kind string, instructions ...solana.Instruction) {
		t.Helper()
		require.False(t, txform.Legacy.Holds(payer, instructions...), kind)
		res, err := w.Try(kind, sign, instructions...)
		require.NoError(t, err, kind)
		l, err := w.Client.Transaction(w.Ctx, res.Signature, chain.Confirmed)
		require.NoError(t, err)
		require.Equal(t, solana.MessageVersionV1, l.Tx.Message.GetVersion(), kind)
		require.Len(t, l.Tx.Message.Instructions, len(instructions), "its compute is bounded in its head")
		require.Equal(t, l.Fee, txform.Fee(&l.Tx.Message), kind)
		size, err := txform.Size(l.Tx)
		require.NoError(t, err)
		t.Logf("%s: %d instructions, %d bytes, %d units, fee %s, %d bytes of log", kind, len(instructions), size, l.Units, l.Fee, w.Logs[kind])
	}
	send("report_apply", applied...)
	send("fault_open", fault)
	w.Wait("leaves applied, fault open", func(v *view.View) bool {
		for _, n := range nodes {
			if got, _ := v.Node(n.Address); n.Address != cheat.Address && got.ChecksTotal != 3 {
				return false
			}
		}
		return len(v.FaultsOf(cheat.Address)) == 1
	})
}
