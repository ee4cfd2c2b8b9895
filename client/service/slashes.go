package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// SlashAudit is the history of a slash, rebuilt from its transactions, and whether it adds up.
type SlashAudit struct {
	Fault    string   `json:"fault,omitempty"`
	Proof    string   `json:"proof,omitempty" doc:"What was proven, of a slash without a fault"`
	Keeper   string   `json:"keeper,omitempty" doc:"Account of the keeper whose bond was slashed"`
	Node     string   `json:"node"`
	Lease    string   `json:"lease,omitempty"`
	Period   uint64   `json:"period"`
	Flags    []string `json:"flags"`
	State    string   `json:"state" doc:"open, voided, applied, proven, or not known"`
	Amount   string   `json:"amount" doc:"GNT"`
	Customer string   `json:"customer" doc:"GNT for those that were harmed"`
	Finder   string   `json:"finder"`
	Burned   string   `json:"burned"`
	OK       bool     `json:"ok" doc:"Everything is known to add up"`
	Outcome  string   `json:"outcome" enum:"right,wrong,unknown" doc:"unknown: not everything could be read, and nothing that was read is wrong"`
	Steps    []Step   `json:"steps"`
	Explorer string   `json:"explorer"`
}

// AuditSlash rebuilds the slashes of a fault, a node, or a keeper by its account or wallet. Errors: audit.ErrNoHistory where
// there was none.
func (s *Service) AuditSlash(ctx context.Context, address solana.PublicKey) ([]SlashAudit, error) {
	o, explorer, err := s.AuditOptions(ctx)
	if err != nil {
		return nil, err
	}
	slashes, err := audit.AuditSlash(ctx, o, address)
	if errors.Is(err, audit.ErrNoHistory) { // a keeper may be named by its wallet
		slashes, err = audit.AuditSlash(ctx, o, market.KeeperAddress(address))
	}
	if errors.Is(err, audit.ErrNoHistory) {
		return nil, &Failure{
			Code: CodeRefused, Reason: fmt.Sprintf("no fault of %s was ever opened and nothing was proven against it, as far as this node remembers", address),
			Advice: "give a fault, a node or a keeper", Cause: err,
		}
	}
	if errors.Is(err, chain.ErrUnreadable) {
		return nil, Unknown(err.Error(), err)
	}
	if err != nil {
		return nil, err
	}
	out := make([]SlashAudit, len(slashes))
	for i, x := range slashes {
		out[i] = SlashAudit{
			Fault: addressOf(x.Fault), Proof: x.Proof, Keeper: addressOf(x.Keeper), Node: x.Node.String(), Lease: addressOf(x.Lease), Period: x.Period,
			Flags: append([]string{}, x.Flags.Names()...), State: x.State, Amount: x.Amount.String(), Customer: x.Split.Pool.String(),
			Finder: x.Split.Finder.String(), Burned: x.Split.Burned.String(), OK: x.OK(), Outcome: string(x.Outcome()), Steps: DescribeSteps(x.Steps, explorer),
			Explorer: explorer.Address(cmp.Or(x.Keeper, x.Fault, x.Node)),
		}
	}
	return out, nil
}

// PastSlash is a slash that took effect.
type PastSlash struct {
	Address string `json:"address" doc:"Of the fault, or of the account of the keeper whose bond was slashed: what an audit of it takes"`
	Proof   string `json:"proof,omitempty" doc:"What was proven against a keeper; absent for a fault of a node"`
	Node    string `json:"node,omitempty" doc:"Whose stake was slashed; absent for a keeper's bond"`
	Lease   string `json:"lease,omitempty" doc:"That it is about"`
	Amount  string `json:"amount" doc:"GNT"`
	Harmed  string `json:"harmed" doc:"GNT for those that were harmed"`
	Finder  string `json:"finder"`
	Burned  string `json:"burned"`
	At      int64  `json:"at,omitempty"`
	Tx      string `json:"transaction"`
}

// PastSlashes are slashes that took effect.
type PastSlashes struct {
	Slashes []PastSlash `json:"slashes" doc:"The newest first"`
	Whole   bool        `json:"whole" doc:"There are no older ones, as far as the cluster's node remembers"`
	Unread  int         `json:"unreadable,omitempty" doc:"Transactions that could not be read: there may be other slashes in them"`
}

// PastSlashes lists the last slashes of the market, out of so many transactions at most.
func (s *Service) PastSlashes(ctx context.Context, most int) (PastSlashes, error) {
	o, _, err := s.AuditOptions(ctx)
	if err != nil {
		return PastSlashes{}, err
	}
	past, err := audit.PastSlashes(ctx, o, most)
	if err != nil {
		return PastSlashes{}, err
	}
	out := PastSlashes{Slashes: []PastSlash{}, Whole: !past.More, Unread: past.Unreadable}
	for _, x := range past.Slashes {
		out.Slashes = append(out.Slashes, PastSlash{
			Address: x.Address.String(), Proof: x.Proof, Node: addressOf(x.Node), Lease: addressOf(x.Lease), Amount: x.Amount.String(), Harmed: x.Split.Pool.String(),
			Finder: x.Split.Finder.String(), Burned: x.Split.Burned.String(), At: unixOf(x.Time), Tx: x.Signature.String(),
		})
	}
	return out, nil
}
