package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// RewardsAccrueArgs split the fees swept so far. Treasury is Market.Treasury.
type RewardsAccrueArgs struct {
	Period   uint64 // of a final report whose voters share the keepers' part
	Treasury solana.PublicKey
}

// RewardsAccrue may be sent by anyone.
func RewardsAccrue(a RewardsAccrueArgs) (solana.Instruction, error) {
	ix, err := bindings.NewRewardsAccrueInstruction(market.MarketAddress(), market.RewardsAddress(), market.ReportAddress(a.Period), market.FeeVaultAddress(),
		a.Treasury, solana.TokenProgramID)
	return finish(ix, err)
}

// RewardsClaimArgs pay a keeper what it has earned.
type RewardsClaimArgs struct {
	Keeper      solana.PublicKey // wallet
	PaymentMint solana.PublicKey // its associated account of the wallet must exist: see CreateTokenAccount
	Period      uint64           // of a rewarded report that it voted for; 0 claims what awards have earned alone
}

// RewardsClaim may be sent by anyone; the money goes to the keeper.
func RewardsClaim(a RewardsClaimArgs) (solana.Instruction, error) {
	var report solana.PublicKey
	if a.Period != 0 {
		report = market.ReportAddress(a.Period)
	}
	ix, err := bindings.NewRewardsClaimInstruction(market.MarketAddress(), market.RewardsAddress(), market.KeeperAddress(a.Keeper), optional(report),
		market.FeeVaultAddress(), market.TokenAddress(a.Keeper, a.PaymentMint), solana.TokenProgramID)
	return finish(ix, err)
}

// RewardsBuyBackArgs burn stake tokens for the fees that wait for it.
type RewardsBuyBackArgs struct {
	Buyer                  solana.PublicKey // owner of both associated accounts
	PaymentMint, StakeMint solana.PublicKey
	MaxBurn                market.GNT // refuse when the price has begun anew meanwhile
}

// RewardsBuyBack takes all of Rewards.BuyBack; what it costs falls for a day: see Rewards.BuyBackCost.
func RewardsBuyBack(a RewardsBuyBackArgs) (solana.Instruction, error) {
	ix, err := bindings.NewRewardsBuyBackInstruction(uint64(a.MaxBurn), a.Buyer, market.MarketAddress(), market.RewardsAddress(), market.FeeVaultAddress(),
		a.StakeMint, market.TokenAddress(a.Buyer, a.StakeMint), market.TokenAddress(a.Buyer, a.PaymentMint), solana.TokenProgramID)
	return finish(ix, err)
}

// EmissionClaim turns fees that a provider's customers have paid into stake, where emission is on; anyone may. Provider
// is the provider's account.
func EmissionClaim(provider solana.PublicKey) (solana.Instruction, error) {
	ix, err := bindings.NewEmissionClaimInstruction(market.MarketAddress(), market.RewardsAddress(), market.EmissionVaultAddress(), provider,
		market.StakeVaultAddress(provider), solana.TokenProgramID)
	return finish(ix, err)
}
