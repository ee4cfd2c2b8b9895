// Package operate builds the transactions of those who operate the market: owners of machines, keepers, and whoever
// applies a fault; and what customers do with their credits, orders and settled leases. It refuses what the program would refuse, with the reason and what to do.
package operate

import (
	"context"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// Action is a transaction that waits to be sent.
type Action struct {
	Kind         string
	Instructions []solana.Instruction
	// Of is the wallet of the keeper, provider or customer, or the address of the account, that it is about.
	Of solana.PublicKey
	// Asks is what its signer has to agree to; empty where it moves no money.
	Asks string
	// Did is what it has done once it took effect.
	Did string
}

// Desk builds actions that one key sends. Its errors are service.Failure where an action would be refused, and those of the chain.
type Desk struct {
	Client  *chain.Client
	Service *service.Service
	Market  market.Market
	Key     solana.PublicKey
}

// account is the instruction that makes the wallet's account of a token, where it has none.
func (d *Desk) account(mint solana.PublicKey) solana.Instruction {
	return ix.CreateTokenAccount(d.Key, d.Key, mint)
}

// HasGNT refuses an amount that a wallet does not hold; what it is for begins the reason.
func HasGNT(ctx context.Context, s *service.Service, what string, wallet, mint solana.PublicKey, amount market.GNT) error {
	have, err := s.TokenBalance(ctx, market.TokenAddress(wallet, mint))
	if err == nil && have < uint64(amount) {
		err = service.Refused(fmt.Sprintf("%s refused: %s GNT asked, the wallet %s holds %s", what, amount, wallet, market.GNT(have)),
			fmt.Sprintf("send %s GNT (mint %s) to it first", amount-market.GNT(have), mint))
	}
	return err
}

// NewAction is what builders of instructions return, as an action; before are instructions that come first.
func NewAction(kind string, of solana.PublicKey, did string, instruction solana.Instruction, err error, before ...solana.Instruction) (Action, error) {
	if err != nil {
		return Action{}, err
	}
	return Action{Kind: kind, Of: of, Did: did, Instructions: append(before, instruction)}, nil
}
