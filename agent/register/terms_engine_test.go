package register

import (
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
)

// commandsOf are the commands of a node's key.
func commandsOf(t *testing.T, w *testmarket.Testbed, nodeKey solana.PrivateKey) *Commands {
	t.Helper()
	genesis, err := w.Client.Genesis(t.Context())
	require.NoError(t, err)
	store, err := txm.OpenStore(filepath.Join(t.TempDir(), "txs"), genesis)
	require.NoError(t, err)
	m, err := txm.New(txm.Options{RPC: w.Client, Store: store, Keys: txm.NewKeys(nodeKey), Payer: nodeKey.PublicKey(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() {
		m.Close()
		require.NoError(t, store.Close())
	})
	c, err := New(Options{PlanOptions: PlanOptions{Chain: w.Client, NodeKey: nodeKey.PublicKey()}, Txm: m})
	require.NoError(t, err)
	return c
}

// After an upgrade of the driver the market hears its CUDA. The node drains for a moment, and its isolation stays.
func TestAnUpgradedDriverIsTold(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	nodeKey, node := w.Node(w.Provider(100*market.OneGNT), testmarket.A100, 1, 1_000_000)
	c := commandsOf(t, w, nodeKey)
	require.Zero(t, node.Spec.Cuda)
	w.Until(w.Now() + 2)
	newest := market.CUDA(1208)
	changed, err := c.Update(t.Context(), Change{CUDA: &newest})
	require.NoError(t, err)
	require.Equal(t, uint16(newest), changed.Spec.Cuda)
	require.Equal(t, node.Spec.Isolation, changed.Spec.Isolation)
	require.Equal(t, market.NodeActive, changed.State())
	require.Greater(t, changed.AvailableSince, node.AvailableSince, "no earlier award is compared with it")
}

// The operator accepts terms that the agent does not, once for each change.
func TestTermsAreAcceptedByHand(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	w.InitMarket(params)
	nodeKey, node := w.Node(w.Provider(100*market.OneGNT), testmarket.A100, 1, 1_000_000)
	c := commandsOf(t, w, nodeKey)
	require.ErrorIs(t, c.AcceptTerms(t.Context()), ErrTermsAccepted)

	authority := []solana.PrivateKey{w.Authority}
	propose, err := ix.GpuModelPropose(ix.GpuModelProposeArgs{
		Authority: w.Authority.PublicKey(), ID: testmarket.A100, Name: "A100-SXM4-40GB", VRAMMiB: 40_960, TFLOPSx10: 3_120, MinStake: 100 * market.OneGNT,
		ReferencePrice: 1_300_000, MinOperations: 4_000_000_000, MinBandwidth: 1,
		Profile: bindings.MeasureProfile{Order: 1_024, Fold: 4, Rows: 1_024, ChainMs: 250, Resident: 2, WalkMs: 100, Lanes: 16},
	})
	w.Do("gpu_model_propose", authority, propose, err)
	w.Until(w.Now() + int64(params.TimelockSecs))
	apply, err := ix.GpuModelApply(testmarket.A100)
	w.Do("gpu_model_apply", authority, apply, err)
	require.NoError(t, c.AcceptTerms(t.Context()))
	w.Wait("terms", func(v *view.View) bool {
		n, ok := v.Node(node.Address)
		return ok && n.MinOperations == 4_000_000_000
	})
	require.ErrorIs(t, c.AcceptTerms(t.Context()), ErrTermsAccepted)
}
