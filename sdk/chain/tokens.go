package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/gagliardetto/solana-go"
)

// tokenBalance is what an account held before or after a transaction.
type tokenBalance struct {
	Mint   solana.PublicKey `json:"mint"`
	Owner  solana.PublicKey `json:"owner"`
	Amount struct {
		Amount string `json:"amount"` // base units
	} `json:"uiTokenAmount"`
}

// TokensReceived is how many tokens of a mint the accounts of an owner have more by a transaction, base units; 0 where
// they have not more, or it failed. at must be Confirmed or Finalized. Errors: ErrNotFound, ErrUnreadable.
func (c *Client) TokensReceived(ctx context.Context, sig solana.Signature, owner, mint solana.PublicKey, at Commitment) (uint64, error) {
	var out *struct {
		Meta *struct {
			Err  json.RawMessage `json:"err"`
			Pre  []tokenBalance  `json:"preTokenBalances"`
			Post []tokenBalance  `json:"postTokenBalances"`
		} `json:"meta"`
	}
	if err := c.Raw(ctx, &out, "getTransaction", sig, transactionParam(at)); err != nil {
		return 0, err
	}
	if out == nil || out.Meta == nil {
		return 0, fmt.Errorf("transaction %s: %w", sig, ErrNotFound)
	}
	if notNull(out.Meta.Err) != nil {
		return 0, nil
	}
	sum := new(big.Int)
	add := func(all []tokenBalance, sign int) error {
		for _, b := range all {
			if b.Mint != mint || b.Owner != owner {
				continue
			}
			n, ok := new(big.Int).SetString(b.Amount.Amount, 10)
			if !ok || n.Sign() < 0 {
				return fmt.Errorf("transaction %s: %w: token amount %q", sig, ErrUnreadable, b.Amount.Amount)
			}
			if sign < 0 {
				n.Neg(n)
			}
			sum.Add(sum, n)
		}
		return nil
	}
	if err := add(out.Meta.Post, 1); err != nil {
		return 0, err
	}
	if err := add(out.Meta.Pre, -1); err != nil {
		return 0, err
	}
	if sum.Sign() <= 0 || !sum.IsUint64() {
		return 0, nil
	}
	return sum.Uint64(), nil
}
