package governance

import (
	"context"
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/realm"
)

// Propose is the verb that takes changes.
const Propose = "propose"

// Verb is something that is done in a realm, and the arguments that it needs.
type Verb struct {
	Name, Usage string
	Args        []string
	Reads       bool // it needs no wallet and changes nothing
}

// ArgsText are its arguments, for a line of help.
func (v Verb) ArgsText() string { return strings.Join(v.Args, " ") }

// Verbs are all that is done in a realm.
var Verbs = []Verb{
	{"list", "rules and proposals", nil, true},
	{"show", "what a proposal does, with ready instructions", []string{"PROPOSAL"}, true},
	{"deposit", "let tokens of the wallet vote", []string{"GNT"}, false},
	{"withdraw", "take all of them back", nil, false},
	{Propose, "propose changes and open the vote", []string{"NAME"}, false},
	{"vote", "say yes or no with all deposited tokens; a member of the council says veto", []string{"PROPOSAL", "yes|no|veto"}, false},
	{"relinquish", "take a vote back, or free the tokens of one that is decided", []string{"PROPOSAL"}, false},
	{"cancel", "end a proposal of this wallet that is a draft or is voted on", []string{"PROPOSAL"}, false},
	{"advance", "count the votes, or execute the next change, when it is time; anyone may", []string{"PROPOSAL"}, false},
}

// Wish is what a wallet wants to do in a realm: a verb, the arguments that [Verbs] names, and for a proposal the files of its changes
// and the address of its reasons.
type Wish struct {
	Verb    string
	Args    []string
	Changes []string
	Link    string
}

// Do builds what is wished, as transactions that follow each other.
func (h *Holders) Do(ctx context.Context, wish Wish) ([]operate.Action, error) {
	switch wish.Verb {
	case "deposit":
		amount, err := market.ParseGNT(wish.Args[0])
		if err != nil {
			return nil, service.Usage(err.Error(), "give an amount such as 100")
		}
		return one(h.Deposit(ctx, amount))
	case "withdraw":
		return one(h.Withdraw(ctx))
	case Propose:
		changes, err := h.ReadChanges(wish.Changes)
		if err != nil {
			return nil, err
		}
		seed, err := solana.NewRandomPrivateKey() // nobody needs this key
		if err != nil {
			return nil, fmt.Errorf("seed of a proposal: %w", err)
		}
		all, _, err := h.Draft(ctx, seed.PublicKey(), wish.Args[0], wish.Link, changes)
		return all, err
	}
	p, all, err := h.named(ctx, wish.Args[0])
	if err != nil {
		return nil, err
	}
	switch wish.Verb {
	case "vote":
		return one(h.Vote(ctx, p, wish.Args[1]))
	case "relinquish":
		return one(h.Relinquish(p))
	case "cancel":
		return one(h.Cancel(p))
	}
	now, err := h.desk.Client.Now(ctx)
	if err != nil {
		return nil, err
	}
	return one(h.Advance(p, all, now))
}

func one(a operate.Action, err error) ([]operate.Action, error) { return []operate.Action{a}, err }

// named is the proposal at an address that somebody wrote, or the beginning of it.
func (h *Holders) named(ctx context.Context, name string) (*realm.Proposal, []*realm.Transaction, error) {
	if address, err := service.Address(name, "proposal"); err == nil {
		return h.Proposal(ctx, address)
	}
	all, err := h.Proposals(ctx)
	if err != nil {
		return nil, nil, err
	}
	addresses := make([]solana.PublicKey, len(all))
	for i, p := range all {
		addresses[i] = p.Address
	}
	address, err := service.PickAddress(name, "proposal", addresses)
	if err != nil {
		return nil, nil, err
	}
	return h.Proposal(ctx, address)
}
