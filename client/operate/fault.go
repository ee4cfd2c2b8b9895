package operate

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/records"
)

// Fault is the fault at an address.
func (d *Desk) Fault(ctx context.Context, address solana.PublicKey) (market.Fault, error) {
	f, ok, err := query.Find[market.Fault](ctx, d.Client, address, d.Client.Commitment())
	if err == nil && !ok {
		err = service.Refused(fmt.Sprintf("fault %s does not exist (any more)", address), "its history: gantry audit slash "+address.String())
	}
	return f, err
}

// ApplyFault applies a fault whose appeal window has passed.
func (d *Desk) ApplyFault(ctx context.Context, f *market.Fault) (Action, error) {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	if f.Applied() {
		return Action{}, service.Refused("the fault was applied", "what it pays: gantry fault compensate")
	}
	if f.CanApply(now) != nil {
		return Action{}, service.Refused(fmt.Sprintf("the appeal window is open until %s UTC, %s more", service.When(f.ApplicableAt), service.Span(f.ApplicableAt-now)), "come back then")
	}
	instruction, err := ix.SlashApply(ix.SlashApplyArgs{Payer: d.Key, Fault: *f, StakeMint: d.Market.StakeMint})
	return NewAction("slash_apply", f.Address, fmt.Sprintf("%s GNT slashed   how it was split: gantry audit slash %s", market.GNT(f.Amount), f.Address), instruction, err)
}

// Compensate has an applied fault compensate a lease.
func (d *Desk) Compensate(f *market.Fault, l *market.Lease) (Action, error) {
	if err := f.CanCompensate(l); err != nil {
		return Action{}, service.Refused(fmt.Sprintf("the fault pays nothing for lease %s: %v", l.Address, err), "gantry fault list")
	}
	instruction, err := ix.SlashCompensate(ix.SlashCompensateArgs{Payer: d.Key, Fault: *f, Lease: *l})
	return NewAction("slash_compensate", f.Address, fmt.Sprintf("lease %s has its part, in a payout of its customer", l.Address), instruction, err)
}

// CloseFault burns what nobody has claimed of an applied fault.
func (d *Desk) CloseFault(ctx context.Context, f *market.Fault) (Action, error) {
	now, err := d.Client.Now(ctx)
	if err != nil {
		return Action{}, err
	}
	if f.CanClose(now) != nil {
		return Action{}, service.Refused("the fault may still be appealed or claimed from", "gantry fault list")
	}
	instruction, err := ix.SlashClose(*f, d.Market.StakeMint)
	return NewAction("slash_close", f.Address, fmt.Sprintf("%s GNT burned", market.GNT(f.PoolLeft)), instruction, err)
}

// Statement is a keeper's signed statement.
type Statement struct {
	Keeper    solana.PublicKey // its wallet
	Statement records.CheckStatement
	Signature solana.Signature
}

// ParseStatement reads a keeper's statement: its wallet, the statement in hex and the signature in base58. Error: a
// [service.Failure].
func ParseStatement(keeper, statement, signature string) (s Statement, err error) {
	const bytes = "give the 144 bytes that the keeper signed"
	raw, err := hex.DecodeString(statement)
	if err != nil {
		return s, service.Usage("--statement is not hex", bytes)
	}
	if s.Statement, err = records.DecodeStatement(raw); err != nil {
		return s, service.Usage("--statement: "+err.Error(), bytes)
	}
	if s.Signature, err = solana.SignatureFromBase58(signature); err != nil {
		return s, service.Usage("--signature is not a base58 signature", "")
	}
	s.Keeper, err = service.Address(keeper, "keeper's wallet")
	return s, err
}

// Appeal brings a keeper's signed statement that contradicts a fault.
func (d *Desk) Appeal(ctx context.Context, f *market.Fault, s Statement) (Action, error) {
	by, err := d.SignerOf(ctx, s.Keeper, func(key solana.PublicKey) error { return s.Statement.Verify(key, s.Signature) })
	if err != nil {
		return Action{}, err
	}
	if by.IsZero() {
		return Action{}, service.Usage("the signature is not the keeper's over this statement", "check --keeper, --statement and --signature")
	}
	ixs, err := ix.SlashAppeal(ix.SlashAppealArgs{Fault: *f, Keeper: s.Keeper, Signer: by, Statement: s.Statement, Signature: s.Signature})
	return Action{Kind: "slash_appeal", Of: f.Address, Did: "appealed", Instructions: ixs}, err
}

// SignerOf is the key of a keeper with which verify has no error; zero when there is none.
func (d *Desk) SignerOf(ctx context.Context, keeper solana.PublicKey, verify func(solana.PublicKey) error) (solana.PublicKey, error) {
	k, known, err := query.Find[market.Keeper](ctx, d.Client, market.KeeperAddress(keeper), d.Client.WaitLevel())
	if err != nil || !known {
		return solana.PublicKey{}, err
	}
	for _, key := range k.Liable(d.Service.Clock.Latest(ctx).Unix()) {
		if verify(key) == nil {
			return key, nil
		}
	}
	return solana.PublicKey{}, nil
}
