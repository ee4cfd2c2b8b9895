package wallet

import (
	"context"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// BuildDeposit builds a deposit that a wallet fetches, signs and sends by itself, with the reference as one more
// account of the instruction, which the program passes over: the chain's index finds the transaction by it. Wallets
// put a blockhash of their own in, so that what they send is not what was built, and Submit does not know it. Errors:
// service.Failure, those of the chain and of the program, which has tried it out.
func (b *Builder) BuildDeposit(ctx context.Context, amount market.USDC, reference solana.PublicKey) (Transaction, error) {
	_, exists, err := query.Find[market.Credits](ctx, b.o.Client, market.CreditsAddress(b.o.Customer), b.o.Client.Commitment())
	if err != nil {
		return Transaction{}, err
	}
	p := &plan{}
	if err := b.depositOf(ctx, p, amount, exists); err != nil {
		return Transaction{}, err
	}
	if reference.IsZero() {
		t, _, err := b.build(ctx, p)
		return t, err
	}
	last := len(p.instructions) - 1
	data, err := p.instructions[last].Data()
	if err != nil {
		return Transaction{}, err
	}
	accounts := append(solana.AccountMetaSlice(p.instructions[last].Accounts()), solana.NewAccountMeta(reference, false, false))
	p.instructions[last] = solana.NewInstruction(p.instructions[last].ProgramID(), accounts, data)
	t, _, err := b.build(ctx, p)
	return t, err
}
