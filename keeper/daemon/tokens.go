package daemon

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// tokensInterval is how often the stake tokens of the key that sends buy-backs are counted.
const tokensInterval = time.Minute

// tokens is how many stake tokens that key holds.
type tokens struct{ n atomic.Uint64 }

func (t *tokens) held() market.GNT { return market.GNT(t.n.Load()) }

// amountOffset is where a token account has its amount, u64.
const amountOffset = 64

// runTokens counts them until ctx ends. A keeper that sends no buy-backs needs no count.
func (k *Keeper) runTokens(ctx context.Context) error {
	if k.c.TokenPrice == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	return schedule.Every(ctx, tokensInterval, func() {
		mk, ok := k.view.Market()
		if !ok {
			return
		}
		account := market.TokenAddress(k.signer.PublicKey(), mk.StakeMint)
		found, err := k.c.Client.Accounts(ctx, []solana.PublicKey{account}, chain.Confirmed)
		if err != nil {
			k.log.Warn().Err(err).Msg("the stake tokens for buy-backs cannot be counted")
			return
		}
		var n uint64
		if a := found[0]; a != nil && len(a.Data) >= amountOffset+8 {
			n = binary.LittleEndian.Uint64(a.Data[amountOffset:])
		}
		k.tokens.n.Store(n)
	})
}
