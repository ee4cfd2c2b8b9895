package rewards

import (
	"context"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// claimsPerTx keeps a transaction of claims far below its size limit.
const claimsPerTx = 6

// Send sends a transaction and waits for it.
type Send func(kind string, ixs []solana.Instruction) (service.Sent, error)

// earnedBy is what a keeper may claim: for awards, for votes, and by which reports.
func earnedBy(v *view.View, k *market.Keeper) (awards, votes market.USDC, periods []uint64) {
	periods = []uint64{}
	for _, r := range v.Reports() {
		if share := r.Share(k); share > 0 {
			votes += share
			periods = append(periods, r.Period)
		}
	}
	return market.USDC(k.Earned), votes, periods
}

// Claim is a claim.
type Claim struct {
	Keeper string         `json:"keeper"`
	Awards string         `json:"byAwards,omitempty"`
	Votes  string         `json:"byVotes,omitempty"`
	Total  string         `json:"total,omitempty"`
	Txs    []service.Sent `json:"transactions"`
	service.Moved
}

// ClaimFor pays a keeper what its awards and votes have earned; anyone may, and payer pays for the keeper's account of the
// token. v has the reports.
func ClaimFor(ctx context.Context, client *chain.Client, mk *market.Market, v *view.View, k *market.Keeper, payer solana.PublicKey, send Send) (Claim, error) {
	awards, votes, periods := earnedBy(v, k)
	if awards+votes == 0 {
		return Claim{}, service.Refused(fmt.Sprintf("keeper %s has nothing to claim", k.Wallet), "fees are shared after a report is final and its next period is over: gantry rewards show")
	}
	if len(periods) == 0 {
		periods = []uint64{0} // awards alone
	}
	out := Claim{Keeper: k.Wallet.String()}
	var byAwards, byVotes market.USDC
	for chunk := range slices.Chunk(periods, claimsPerTx) {
		ixs := []solana.Instruction{ix.CreateTokenAccount(payer, k.Wallet, mk.PaymentMint)}
		for _, p := range chunk {
			instruction, err := ix.RewardsClaim(ix.RewardsClaimArgs{Keeper: k.Wallet, PaymentMint: mk.PaymentMint, Period: p})
			if err != nil {
				return out, err
			}
			ixs = append(ixs, instruction)
		}
		tx, err := send("rewards_claim", ixs)
		if err != nil {
			return out, err
		}
		out.Txs = append(out.Txs, tx)
		for _, e := range service.EventsOf[bindings.RewardsClaimed](ctx, client, client.WaitLevel(), tx, &out.Moved) {
			byAwards, byVotes = byAwards+market.USDC(e.ByAwards), byVotes+market.USDC(e.ByVote)
		}
	}
	if out.Known() {
		out.Awards, out.Votes, out.Total = byAwards.Exact(), byVotes.Exact(), (byAwards + byVotes).Exact()
	}
	return out, nil
}

// Last is the signature of the last transaction.
func (c *Claim) Last() string { return c.Txs[len(c.Txs)-1].Signature }

// Emission is an emission.
type Emission struct {
	Provider string       `json:"provider"`         // wallet
	Staked   string       `json:"staked,omitempty"` // GNT
	Left     string       `json:"left,omitempty"`   // GNT that it may still claim
	Tx       service.Sent `json:"transaction"`
	service.Moved
}

// EmitDue says why nothing would be emitted for a provider now.
func EmitDue(ctx context.Context, s *service.Service, mk *market.Market, r *market.Rewards, p *market.Provider, now int64) error {
	switch {
	case p.Emission == 0 && mk.Params.EmissionBps == 0:
		return service.Refused("emission is off in this market", "governance switches it on: gantry market show")
	case p.Emission == 0:
		return service.Refused(fmt.Sprintf("provider %s has earned no emission", p.Wallet), "fees count when the lease that paid them is closed")
	}
	vault, err := s.TokenBalance(ctx, r.EmissionVault)
	if err != nil {
		return err
	}
	switch {
	case vault == 0:
		return service.Refused("the emission vault is empty", "the program mints nothing: somebody has to fill it")
	case r.Emission(market.GNT(p.Emission), &mk.Params, market.GNT(vault), now) == 0:
		return service.Refused("the day's emission is spent", "try again after midnight UTC")
	}
	return nil
}

// Emitted says what a claim of an emission has staked.
func Emitted(ctx context.Context, client *chain.Client, provider solana.PublicKey, tx service.Sent) Emission {
	out := Emission{Provider: provider.String(), Tx: tx}
	var staked, left market.GNT
	for _, e := range service.EventsOf[bindings.Emitted](ctx, client, client.WaitLevel(), tx, &out.Moved) {
		staked, left = staked+market.GNT(e.Amount), market.GNT(e.Left)
	}
	if out.Known() {
		out.Staked, out.Left = staked.String(), left.String()
	}
	return out
}

// BoughtBack says what a buy-back has burned and paid.
func BoughtBack(ctx context.Context, client *chain.Client, buyer solana.PublicKey, tx service.Sent) Bought {
	out := Bought{Buyer: buyer.String(), Tx: tx}
	for _, e := range service.EventsOf[bindings.BoughtBack](ctx, client, client.WaitLevel(), tx, &out.Moved) {
		out.Burned, out.Paid = market.GNT(e.Burned).String(), market.USDC(e.Paid).Exact()
	}
	return out
}
