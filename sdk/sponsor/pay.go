package sponsor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/system"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txerr"
	"github.com/gantry-market/gantry/sdk/txm"
)

// probe is what a wallet is lent in a simulation, to see how much of it goes into rent. No transaction of a customer takes more.
const probe chain.Lamports = 20_000_000

// Chain is what is read of the chain.
type Chain interface {
	Balance(ctx context.Context, key solana.PublicKey, level chain.Commitment) (chain.Lamports, error)
	MinimumRent(ctx context.Context, size uint64, at chain.Commitment) (chain.Lamports, error)
}

// Manager is what tries transactions out. *txm.Manager implements it.
type Manager interface {
	Leaves(ctx context.Context, in txm.Intent, key solana.PublicKey) (chain.Lamports, error)
	Get(id string) (txm.Entry, error)
}

// Begun is an intent as an earlier command has stored it, with who pays and what is sent to the wallet before; the intent itself
// where none has. c may be nil.
func (c *Client) Begun(m Manager, in txm.Intent) (out txm.Intent, begun bool) {
	e, err := m.Get(in.ID)
	if err != nil || e.State == txm.StateFailed && !e.Failure.Uncertain {
		return in, false
	}
	in.Payer = e.Payer
	if len(e.Instructions) == len(in.Instructions)+1 {
		in.Instructions = append([]solana.Instruction{e.Instructions[0]}, in.Instructions...)
	}
	if c != nil {
		c.paid(e.Payer)
	}
	return in, true
}

// Pay has the sponsor pay the fee of an intent, and what the wallet lacks for its rent. Errors: *Failure, those of the
// chain, and of the program, which would refuse the transaction.
func (c *Client) Pay(ctx context.Context, on Chain, m Manager, in txm.Intent, wallet solana.PublicKey) (txm.Intent, error) {
	payer, err := c.Payer(ctx)
	if err != nil {
		return in, err
	}
	if payer == wallet {
		return in, &Failure{Reason: "the sponsor pays with the key of your own wallet", Advice: "leave --sponsor and GANTRY_SPONSOR out"}
	}
	has, err := on.Balance(ctx, wallet, chain.Processed)
	if err != nil {
		return in, err
	}
	alive, err := on.MinimumRent(ctx, 0, chain.Processed)
	if err != nil {
		return in, err
	}
	lent := in
	lent.Payer, lent.Instructions = payer, before(in.Instructions, payer, wallet, probe)
	left, err := m.Leaves(ctx, lent, wallet)
	if err != nil {
		return in, broke(err, payer)
	}
	in.Payer = payer
	if n := missing(has, has+probe, left, alive); n > 0 {
		in.Instructions = before(in.Instructions, payer, wallet, n)
	}
	return in, nil
}

// missing is what a wallet that has so much lacks for a transaction that leaves so much of what was lent: afterwards the wallet has
// nothing, or what keeps it alive.
func missing(has, lent, left, alive chain.Lamports) chain.Lamports {
	if left >= lent {
		return 0
	}
	rent := lent - left
	switch {
	case has < rent:
		return rent - has
	case has == rent || has-rent >= alive:
		return 0
	}
	return min(rent, alive-(has-rent))
}

func before(all []solana.Instruction, from, to solana.PublicKey, amount chain.Lamports) []solana.Instruction {
	return append([]solana.Instruction{system.NewTransferInstruction(uint64(amount), from, to).Build()}, slices.Clone(all)...)
}

// broke says so where the sponsor has too little SOL.
func broke(err error, payer solana.PublicKey) error {
	var pe *txerr.ProgramError
	if errors.Is(err, txm.ErrNoFunds) || errors.As(err, &pe) && pe.InstructionIndex == 0 && pe.Program == solana.SystemProgramID {
		return &Failure{Reason: fmt.Sprintf("the sponsor %s has too little SOL left", payer), Advice: "tell who runs it, or pay fees and rent with SOL of your own: leave --sponsor and GANTRY_SPONSOR out", Cause: err}
	}
	return err
}
