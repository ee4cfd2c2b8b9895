package ix

import (
	"fmt"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/token"

	"github.com/gantry-market/gantry/sdk/market"
)

// GatewayPaymentArgs move tokens of a wallet, who signs, to another wallet's associated account.
type GatewayPaymentArgs struct {
	From, To, Mint solana.PublicKey
	Amount         market.USDC
	// Purpose is that of the payment: records.Payment.
	Purpose solana.PublicKey
}

// GatewayPayment is the token program's own transfer, with the purpose as one more account, which the token program passes
// over: it binds the transfer to the purpose, and the chain's index finds it again.
func GatewayPayment(a GatewayPaymentArgs) (solana.Instruction, error) {
	transfer, err := token.NewTransferCheckedInstruction(uint64(a.Amount), market.USDCDecimals, market.TokenAddress(a.From, a.Mint), a.Mint,
		market.TokenAddress(a.To, a.Mint), a.From, nil).ValidateAndBuild()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInstruction, err)
	}
	data, err := transfer.Data()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInstruction, err)
	}
	accounts := append(solana.AccountMetaSlice(transfer.Accounts()), solana.NewAccountMeta(a.Purpose, false, false))
	return solana.NewInstruction(solana.TokenProgramID, accounts, data), nil
}
