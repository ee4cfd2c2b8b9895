package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// ProviderRegisterArgs make a wallet a provider.
type ProviderRegisterArgs struct {
	Wallet, PaymentMint, StakeMint solana.PublicKey
	Payout                         solana.PublicKey // payment-token account of the wallet; zero takes the associated one
}

// ProviderRegister opens the provider's account and stake vault.
func ProviderRegister(a ProviderRegisterArgs) (solana.Instruction, error) {
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewProviderRegisterInstruction(a.Wallet, market.MarketAddress(), a.StakeMint, provider,
		market.StakeVaultAddress(provider), or(a.Payout, market.TokenAddress(a.Wallet, a.PaymentMint)),
		solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}

// ProviderSetPayoutArgs name another token account of the wallet for its earnings.
type ProviderSetPayoutArgs struct{ Wallet, Payout solana.PublicKey }

// ProviderSetPayout redirects what is paid from now on.
func ProviderSetPayout(a ProviderSetPayoutArgs) (solana.Instruction, error) {
	ix, err := bindings.NewProviderSetPayoutInstruction(a.Wallet, market.MarketAddress(), market.ProviderAddress(a.Wallet), a.Payout)
	return finish(ix, err)
}

// ProviderStakeArgs add stake.
type ProviderStakeArgs struct {
	Wallet, StakeMint solana.PublicKey
	From              solana.PublicKey // zero takes the wallet's associated account
	Amount            market.GNT
}

// ProviderStake moves stake tokens of the wallet into the vault.
func ProviderStake(a ProviderStakeArgs) (solana.Instruction, error) {
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewProviderStakeInstruction(uint64(a.Amount), a.Wallet, market.MarketAddress(), provider,
		market.StakeVaultAddress(provider), or(a.From, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID)
	return finish(ix, err)
}

// ProviderRequestUnstakeArgs ask stake back that no node needs.
type ProviderRequestUnstakeArgs struct {
	Wallet solana.PublicKey
	Amount market.GNT
}

// ProviderRequestUnstake starts the cooldown, anew for what is already on its way out.
func ProviderRequestUnstake(a ProviderRequestUnstakeArgs) (solana.Instruction, error) {
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewProviderRequestUnstakeInstruction(uint64(a.Amount), a.Wallet, market.MarketAddress(), provider,
		market.StakeVaultAddress(provider))
	return finish(ix, err)
}

// WithdrawStakeArgs take stake or a bond out, or close a provider: To receives what the vault holds.
type WithdrawStakeArgs struct {
	Wallet, StakeMint solana.PublicKey
	To                solana.PublicKey // stake-token account of the wallet; zero takes the associated one
}

// ProviderWithdrawStake takes out stake whose cooldown has passed.
func ProviderWithdrawStake(a WithdrawStakeArgs) (solana.Instruction, error) {
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewProviderWithdrawStakeInstruction(a.Wallet, market.MarketAddress(), provider,
		market.StakeVaultAddress(provider), or(a.To, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID)
	return finish(ix, err)
}

// ProviderClose closes a provider that has nothing here any more.
func ProviderClose(a WithdrawStakeArgs) (solana.Instruction, error) {
	provider := market.ProviderAddress(a.Wallet)
	ix, err := bindings.NewProviderCloseInstruction(a.Wallet, market.MarketAddress(), provider,
		market.StakeVaultAddress(provider), or(a.To, market.TokenAddress(a.Wallet, a.StakeMint)), solana.TokenProgramID)
	return finish(ix, err)
}
