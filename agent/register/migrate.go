package register

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/query"
)

// Migrate brings the machine's node account to the present layout if an older program wrote it. The provider's wallet pays
// the rent of the new bytes if it is known, else the machine's key; it comes back to the wallet when the node closes.
// Errors: ErrNotRegistered, *market.Error.
func (c *Commands) Migrate(ctx context.Context) error {
	if err := c.resume(ctx); err != nil {
		return err
	}
	older, err := olderNodes(ctx, c.o.Chain, c.o.NodeKey)
	if err != nil {
		return err
	}
	if len(older) == 0 {
		node, err := c.node(ctx)
		if err == nil {
			c.progress("node %s has the present layout", node.Address)
		}
		return err
	}
	payer := c.o.NodeKey
	if !c.o.Wallet.IsZero() {
		payer = c.o.Wallet
	}
	for _, node := range older {
		instruction, err := ix.NodeMigrate(payer, node)
		if err != nil {
			return err
		}
		sig, err := c.submit(ctx, "node_migrate", payer, instruction)
		if err != nil {
			return err
		}
		c.progress("node %s has the present layout now   tx %s", node, sig)
	}
	return nil
}

// olderNodes are the accounts of a machine's key that an older program wrote.
func olderNodes(ctx context.Context, c *chain.Client, key solana.PublicKey) ([]solana.PublicKey, error) {
	accounts, _, err := c.ProgramAccounts(ctx, market.ProgramID, level, chain.Filter{Offset: nodeKeyOffset, Bytes: key[:]})
	if err != nil {
		return nil, err
	}
	var out []solana.PublicKey
	for _, a := range accounts {
		if _, err := market.Decode(query.MetaOf(a), a.Data); errors.Is(err, market.ErrOldNode) {
			out = append(out, a.Key)
		}
	}
	return out, nil
}
