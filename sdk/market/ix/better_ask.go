package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// ProveBetterAsk slashes the keeper that made the award; anyone may, until the challenge window closes. The finder's
// share waits in its payout.
func ProveBetterAsk(b market.BetterAsk, finder solana.PublicKey) (solana.Instruction, error) {
	keeper := market.KeeperAddress(b.Lease.Keeper)
	ix, err := bindings.NewProveBetterAskInstruction(finder, market.MarketAddress(), b.Order.Address, b.Lease.Address, b.Better.Address,
		b.Better.Provider, market.ModelAddress(b.Better.Spec.Model), keeper, market.StakeVaultAddress(keeper), market.RewardsAddress(),
		market.PayoutVaultAddress(), b.Market.StakeMint, market.PayoutAddress(finder, keeper), solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}
