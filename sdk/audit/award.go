package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
)

// Bought says of which order, node, provider and customer a lease was. Provider is an account, and the customer is known by its credits'
// account.
type Bought struct{ Order, Node, Provider, Credits solana.PublicKey }

const (
	// awardWithin bounds the history in which an award is looked for, and awardTries how many of its oldest transactions are read.
	awardWithin = 1000
	awardTries  = 3
)

// FindAward finds the award of a lease that may be closed: a successful transaction with the instruction that makes the lease's
// account. Errors: ErrNoHistory, also for a history of more than a thousand transactions; the source's.
func FindAward(ctx context.Context, src Source, lease solana.PublicKey, at chain.Commitment) (Bought, error) {
	infos, err := src.History(ctx, lease, at, awardWithin)
	if err != nil {
		return Bought{}, fmt.Errorf("history of %s: %w", lease, err)
	}
	if len(infos) < awardWithin {
		infos = slices.DeleteFunc(infos, func(i chain.SignatureInfo) bool { return i.Err != nil })
		slices.Reverse(infos)
		for i := range infos[:min(len(infos), awardTries)] {
			t, err := readOne(ctx, src, &infos[i], at)
			if ctx.Err() != nil {
				return Bought{}, ctx.Err()
			}
			if a, ok := awardOf(t, lease); ok && (err == nil || errors.Is(err, chain.ErrUnreadable)) { // its instruction is enough
				return a, nil
			}
		}
	}
	return Bought{}, fmt.Errorf("%w: no award of lease %s", ErrNoHistory, lease)
}

// awardOf is the award of a lease in a transaction.
func awardOf(t Tx, lease solana.PublicKey) (Bought, bool) {
	for _, in := range t.Instructions {
		for _, k := range awards {
			if in.is(k.kind, k.lease+1) && in.Accounts[k.lease] == lease {
				return Bought{in.Accounts[k.order], in.Accounts[k.node], in.Accounts[k.provider], in.Accounts[k.credits]}, true
			}
		}
	}
	return Bought{}, false
}

// awards are the instructions that make a lease, and the places of their accounts.
var awards = []struct {
	kind                                  [8]byte
	order, node, provider, credits, lease int
}{
	{
		bindings.Instruction_OrderAward, bindings.Place_OrderAward_Order, bindings.Place_OrderAward_Node, bindings.Place_OrderAward_Provider,
		bindings.Place_OrderAward_Credits, bindings.Place_OrderAward_Lease,
	},
	{
		bindings.Instruction_AuctionAward, bindings.Place_AuctionAward_Order, bindings.Place_AuctionAward_Node, bindings.Place_AuctionAward_Provider,
		bindings.Place_AuctionAward_Credits, bindings.Place_AuctionAward_Lease,
	},
	{
		bindings.Instruction_LeaseMigrate, bindings.Place_LeaseMigrate_Order, bindings.Place_LeaseMigrate_Node, bindings.Place_LeaseMigrate_Provider,
		bindings.Place_LeaseMigrate_Credits, bindings.Place_LeaseMigrate_Lease,
	},
}
