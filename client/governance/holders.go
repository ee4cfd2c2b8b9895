package governance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/realm"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Holders is a realm whose treasury governs the market, as a wallet sees it.
type Holders struct {
	Realm realm.Realm
	Rules realm.Rules
	// Circulating are the base units that votes are weighed against; 0 where it is a share of the supply.
	Circulating market.GNT
	desk        *operate.Desk
}

// FindHolders finds the realm of an instance of SPL Governance whose treasury is named, or, where none is, is the market's authority.
func FindHolders(ctx context.Context, d *operate.Desk, instance, named string) (*Holders, error) {
	program, err := solana.PublicKeyFromBase58(instance)
	if err != nil {
		return nil, service.Usage(fmt.Sprintf("--governance-program %q is not an address", instance), "")
	}
	if d.Market, err = d.Service.Load(ctx); err != nil {
		return nil, err
	}
	wanted := d.Market.Authority
	if named != "" {
		if wanted, err = solana.PublicKeyFromBase58(named); err != nil {
			return nil, service.Usage(fmt.Sprintf("--treasury %q is not an address", named), "see: gantry governance list")
		}
	}
	of := chain.Filter{Prefix: []byte{realm.KindGovernance}, Fields: []chain.Field{{Offset: realm.OffsetGoverned, Bytes: market.ProgramID[:]}}}
	found, _, err := d.Client.ProgramAccounts(ctx, program, d.Client.WaitLevel(), of)
	if err != nil {
		return nil, err
	}
	for _, account := range found {
		if realm.TreasuryOf(program, account.Key) == wanted {
			return holders(ctx, d, program, account)
		}
	}
	return nil, service.Refused(fmt.Sprintf("%s is not the treasury of a realm of %s: no holders govern this market", wanted, program),
		"see who governs: gantry market show; another instance of SPL Governance is named with --governance-program, a realm before the hand-over with --treasury")
}

func holders(ctx context.Context, d *operate.Desk, program solana.PublicKey, account chain.Account) (*Holders, error) {
	h := &Holders{desk: d}
	address, governed, rules, err := realm.DecodeGovernance(account.Key, account.Data)
	if err != nil {
		return nil, err
	}
	h.Rules = rules
	held, err := d.Client.Account(ctx, address, d.Client.WaitLevel())
	if err != nil {
		return nil, err
	}
	community, council, weight, absolute, err := realm.DecodeRealm(address, held.Data)
	switch {
	case err != nil:
		return nil, err
	case community != d.Market.StakeMint:
		return nil, service.Refused(fmt.Sprintf("holders of %s vote in realm %s, and not those of the stake token %s", community, address, d.Market.StakeMint), "trust no vote of that realm")
	case absolute:
		h.Circulating = market.GNT(weight)
	}
	h.Realm = realm.Of(program, address, governed, community, council)
	return h, nil
}

// Proposals are those of the realm, the newest first.
func (h *Holders) Proposals(ctx context.Context) ([]*realm.Proposal, error) {
	of := chain.Filter{Prefix: []byte{realm.KindProposal}, Fields: []chain.Field{{Offset: realm.OffsetGovernance, Bytes: h.Realm.Governance[:]}}}
	found, _, err := h.desk.Client.ProgramAccounts(ctx, h.Realm.Program, h.desk.Client.WaitLevel(), of)
	if err != nil {
		return nil, err
	}
	out := make([]*realm.Proposal, 0, len(found))
	for _, account := range found {
		p, err := realm.DecodeProposal(account.Key, account.Data)
		if errors.Is(err, realm.ErrAccount) {
			continue // of several choices: such a one executes nothing of ours
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *realm.Proposal) int {
		return cmp.Or(cmp.Compare(b.VotingAt, a.VotingAt), cmp.Compare(a.Address.String(), b.Address.String()))
	})
	return out, nil
}

// Proposal is one of them, with its transactions in order.
func (h *Holders) Proposal(ctx context.Context, address solana.PublicKey) (*realm.Proposal, []*realm.Transaction, error) {
	account, err := h.desk.Client.Account(ctx, address, h.desk.Client.WaitLevel())
	if errors.Is(err, chain.ErrAccountNotFound) {
		return nil, nil, service.Refused(fmt.Sprintf("proposal %s does not exist", address), "see: gantry governance list")
	}
	if err != nil {
		return nil, nil, err
	}
	p, err := realm.DecodeProposal(address, account.Data)
	if err != nil {
		return nil, nil, err
	}
	if account.Owner != h.Realm.Program || p.Governance != h.Realm.Governance {
		return nil, nil, service.Refused(fmt.Sprintf("%s is not a proposal of this market's holders", address), "see: gantry governance list")
	}
	of := chain.Filter{Prefix: []byte{realm.KindTransaction}, Fields: []chain.Field{{Offset: realm.OffsetProposal, Bytes: address[:]}}}
	found, _, err := h.desk.Client.ProgramAccounts(ctx, h.Realm.Program, h.desk.Client.WaitLevel(), of)
	if err != nil {
		return nil, nil, err
	}
	var all []*realm.Transaction
	for _, account := range found {
		t, err := realm.DecodeTransaction(account.Key, account.Data)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *realm.Transaction) int { return cmp.Compare(a.Index, b.Index) })
	return p, all, nil
}

// Voter is the deposit of the desk's key; nil for none.
func (h *Holders) Voter(ctx context.Context) (*realm.Voter, error) {
	at := h.Realm.Record(h.Realm.Community, h.desk.Key)
	account, err := h.desk.Client.Account(ctx, at, h.desk.Client.WaitLevel())
	switch {
	case errors.Is(err, chain.ErrAccountNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return realm.DecodeVoter(at, account.Data)
}

// Deposit brings stake tokens of the wallet into the realm.
func (h *Holders) Deposit(ctx context.Context, amount market.GNT) (operate.Action, error) {
	if amount == 0 {
		return operate.Action{}, service.Usage("an amount of 0 moves nothing", "give an amount such as 100")
	}
	if err := operate.HasGNT(ctx, h.desk.Service, "deposit", h.desk.Key, h.Realm.Community, amount); err != nil {
		return operate.Action{}, err
	}
	from := market.TokenAddress(h.desk.Key, h.Realm.Community)
	a, err := operate.NewAction("governance_deposit", h.desk.Key, fmt.Sprintf("%s GNT can vote", amount), h.Realm.Deposit(h.Realm.Community, h.desk.Key, from, uint64(amount)), nil)
	a.Asks = fmt.Sprintf("deposit  %s GNT of the wallet into the realm of SPL Governance; they come back when none of your votes is open", amount)
	return a, err
}

// Withdraw brings all of the wallet's tokens back.
func (h *Holders) Withdraw(ctx context.Context) (operate.Action, error) {
	v, err := h.Voter(ctx)
	switch {
	case err != nil:
		return operate.Action{}, err
	case v == nil || v.Deposit == 0:
		return operate.Action{}, service.Refused("nothing is deposited by this wallet", "deposit with: gantry governance deposit AMOUNT")
	case v.Votes > 0 || v.Proposals > 0:
		return operate.Action{}, service.Refused(fmt.Sprintf("%d votes and %d proposals of this wallet are open", v.Votes, v.Proposals),
			"take votes back with: gantry governance relinquish PROPOSAL; a proposal ends with: gantry governance advance PROPOSAL; a draft with: gantry governance cancel PROPOSAL")
	}
	to := market.TokenAddress(h.desk.Key, h.Realm.Community)
	return operate.NewAction("governance_withdraw", h.desk.Key, fmt.Sprintf("%s GNT are back in the wallet", market.GNT(v.Deposit)), h.Realm.Withdraw(h.desk.Key, to), nil,
		ix.CreateTokenAccount(h.desk.Key, h.desk.Key, h.Realm.Community))
}

// Vote says yes or no with all that the wallet has deposited, or vetoes as a member of the council.
func (h *Holders) Vote(ctx context.Context, p *realm.Proposal, word string) (operate.Action, error) {
	vote, ok := map[string]realm.Vote{"yes": realm.Yes, "no": realm.No, "veto": realm.Veto}[word]
	if !ok {
		return operate.Action{}, service.Usage(fmt.Sprintf("%q is not a vote", word), "write yes or no; a member of the council writes veto")
	}
	if p.State != realm.Voting {
		return operate.Action{}, service.Refused(fmt.Sprintf("nobody votes on a proposal that is %s", p.State), "see: gantry governance list")
	}
	v, err := h.Voter(ctx)
	if err != nil {
		return operate.Action{}, err
	}
	if vote != realm.Veto && (v == nil || v.Deposit == 0) {
		return operate.Action{}, service.Refused("this wallet has deposited no GNT, so that its vote weighs nothing", "deposit with: gantry governance deposit AMOUNT")
	}
	did := fmt.Sprintf("voted %s; take it back with: gantry governance relinquish %s", word, p.Address)
	return operate.NewAction("governance_vote", p.Address, did, h.Realm.Cast(p, h.desk.Key, vote), nil)
}

// Relinquish takes a vote back, or frees the tokens of a vote that is decided.
func (h *Holders) Relinquish(p *realm.Proposal) (operate.Action, error) {
	return operate.NewAction("governance_relinquish", p.Address, "the vote holds your tokens no more", h.Realm.Relinquish(p.Address, h.desk.Key), nil)
}

// Cancel ends a proposal of the wallet that is not decided. A draft that lost its connection ends so: it keeps its author's tokens otherwise.
func (h *Holders) Cancel(p *realm.Proposal) (operate.Action, error) {
	cancel, err := h.Realm.Cancel(p, h.desk.Key)
	return operate.NewAction("governance_cancel", p.Address, "the proposal is cancelled", cancel, refused(err))
}

// refused is an error of what is not sent, for people.
func refused(err error) error {
	if errors.Is(err, realm.ErrRefused) {
		return service.Refused(err.Error(), "see: gantry governance list")
	}
	return err
}

// Draft is a proposal that the wallet makes: one transaction that creates it, one for each of its changes, and one that opens the vote.
func (h *Holders) Draft(ctx context.Context, seed solana.PublicKey, name, link string, changes []solana.Instruction) ([]operate.Action, solana.PublicKey, error) {
	address := h.Realm.Proposal(seed)
	v, err := h.Voter(ctx)
	if err != nil {
		return nil, address, err
	}
	if v == nil || v.Deposit < h.Rules.ToPropose {
		return nil, address, service.Refused(fmt.Sprintf("a proposal needs %s GNT that its author has deposited", market.GNT(h.Rules.ToPropose)), "deposit with: gantry governance deposit AMOUNT")
	}
	form := txform.Legacy
	if takes, err := h.desk.Client.FeatureActive(ctx, txform.Gate); err != nil {
		return nil, address, err
	} else if takes {
		form = txform.VersionOne
	}
	create, _ := operate.NewAction("governance_propose", address, "drafted", h.Realm.Draft(h.desk.Key, seed, name, link), nil)
	inserts, err := h.Realm.Inserts(form, address, h.desk.Key, h.Rules.HoldUp, changes)
	if err != nil {
		return nil, address, refused(err)
	}
	out := []operate.Action{create}
	for _, insert := range inserts {
		out = append(out, operate.Action{Kind: "governance_insert", Of: address, Did: "change added", Instructions: []solana.Instruction{insert}})
	}
	did := fmt.Sprintf("proposal %s is open for votes for %s; vote with: gantry governance vote %s yes", address, market.Seconds(h.Rules.Voting), address)
	return append(out, operate.Action{Kind: "governance_sign_off", Of: address, Did: did, Instructions: []solana.Instruction{h.Realm.SignOff(address, h.desk.Key)}}), address, nil
}

// Advance is what can be done with a proposal at this time, by anyone: counting its votes, or executing its next transaction.
func (h *Holders) Advance(p *realm.Proposal, all []*realm.Transaction, now int64) (operate.Action, error) {
	ends := p.VotingAt + int64(h.Rules.Voting) + int64(h.Rules.CoolOff)
	switch p.State {
	case realm.Voting:
		if now <= ends {
			return operate.Action{}, service.Refused(fmt.Sprintf("the vote is open until %s UTC, %s more", service.When(ends), service.Span(ends-now)), "come back then")
		}
		return operate.NewAction("governance_finalize", p.Address, "the votes are counted", h.Realm.Finalize(p), nil)
	case realm.Succeeded, realm.Executing, realm.ExecutingWithErrors:
	default:
		return operate.Action{}, service.Refused(fmt.Sprintf("nothing follows on a proposal that is %s", p.State), "see: gantry governance list")
	}
	for _, t := range all {
		due := p.DecidedAt + int64(t.HoldUp)
		switch {
		case t.ExecutedAt != 0:
			continue
		case now <= due:
			return operate.Action{}, service.Refused(fmt.Sprintf("what has passed waits until %s UTC, %s more", service.When(due), service.Span(due-now)), "come back then")
		}
		did := fmt.Sprintf("change %d of %d is executed; what it proposes to the market waits for the timelock: gantry market show", t.Index+1, len(all))
		execute, err := h.Realm.Execute(t)
		return operate.NewAction("governance_execute", p.Address, did, execute, refused(err))
	}
	return operate.Action{}, service.Refused("everything of this proposal is executed", "see: gantry market show")
}
