package ix

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// CreditsArgs move a customer's money. Tokens is the customer's token account; zero takes the associated one.
type CreditsArgs struct {
	Customer, PaymentMint solana.PublicKey
	Tokens                solana.PublicKey
	Amount                market.USDC // not used by CreditsClose
}

func (a CreditsArgs) tokens() solana.PublicKey {
	return or(a.Tokens, market.TokenAddress(a.Customer, a.PaymentMint))
}

// CreditsDeposit puts money in; the first deposit opens the account.
func CreditsDeposit(a CreditsArgs) (solana.Instruction, error) {
	credits := market.CreditsAddress(a.Customer)
	ix, err := bindings.NewCreditsDepositInstruction(uint64(a.Amount), a.Customer, market.MarketAddress(), a.PaymentMint, credits,
		market.CreditsVaultAddress(credits), a.tokens(), solana.TokenProgramID, solana.SystemProgramID)
	return finish(ix, err)
}

// CreditsWithdraw takes out what no order and no lease holds.
func CreditsWithdraw(a CreditsArgs) (solana.Instruction, error) {
	credits := market.CreditsAddress(a.Customer)
	ix, err := bindings.NewCreditsWithdrawInstruction(uint64(a.Amount), a.Customer, market.MarketAddress(), credits,
		market.CreditsVaultAddress(credits), a.tokens(), solana.TokenProgramID)
	return finish(ix, err)
}

// SessionKeyArgs name a key that may spend for the customer, who signs.
type SessionKeyArgs struct {
	Customer, Key solana.PublicKey
	Cap           market.USDC // of all that the key reserves; 0 removes the key
	Expiry        int64       // unix second from which the key may do nothing
}

// CreditsSetSessionKey names, changes or removes a session key.
func CreditsSetSessionKey(a SessionKeyArgs) (solana.Instruction, error) {
	ix, err := bindings.NewCreditsSetSessionKeyInstruction(a.Key, uint64(a.Cap), a.Expiry, a.Customer, market.CreditsAddress(a.Customer))
	return finish(ix, err)
}

// CreditsClose takes everything out, rent included.
func CreditsClose(a CreditsArgs) (solana.Instruction, error) {
	credits := market.CreditsAddress(a.Customer)
	ix, err := bindings.NewCreditsCloseInstruction(a.Customer, market.MarketAddress(), credits, market.CreditsVaultAddress(credits),
		a.tokens(), solana.TokenProgramID)
	return finish(ix, err)
}
