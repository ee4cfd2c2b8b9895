package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Step is something that happened to a lease or a fault, and whether it adds up.
type Step struct {
	Name     string   `json:"name"`
	Time     string   `json:"time,omitempty" doc:"RFC 3339; absent for a conclusion over several transactions"`
	Text     string   `json:"text"`
	OK       bool     `json:"ok" doc:"It is known to add up"`
	Outcome  string   `json:"outcome" enum:"right,wrong,unknown" doc:"unknown: it could not be read, or follows from what could not be"`
	Problems []string `json:"problems,omitempty" doc:"What does not add up"`
	Unknown  string   `json:"unknown,omitempty" doc:"Why it is not known whether it adds up"`
	Tx       string   `json:"transaction,omitempty"`
	Explorer string   `json:"explorer,omitempty"`
	Money    *Money   `json:"money,omitempty" doc:"Where the lease's money is after the step; absent before it was awarded, and of other histories"`
}

// Money is where the money of a lease is after a step, USDC.
type Money struct {
	Reserved string `json:"reserved" doc:"Held by the lease, for its provider or to come back"`
	Paid     string `json:"paid" doc:"For the time, the fee included"`
	Returned string `json:"returned" doc:"Of what was reserved, to the customer's credits"`
}

// DescribeSteps describes the steps of an audit.
func DescribeSteps(steps []audit.Step, e chain.Explorer) []Step {
	out := make([]Step, len(steps))
	for i, st := range steps {
		out[i] = Step{Name: st.Name, Text: st.Text, OK: st.OK(), Outcome: string(st.Outcome()), Problems: st.Problems, Unknown: st.Unknown}
		if m := st.Money; m != nil {
			out[i].Money = &Money{Reserved: m.Reserved.Exact(), Paid: m.Paid.Exact(), Returned: m.Returned.Exact()}
		}
		if !st.Time.IsZero() {
			out[i].Time = st.Time.UTC().Format(time.RFC3339)
		}
		if !st.Signature.IsZero() {
			out[i].Tx, out[i].Explorer = st.Signature.String(), e.Tx(st.Signature)
		}
	}
	return out
}

// Audit is the history of a lease, rebuilt from its transactions, and whether every amount, signature and proof adds up.
type Audit struct {
	Lease    string `json:"lease"`
	Order    string `json:"order"`
	Node     string `json:"node"`
	Customer string `json:"customer"`
	Owner    string `json:"providerAccount,omitempty" doc:"Account of the machine's provider; absent where neither the award nor the lease can be read"`
	Keeper   string `json:"keeper,omitempty" doc:"Wallet of the keeper that awarded the lease; absent where the award could not be read"`
	OK       bool   `json:"ok" doc:"Everything is known to add up"`
	Outcome  string `json:"outcome" enum:"right,wrong,unknown" doc:"unknown: not everything could be read, and nothing that was read is wrong"`
	Open     bool   `json:"open" doc:"The lease is not closed"`
	Lives    int    `json:"lives" doc:"How often the address was a lease; this is the last one"`
	Price    string `json:"pricePerGpuHour" doc:"0.00 where the award could not be read"`
	GPUs     uint8  `json:"gpus" doc:"0 where the order could not be read"`
	FeeBPS   uint16 `json:"feeBps"`
	PaidSecs uint32 `json:"paidSeconds"`
	Paid     string `json:"paid"`
	Provider string `json:"provider"`
	Fee      string `json:"fee"`
	Refunded string `json:"refunded"`
	Leaves   int    `json:"verifiedLeaves" doc:"Leaves of reports about the lease whose proofs lead to final roots"`
	Steps    []Step `json:"steps"`
	Explorer string `json:"explorer"`
}

// Verdict says what an audit comes to.
func Verdict(outcome string) string {
	switch audit.Outcome(outcome) {
	case audit.Wrong:
		return "NOT everything adds up"
	case audit.Unknown:
		return "NOT KNOWN whether everything adds up: some of it could not be read"
	default:
		return "everything adds up"
	}
}

// AuditOptions are those of an audit at commitment level confirmed or higher: clusters serve no history below.
func (s *Service) AuditOptions(ctx context.Context) (audit.Options, chain.Explorer, error) {
	mk, err := s.Load(ctx)
	if err != nil {
		return audit.Options{}, chain.Explorer{}, err
	}
	e, err := s.client.Explorer(ctx)
	return audit.Options{Source: s.history, Domain: mk.Domain, Commitment: s.client.WaitLevel(), Params: mk.Params}, e, err
}

// Audit rebuilds the history of a lease of any customer, also of one that is closed.
func (s *Service) Audit(ctx context.Context, lease solana.PublicKey) (Audit, error) {
	o, explorer, err := s.AuditOptions(ctx)
	if err != nil {
		return Audit{}, err
	}
	l, exists, err := query.Find[market.Lease](ctx, s.client, lease, o.Commitment)
	o.Gone = err == nil && !exists
	if err == nil && exists {
		o.Lease, o.NodeKey = &l, l.NodeKey
		if order, exists, err := query.Find[market.Order](ctx, s.client, l.Order, o.Commitment); err == nil && exists {
			o.Order = &order
		}
	}
	o.Blocks, o.Nodes = s.client.Blocks(chain.Finalized), s.allNodes
	a, err := audit.AuditLease(ctx, o, lease)
	if errors.Is(err, audit.ErrNoHistory) {
		return Audit{}, &Failure{
			Code: CodeRefused, Reason: fmt.Sprintf("%s is not and was never a lease, as far as this node remembers", lease),
			Advice: "check the address; an archive node remembers everything: --url", Cause: fmt.Errorf("%w: %w", ErrNoLease, err),
		}
	}
	if errors.Is(err, chain.ErrUnreadable) {
		return Audit{}, Unknown(err.Error(), err)
	}
	if err != nil {
		return Audit{}, err
	}
	out := Audit{
		Lease: a.Address.String(), Order: a.Order.String(), Node: a.Node.String(), Customer: a.Customer.String(), OK: a.OK(), Outcome: string(a.Outcome()), Open: a.Open, Lives: a.Lives,
		Price: a.Price.String(), GPUs: a.GPUs, FeeBPS: a.FeeBPS, PaidSecs: a.PaidSecs, Paid: a.Paid.Exact(), Provider: a.Provider.Exact(),
		Fee: a.Fee.Exact(), Refunded: a.Refunded.Exact(), Leaves: a.Leaves, Steps: DescribeSteps(a.Steps, explorer), Explorer: explorer.Address(a.Address),
	}
	if !a.Owner.IsZero() {
		out.Owner = a.Owner.String()
	}
	if !a.Keeper.IsZero() {
		out.Keeper = a.Keeper.String()
	}
	return out, nil
}

// allNodes reads every node and model as they are now.
func (s *Service) allNodes(ctx context.Context) ([]market.Node, map[uint16]market.Model, error) {
	v, err := s.Snapshot(ctx, view.Only(view.Kinds(market.KindNode, market.KindModel)))
	if err != nil {
		return nil, nil, err
	}
	models := map[uint16]market.Model{}
	for _, m := range v.Models() {
		models[m.Id] = m
	}
	return v.Nodes(), models, nil
}
