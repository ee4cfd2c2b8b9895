package audit

import (
	"context"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
)

// PastSlash is a slash that took effect, as its transaction says. AuditSlash of its Address checks it.
type PastSlash struct {
	// Address is what AuditSlash takes: the fault, or the account of the keeper whose bond was slashed.
	Address   solana.PublicKey
	Proof     string           // what was proven; empty for a fault
	Node      solana.PublicKey // zero for a keeper's bond
	Lease     solana.PublicKey // zero where it is about none
	Amount    market.GNT
	Split     market.Split
	Time      time.Time
	Signature solana.Signature
}

// PastSlashes reads the last slashes of the market out of so many of its last payouts' transactions, 0 for all; the newest
// first. Every slash whose stake is shared names the vault of the payouts; a machine
// that was reported dead, and a deposit that was forfeited, name none and are not among them. Errors: the source's.
func PastSlashes(ctx context.Context, o Options, most int) (*Past, error) {
	txs, more, err := ReadLast(ctx, o.Source, market.PayoutVaultAddress(), o.Commitment, most)
	if err != nil {
		return nil, err
	}
	p := &Past{More: more}
	for _, t := range txs {
		if t.unreadCall(market.PayoutVaultAddress(), paysOut...) {
			p.Unreadable++
		}
		p.Slashes = append(p.Slashes, slashesOf(t)...)
	}
	slices.Reverse(p.Slashes)
	return p, nil
}

// Past are slashes that took effect.
type Past struct {
	Slashes []PastSlash // the newest first
	// More says that there may be older ones; Unreadable counts the transactions that could not be read and may hold others.
	More       bool
	Unreadable int
}

// paysOut are the instructions that slash and share what they slashed.
var paysOut = [][8]byte{
	bindings.Instruction_SlashApply, bindings.Instruction_ProveEquivocation, bindings.Instruction_ProveBetterAsk, bindings.Instruction_ProveOmittedBid,
}

// slashesOf are the slashes of one transaction.
func slashesOf(t Tx) (out []PastSlash) {
	for _, e := range t.Events {
		s := PastSlash{Time: t.Time, Signature: t.Signature}
		switch v := e.Value.(type) {
		case *bindings.SlashApplied:
			s.Address, s.Amount = v.Fault, market.GNT(v.Amount)
			s.Split = market.Split{Pool: market.GNT(v.Pool), Finder: market.GNT(v.Finder), Burned: market.GNT(v.Burned)}
			s.Node, s.Lease = appliedTo(t, v.Fault)
		case *bindings.EquivocationProven:
			s.Address, s.Proof, s.Lease, s.Amount = v.Keeper, ProvenEquivocation, v.Lease, market.GNT(v.Amount)
			if v.Kind == market.EquivocatingManifests {
				s.Proof = ProvenManifestEquivocation
			}
			s.Split = market.Split{Finder: market.GNT(v.FinderShare), Burned: market.GNT(v.Burned)}
		case *bindings.UnjustAwardProven:
			s.Address, s.Proof, s.Lease, s.Amount = v.Keeper, ProvenUnjustAward, v.Lease, market.GNT(v.Amount)
			s.Split = market.Split{Finder: market.GNT(v.FinderShare), Burned: market.GNT(v.Burned)}
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// appliedTo are the node and the lease of a fault that a transaction applies; the lease is zero for a fault of the machine.
func appliedTo(t Tx, fault solana.PublicKey) (node, lease solana.PublicKey) {
	for _, in := range t.Instructions {
		if !in.is(bindings.Instruction_SlashApply, bindings.Place_SlashApply_Fault+1) || in.Accounts[bindings.Place_SlashApply_Fault] != fault {
			continue
		}
		if lease = in.Accounts[bindings.Place_SlashApply_Lease]; lease == market.ProgramID { // how an absent account is written
			lease = solana.PublicKey{}
		}
		return in.Accounts[bindings.Place_SlashApply_Node], lease
	}
	return node, lease
}
