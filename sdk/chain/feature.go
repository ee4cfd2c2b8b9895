package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"
)

// FeatureActive reports whether the cluster has activated a feature gate. The gate's account says so: it is missing before
// somebody asks for the activation, and names no slot until the activation.
func (c *Client) FeatureActive(ctx context.Context, gate solana.PublicKey) (bool, error) {
	acc, err := c.Account(ctx, gate, Confirmed)
	if errors.Is(err, ErrAccountNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("feature gate %s: %w", gate, err)
	}
	if acc.Owner != solana.FeatureProgramID {
		return false, nil // anybody can send lamports to an address
	}
	feature, err := solana.FeatureFromAccount(acc.Owner, acc.Data)
	if err != nil {
		return false, fmt.Errorf("feature gate %s: %w", gate, err)
	}
	return feature.IsActive(), nil
}
