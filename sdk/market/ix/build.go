// Package ix builds the instructions of the market program: one function for each, with a struct of arguments where
// more than an account is needed. Functions that return several instructions return what belongs into one transaction,
// in this order.
package ix

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// ErrInstruction is the error of arguments from which no instruction can be built.
var ErrInstruction = errors.New("instruction cannot be built")

// finish completes an instruction of the generated builders, which know neither remaining accounts nor absent ones.
func finish(ix solana.Instruction, err error, remaining ...*solana.AccountMeta) (solana.Instruction, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInstruction, err)
	}
	data, err := ix.Data()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInstruction, err)
	}
	accounts := append(solana.AccountMetaSlice(ix.Accounts()), remaining...)
	// The program reads an absent optional account as its own address, which is never writable.
	for i, a := range accounts {
		if a.PublicKey == market.ProgramID && (a.IsWritable || a.IsSigner) {
			accounts[i] = solana.NewAccountMeta(market.ProgramID, false, false)
		}
	}
	return solana.NewInstruction(market.ProgramID, accounts, data), nil
}

// optional stands in for an account that a call does without.
func optional(key solana.PublicKey) solana.PublicKey {
	if key.IsZero() {
		return market.ProgramID
	}
	return key
}

// or returns the first key that is set.
func or(key, otherwise solana.PublicKey) solana.PublicKey {
	if key.IsZero() {
		return otherwise
	}
	return key
}
