package mcp

import (
	"context"
	"fmt"
	"maps"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
)

const (
	defaultTail = 16 << 10
	maxTail     = 256 << 10
	// defaultOffers and maxOffers are how many nodes a search answers with.
	defaultOffers, maxOffers = 20, 200
)

type tools struct{ o Options }

type searchInput struct {
	Terms string `json:"terms,omitempty" jsonschema:"terms with spaces between, all of which must hold, such as: gpu=H100 count>=8 region=us price<2.6 uptime>=99; all nodes without"`
	Sort  string `json:"sort,omitempty" jsonschema:"what comes first: award (as orders are awarded, the default), or by what keepers have measured: tops-price, gbs-price (USDC an hour for one measured TOPS or GB/s), tops, bandwidth, down, up"`
	Limit int    `json:"limit,omitempty" jsonschema:"the most nodes that are answered, the best first; 20 by default, 200 at most"`
	Image string `json:"image,omitempty" jsonschema:"ask the best 64 how this container image has started there; those on which it ran come first"`
}

func (t *tools) search(ctx context.Context, in searchInput) (serve.Offers, error) {
	if in.Limit == 0 {
		in.Limit = defaultOffers
	}
	if in.Limit < 0 || in.Limit > maxOffers {
		return serve.Offers{}, service.Usage(fmt.Sprintf("limit %d is not between 1 and %d", in.Limit, maxOffers), "narrow the search by its terms")
	}
	by, err := service.ParseSort(in.Sort)
	if err != nil {
		return serve.Offers{}, err
	}
	found, err := t.o.Market.BestOffers(ctx, in.Terms, by, in.Limit)
	out := serve.Offers{Offers: append([]service.Offer{}, found.Offers...), Fit: found.Fit, Unfit: map[string]int{}, At: found.At}
	maps.Copy(out.Unfit, found.Unfit)
	if err == nil && in.Image != "" && t.o.Machines != nil {
		out.Offers, err = t.o.Machines.Starts(ctx, in.Image, out.Offers)
		out.Image = service.RunsOf(out.Offers)
	}
	return out, err
}

type leasesInput struct {
	Lease string `json:"lease,omitempty" jsonschema:"address of one lease; all without"`
}

func (t *tools) leases(ctx context.Context, in leasesInput) (serve.Leases, error) {
	out := serve.Leases{Customer: t.o.Customer.String()}
	if in.Lease == "" {
		all, err := t.o.Market.Leases(ctx, t.o.Customer)
		out.Leases = t.shown(ctx, all...)
		return out, err
	}
	id, err := address(in.Lease)
	if err != nil {
		return out, err
	}
	l, err := t.o.Market.Lease(ctx, t.o.Customer, id)
	out.Leases = t.shown(ctx, l)
	return out, err
}

// shown are leases with what is known of them here, and not on the chain.
func (t *tools) shown(ctx context.Context, leases ...service.Lease) []service.Lease {
	all := append([]service.Lease{}, leases...)
	if t.o.Names != nil {
		t.o.Names(ctx, all)
	}
	return service.Attested(t.o.Attestations, service.Inspected(t.o.Inspections, all))
}

func (t *tools) job(ctx context.Context, in leaseInput) (service.Job, error) {
	id, err := address(in.Lease)
	if err != nil {
		return service.Job{}, err
	}
	return t.o.Jobs.Job(ctx, id)
}

type logsInput struct {
	Lease  string `json:"lease" jsonschema:"address of the lease"`
	Offset uint64 `json:"offset,omitempty" jsonschema:"where to begin, bytes from the output's beginning"`
	Tail   int    `json:"tail,omitempty" jsonschema:"the most that is answered, bytes: the last ones; 16384 by default, 262144 at most"`
}

func (t *tools) logs(ctx context.Context, in logsInput) (serve.Logs, error) {
	if in.Tail == 0 {
		in.Tail = defaultTail
	}
	if in.Tail < 0 || in.Tail > maxTail {
		return serve.Logs{}, service.Usage(fmt.Sprintf("tail %d is not between 1 and %d bytes", in.Tail, maxTail), "ask for less, then call again with the offset next")
	}
	id, err := address(in.Lease)
	if err != nil {
		return serve.Logs{}, err
	}
	out, err := t.o.Outputs.Output(ctx, id)
	if err != nil {
		return serve.Logs{}, err
	}
	defer out.Close()
	l, err := serve.Tail(ctx, out, in.Offset, in.Tail)
	l.Lease = in.Lease
	return l, err
}

// Costs is the customer's money and what its leases take of it.
type Costs struct {
	Account service.Account `json:"account"`
	Leases  []LeaseCost     `json:"leases" jsonschema:"the newest first; closed ones are not among them"`
}

// LeaseCost is the money of a lease, USDC, fees included.
type LeaseCost struct {
	Lease    string `json:"lease"`
	Status   string `json:"status"`
	GPUs     uint8  `json:"gpus"`
	Price    string `json:"pricePerGpuHour"`
	Used     uint32 `json:"usedSeconds" jsonschema:"seconds that can be owed at most, now"`
	Cost     string `json:"costAtMost" jsonschema:"of the used seconds"`
	Paid     string `json:"paid"`
	Reserved string `json:"reserved"`
}

func (t *tools) costs(ctx context.Context, _ struct{}) (Costs, error) {
	account, err := t.o.Market.Account(ctx, t.o.Customer, t.o.Session)
	if err != nil {
		return Costs{}, err
	}
	all, err := t.o.Market.Leases(ctx, t.o.Customer)
	if err != nil {
		return Costs{}, err
	}
	out := Costs{Account: account, Leases: make([]LeaseCost, 0, len(all))}
	for _, l := range all {
		out.Leases = append(out.Leases, LeaseCost{l.Address, l.Status, l.GPUs, l.Price, l.Used, l.Cost, l.Paid, l.Reserved})
	}
	return out, nil
}

type quoteInput struct {
	GPU            string `json:"gpu" jsonschema:"GPU model, or part of its name"`
	Count          uint8  `json:"count,omitempty" jsonschema:"GPUs on each node, 1 to 8; 1 by default"`
	Nodes          uint8  `json:"nodes,omitempty" jsonschema:"nodes, all or none; 1 by default"`
	Region         string `json:"region,omitempty" jsonschema:"prefix of the region"`
	MaxPrice       string `json:"maxPricePerGpuHour,omitempty" jsonschema:"the most USDC per GPU-hour; the model's reference price by default"`
	Seconds        uint32 `json:"seconds" jsonschema:"how long, seconds"`
	Image          string `json:"image,omitempty" jsonschema:"container image that is to run: the best nodes that fit are asked how it has started there, and learn its digest by it"`
	AllowSimulated bool   `json:"allowSimulated,omitempty" jsonschema:"simulated GPUs too, on local networks"`
	Spot           bool   `json:"spot,omitempty" jsonschema:"interruptible, at nodes' spot prices"`
	service.Figures
	service.Share
}

func (t *tools) quote(ctx context.Context, in quoteInput) (service.Quote, error) {
	q, err := t.o.Market.Quote(ctx, t.o.Customer, t.o.Session, service.QuoteRequest(in))
	if err == nil && in.Image != "" && t.o.Machines != nil {
		q.Image, err = t.o.Machines.Runs(ctx, in.Image, q.Offers())
	}
	return q, err
}

// Status is where the server works, for whom, and with how much.
type Status struct {
	Cluster service.Cluster `json:"cluster"`
	Account service.Account `json:"account"`
	Money   *Money          `json:"spending,omitempty" jsonschema:"absent for a server that may not spend"`
}

func (t *tools) status(ctx context.Context, _ struct{}) (out Status, err error) {
	if out.Cluster, err = t.o.Market.Cluster(ctx); err != nil {
		return out, err
	}
	if out.Account, err = t.o.Market.Account(ctx, t.o.Customer, t.o.Session); err != nil || t.o.Budget == nil {
		return out, err
	}
	money, err := t.o.Budget.money()
	out.Money = &money
	return out, err
}

func (t *tools) audit(ctx context.Context, in leaseInput) (service.Audit, error) {
	id, err := address(in.Lease)
	if err != nil {
		return service.Audit{}, err
	}
	return t.o.Market.Audit(ctx, id)
}

type whyInput struct {
	Address string `json:"address" jsonschema:"address of the order or lease"`
}

func (t *tools) why(ctx context.Context, in whyInput) (service.Why, error) {
	id, err := address(in.Address)
	if err != nil {
		return service.Why{}, err
	}
	w, err := t.o.Market.Why(ctx, id)
	if t.o.Attestations != nil && err == nil {
		t.o.Attestations.Explain(&w)
	}
	return w, err
}

func address(text string) (solana.PublicKey, error) {
	id, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return id, service.Usage(fmt.Sprintf("%q is not the address of a lease", text), "the tool leases names them")
	}
	return id, nil
}
