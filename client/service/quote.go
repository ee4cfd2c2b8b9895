package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// QuoteRequest is what a quote is asked for.
type QuoteRequest struct {
	GPU            string // MODEL[:COUNT]: model, part of its name, or any
	Count, Nodes   uint8  // GPUs on each node, and nodes; 0 is 1
	Region         string // prefix
	MaxPrice       string // USDC per GPU-hour; the model's reference price where it is empty
	Seconds        uint32
	Image          string // needs nodes that run containers; empty for none
	AllowSimulated bool
	Spot           bool // interruptible, at nodes' spot prices
	Figures
	Share
}

// Quote is what an order would cost, USDC, and whether it can be placed now.
type Quote struct {
	Model    string  `json:"model"`
	Count    uint8   `json:"gpusPerNode"`
	Nodes    uint8   `json:"nodes"`
	Seconds  uint32  `json:"seconds"`
	MaxPrice string  `json:"maxPricePerGpuHour"`
	Most     string  `json:"costAtMost" doc:"What the order reserves, fee included; what is not used comes back"`
	Expected string  `json:"costAtPresentAsks,omitempty" doc:"For the whole time, of the nodes that would be awarded now; absent where too few fit"`
	Fit      int     `json:"fit" doc:"Nodes that fit now"`
	Best     []Offer `json:"best" doc:"The nodes that would be awarded now"`
	Free     string  `json:"freeCredits"`
	Left     string  `json:"sessionLeft" doc:"What the session key may still reserve"`
	Possible bool    `json:"possible" doc:"Enough nodes fit, and credits and cap are enough"`
	Why      string  `json:"why,omitempty" doc:"What is in the way"`
	// Image is asked of the machines, by those who answer with the quote; nil for nothing.
	Image *ImageRuns `json:"image,omitempty" doc:"How the image has started on the best of the nodes that fit; absent without an image, and where nobody could be asked"`

	most, expected market.USDC
	first          []Offer // of those that fit, the best first
}

// quoted is how many of the nodes that fit a quote knows.
const quoted = 64

// Offers are the nodes that fit, the best first: at most 64.
func (q *Quote) Offers() []Offer { return q.first }

// Reserves is what the order reserves at most: until it is placed, another of the models that are meant may have the best
// offer.
func (q *Quote) Reserves() market.USDC { return q.most }

// Quote says what an order would cost, without placing it. Of several models that are meant it is for the one that can be ordered
// at the lowest asks, as gantry deploy chooses; where none can, for the one that most nodes fit.
func (s *Service) Quote(ctx context.Context, customer, session solana.PublicKey, r QuoteRequest) (Quote, error) {
	mk, err := s.Load(ctx)
	if err != nil {
		return Quote{}, err
	}
	ranked, err := s.ranked(ctx)
	if err != nil {
		return Quote{}, err
	}
	if r.GPU, r.Count, err = ParseGPU(r.GPU, r.Count); err != nil {
		return Quote{}, err
	}
	models, err := ModelsFor(ranked.view, r.GPU, r.Compute)
	if err != nil {
		return Quote{}, err
	}
	account, err := s.Account(ctx, customer, session)
	if err != nil {
		return Quote{}, err
	}
	var best Quote
	most := market.USDC(0)
	for i := range models {
		q, err := r.quote(ranked, &models[i], account, mk.Params.StartDeadlineSecs)
		if err != nil {
			return Quote{}, err
		}
		if i == 0 || q.before(&best) {
			best = q
		}
		most = max(most, q.most)
	}
	best.most = most
	return best, nil
}

// before reports whether a quote is the better one of two.
func (q *Quote) before(other *Quote) bool {
	served, theirs := q.Fit >= int(q.Nodes), other.Fit >= int(other.Nodes)
	switch {
	case served != theirs:
		return served
	case served:
		return q.expected < other.expected
	}
	return q.Fit > other.Fit
}

// quote is for one model. The order reserves for start seconds at least, in which a machine may wait for the job.
func (r *QuoteRequest) quote(ranked *ranking, m *market.Model, account Account, start uint32) (Quote, error) {
	var err error
	out := Quote{Model: m.ModelName(), Count: max(r.Count, 1), Nodes: max(r.Nodes, 1), Seconds: r.Seconds}
	price := market.PricePerHour(m.ReferencePrice)
	if r.MaxPrice != "" {
		if price, err = market.ParsePrice(r.MaxPrice); err != nil {
			return Quote{}, err
		}
	}
	out.MaxPrice = price.String()
	if r.Seconds == 0 || r.Seconds > market.MaxDurationSecs || out.Count > market.MaxGPUs || out.Nodes > market.MaxOrderNodes || price == 0 {
		return Quote{}, Usage(fmt.Sprintf("%d nodes of %d GPUs for %d seconds at %s USDC is not an order", out.Nodes, out.Count, r.Seconds, price),
			"ask for 1 to 64 nodes of 1 to 8 GPUs, for up to a year, at a price above zero")
	}
	if out.most, err = market.OrderCost(price, out.Count, market.HeldSecs(r.Seconds, start), out.Nodes); err != nil {
		return Quote{}, Usage("the cost of the order overflows", "lower the price or the time")
	}
	out.Most = out.most.String()
	terms := Terms{Model: m.Id, Count: out.Count, Region: r.Region, MaxPrice: price, Spot: r.Spot}
	if err := errors.Join(r.Figures.into(&terms), r.Share.into(&terms)); err != nil {
		return Quote{}, err
	}
	if r.Image != "" {
		terms.Isolation = market.Sandbox
	}
	if simulated := false; !r.AllowSimulated {
		terms.Simulated = &simulated
	}
	found := ranked.search(&terms, SortAward, quoted)
	out.Fit, out.first = found.Fit, found.Offers
	out.Best = out.first[:min(len(out.first), int(out.Nodes))]
	out.Free, out.Left = account.Free, account.Session.Left
	return out, out.judge(found)
}

// judge says what the best nodes would cost, and what is in the way.
func (q *Quote) judge(found Found) error {
	if q.Fit < int(q.Nodes) {
		q.Why = fmt.Sprintf("%d of %d nodes fit now%s", q.Fit, q.Nodes, Unfit(found.Unfit))
		return nil
	}
	var sum market.USDC
	for _, o := range q.Best {
		ask, err := market.ParsePrice(o.Price)
		if err != nil {
			return fmt.Errorf("ask of node %s: %w", o.Address, err)
		}
		cost, err := market.Cost(ask, q.Count, q.Seconds)
		if err != nil {
			return fmt.Errorf("cost of node %s: %w", o.Address, err)
		}
		sum += cost
	}
	q.Expected, q.expected = sum.String(), sum
	for what, have := range map[string]string{"credits are free": q.Free, "of the session key's cap are left": q.Left} {
		amount, err := market.ParseUSDC(have)
		if err != nil {
			return err
		}
		if amount < q.most {
			q.Why = fmt.Sprintf("the order reserves %s USDC, and %s USDC %s", q.Most, have, what)
		}
	}
	q.Possible = q.Why == ""
	return nil
}
