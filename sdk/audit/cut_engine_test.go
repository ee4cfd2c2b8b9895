package audit_test

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// talk is an instruction of two bytes of the transaction's own that fills its log with about 200.
func talk(mint solana.PublicKey) solana.Instruction {
	const accountSize = 21
	return solana.NewInstruction(solana.TokenProgramID, solana.AccountMetaSlice{solana.Meta(mint)}, []byte{accountSize})
}

// A customer makes the log of its order's creation longer than a node keeps. The engine cuts it as a node does.
func TestEngineCutsALongLog(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper := w.Keeper()
	provider := w.Provider(100 * market.OneGNT)
	_, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	customer := w.Customer(20*market.OneUSDC, 20*market.OneUSDC)
	args := ix.OrderCreateArgs{
		Customer: customer.PublicKey(), Nonce: 1, MaxPrice: 4_000_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	}
	order, err := ix.OrderCreate(args)
	require.NoError(t, err)
	var all []solana.Instruction
	for range 60 {
		all = append(all, talk(w.PaymentMint))
	}
	res, err := w.Try("order_create", []solana.PrivateKey{customer}, append(all, order)...)
	require.NoError(t, err)
	landed, err := w.Client.Transaction(w.Ctx, res.Signature, chain.Confirmed)
	require.NoError(t, err)
	require.Contains(t, landed.Logs, "Log truncated")
	_, err = query.Events(&landed)
	require.ErrorIs(t, err, chain.ErrUnreadable)

	address := market.OrderAddress(customer.PublicKey(), 1)
	o := market.Order{Meta: market.Meta{Address: address}}
	o.Customer, o.RentPayer = customer.PublicKey(), customer.PublicKey()
	lease := w.Award(keeper, o, node)
	a, err := audit.AuditLease(w.Ctx, audit.Options{Source: w.Client, Commitment: chain.Confirmed, Params: testmarket.FastParams(), Lease: &lease}, lease.Address)
	require.NoError(t, err)
	require.Equal(t, audit.Unknown, a.Outcome())
	for _, st := range a.Steps {
		require.Empty(t, st.Problems, st.Name)
	}

	// All other transactions of the market, with all that its instructions always emit, are read.
	txs, err := audit.Read(w.Ctx, w.Client, market.ProgramID, chain.Confirmed)
	require.NoError(t, err)
	require.Greater(t, len(txs), 10)
	for _, x := range txs {
		if x.Signature != res.Signature {
			require.Empty(t, x.Unreadable)
			require.False(t, x.Hidden, "the engine shows inner instructions")
		}
	}
}
