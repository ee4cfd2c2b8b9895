package governance

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/realm"
)

// ProposalView is a proposal for people and programs. Yes, No and Veto are GNT, and members of the council.
type ProposalView struct {
	Address  string       `json:"address"`
	Name     string       `json:"name"`
	State    string       `json:"state"`
	Yes      string       `json:"yes"`
	No       string       `json:"no"`
	Veto     uint64       `json:"vetoes"`
	Until    int64        `json:"votesUntil,omitempty"`
	Executed uint16       `json:"executed"`
	Changes  uint16       `json:"changes"`
	Does     []ChangeView `json:"does,omitempty"`
}

// ChangeView is what one transaction of a proposal does. Base64 is an instruction as Realms takes it.
type ChangeView struct {
	Index      uint16   `json:"index"`
	Does       []string `json:"does"`
	Base64     []string `json:"base64"`
	ExecutedAt int64    `json:"executedAt,omitempty"`
}

// View is a proposal and, where they were read, its transactions.
func (h *Holders) View(p *realm.Proposal, all []*realm.Transaction) (ProposalView, error) {
	v := ProposalView{
		Address: p.Address.String(), Name: p.Name, State: p.State.String(), Yes: market.GNT(p.Yes).String(), No: market.GNT(p.No).String(), Veto: p.Veto,
		Executed: p.Executed, Changes: p.Transactions,
	}
	if p.State == realm.Voting {
		v.Until = p.VotingAt + int64(h.Rules.Voting)
	}
	for _, t := range all {
		c := ChangeView{Index: t.Index, ExecutedAt: t.ExecutedAt}
		for _, ix := range t.Instructions {
			b, err := realm.Encode(ix)
			if err != nil {
				return v, err
			}
			c.Does, c.Base64 = append(c.Does, ChangeName(ix)), append(c.Base64, base64.StdEncoding.EncodeToString(b))
		}
		v.Does = append(v.Does, c)
	}
	return v, nil
}

// HoldersView is a realm for people and programs.
type HoldersView struct {
	Realm     string         `json:"realm"`
	Treasury  string         `json:"treasury"`
	Governs   bool           `json:"governs"` // whether the treasury is the market's authority
	Council   string         `json:"council,omitempty"`
	Weighed   string         `json:"weighedAgainst,omitempty"`
	Rules     realm.Rules    `json:"rules"`
	Proposals []ProposalView `json:"proposals"`
}

// Read is the realm with all proposals, or with the one that is named and what it does.
func (h *Holders) Read(ctx context.Context, args []string) (out HoldersView, err error) {
	out = HoldersView{Realm: h.Realm.Address.String(), Treasury: h.Realm.Treasury.String(), Governs: h.Realm.Treasury == h.desk.Market.Authority, Rules: h.Rules, Proposals: []ProposalView{}}
	if !h.Realm.Council.IsZero() {
		out.Council = h.Realm.Council.String()
	}
	if h.Circulating > 0 {
		out.Weighed = h.Circulating.String()
	}
	var proposals []*realm.Proposal
	var does []*realm.Transaction
	if len(args) > 0 {
		proposals = make([]*realm.Proposal, 1)
		proposals[0], does, err = h.named(ctx, args[0])
	} else {
		proposals, err = h.Proposals(ctx)
	}
	if err != nil {
		return out, err
	}
	for _, p := range proposals {
		v, err := h.View(p, does)
		if err != nil {
			return out, err
		}
		out.Proposals = append(out.Proposals, v)
	}
	return out, nil
}

// Pairs are the rules, for people.
func (v *HoldersView) Pairs() [][2]string {
	r, governs, weighed := v.Rules, "no: the market has another authority", v.Weighed+" GNT"
	if v.Governs {
		governs = "yes"
	}
	if v.Weighed == "" {
		weighed = "a share of all GNT"
	}
	return [][2]string{
		{"realm", v.Realm},
		{"treasury", v.Treasury},
		{"governs the market", governs},
		{"to pass", fmt.Sprintf("%d %% of %s say yes, and fewer say no", r.YesPercent, weighed)},
		{"times", fmt.Sprintf("%s for votes, %s in which only no counts, %s until it is executed", market.Seconds(r.Voting), market.Seconds(r.CoolOff), market.Seconds(r.HoldUp))},
	}
}

// Rows are the proposals, for people.
func (v *HoldersView) Rows() [][]string {
	rows := make([][]string, len(v.Proposals))
	for i, p := range v.Proposals {
		until := "-"
		if p.Until != 0 {
			until = service.When(p.Until)
		}
		rows[i] = []string{p.Address, p.State, p.Yes, p.No, until, fmt.Sprintf("%d/%d", p.Executed, p.Changes), p.Name}
	}
	return rows
}

// Changes are what the proposals do, where that was read, for people.
func (v *HoldersView) Changes() string {
	var b strings.Builder
	for _, p := range v.Proposals {
		for _, c := range p.Does {
			fmt.Fprintf(&b, "\nchange %d: %s\n%s\n", c.Index+1, strings.Join(c.Does, ", "), strings.Join(c.Base64, "\n"))
		}
	}
	return b.String()
}
