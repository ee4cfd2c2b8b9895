package testmarket

import (
	"encoding/hex"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Foreign puts nodes, leases, orders and credits of other people into a market on the embedded engine, n of each: of a
// GPU model that the market does not have, and each of a wallet that does nothing else.
func Foreign(t testing.TB, c *chain.Client, n int) {
	t.Helper()
	const model = 900
	key := func() solana.PublicKey { return solana.NewWallet().PublicKey() }
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	put := func(k market.Kind, value any) {
		body, err := bin.MarshalBorsh(value)
		require.NoError(t, err)
		d := market.Discriminator(k)
		address := key()
		g.Go(func() error {
			var out any
			return c.Raw(ctx, &out, "surfnet_setAccount", address, map[string]any{
				"lamports": uint64(chain.SOL), "owner": market.ProgramID.String(), "data": hex.EncodeToString(append(d[:], body...)),
			})
		})
	}
	for i := range n {
		node := bindings.Node{Provider: key(), NodeKey: key(), Price: 1_000_000, Status: uint8(market.NodeActive), Version: market.LayoutVersion}
		node.Spec.Model, node.Spec.Gpus = model, 8
		put(market.KindNode, node)
		put(market.KindLease, bindings.Lease{
			Order: key(), Node: key(), Provider: key(), Customer: key(), NodeKey: key(), Status: uint8(market.LeaseRunning), Version: market.LayoutVersion,
		})
		order := bindings.Order{Customer: key(), Nonce: uint64(i), Status: uint8(market.OrderOpen), Version: market.LayoutVersion}
		order.Requirement.Models = market.Models(model)
		put(market.KindOrder, order)
		put(market.KindCredits, bindings.Credits{Customer: key(), Version: market.LayoutVersion})
	}
	require.NoError(t, g.Wait())
}
