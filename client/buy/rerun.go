package buy

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Rerun is what a second run of a redundant job shows of the first.
type Rerun struct {
	Of     string `json:"of"`
	First  string `json:"firstOutput,omitempty"`
	Second string `json:"secondOutput,omitempty"`
	Same   *bool  `json:"same,omitempty"` // absent while one of the two has no output
	Text   string `json:"text"`
}

// firstRun reads the run of an order that the request repeats. The second run is of the same job.
func (b *Buyer) firstRun(ctx context.Context, v *view.View, order solana.PublicKey, digest [32]byte) (*audit.Run, error) {
	run, err := audit.ReadRun(ctx, b.client, order, b.client.WaitLevel())
	switch {
	case errors.Is(err, audit.ErrNoHistory):
		return nil, refused(fmt.Sprintf("%s is not and was never a redundant order, as far as this node remembers", order),
			"give the order of: gantry deploy --redundancy; an archive node remembers everything: --url")
	case err != nil:
		return nil, err
	case run.Args.ImageDigest != digest:
		return nil, refused(fmt.Sprintf("order %s was for another job", order), "give the same command, image, environment and limits, on the machine where it was ordered")
	}
	if len(v.LeasesOfOrder(order)) == 0 {
		b.tell(FirstRunClosed{Order: order})
	}
	return run, nil
}

// rerunFilters are for the leases of the order that the request repeats.
func (r *Request) rerunFilters() []chain.Filter {
	if order, err := solana.PublicKeyFromBase58(r.Rerun); err == nil {
		return []chain.Filter{query.LeasesOfOrder(order)}
	}
	return nil
}

// rerunOrder is the order that the request repeats; zero for none.
func (r *Request) rerunOrder(v *view.View) (solana.PublicKey, error) {
	if r.Rerun == "" {
		return solana.PublicKey{}, nil
	}
	orders := v.Orders()
	among := make([]solana.PublicKey, len(orders))
	for i, o := range orders {
		among[i] = o.Address
	}
	return service.PickAddress(r.Rerun, "order", among)
}

// readFirst reads the first run of a purchase that another command has begun as a second one.
func (d *deal) readFirst() (err error) {
	if d.p.Rerun.IsZero() || d.r.first != nil {
		return nil
	}
	d.r.first, err = audit.ReadRun(d.ctx, d.b.client, d.p.Rerun, d.b.client.WaitLevel())
	return err
}

// checkFresh looks whether all machines of a second run are of others than those of the first, before the job is
// brought to any. The program has no field for machines that are not wanted: keepers leave out those whose leases for
// the same job are still on chain.
func (d *deal) checkFresh() error {
	if d.r.first == nil {
		return nil
	}
	for _, l := range d.leases {
		if d.r.first.Has(l.Node, l.Provider) {
			return refused(fmt.Sprintf("node %s, or another machine of its owner, was in the first run; the job is not started", service.Short(l.Node)),
				"a lease that does not start in time is refunded in full; nodes are drawn, so try again after that")
		}
	}
	d.b.tell(FirstRunAvoided{Machines: len(d.leases)})
	return nil
}

// compareRuns compares what most machines of this run have shown with the first run; nil when there is none.
func (d *deal) compareRuns(output [32]byte, known bool) (*Rerun, error) {
	if d.r.first == nil {
		return nil, nil
	}
	first, err := audit.ReadRun(d.ctx, d.b.client, d.r.first.Order, d.b.client.WaitLevel()) // somebody may have resolved it since then
	if err != nil {
		return nil, err
	}
	return rerunOf(first, output, known), nil
}

func rerunOf(first *audit.Run, output [32]byte, known bool) *Rerun {
	out := &Rerun{Of: first.Order.String()}
	if known {
		out.Second = fmt.Sprintf("%x", output)
	}
	if first.Resolved != nil && first.Resolved.Accepted > 0 {
		out.First = fmt.Sprintf("%x", first.Resolved.Output)
	}
	switch {
	case first.Unread != nil:
		out.Text = fmt.Sprintf("it is not known whether the outputs of the first run agree: %v", first.Unread)
	case out.First == "" && first.Resolved == nil:
		out.Text = "the outputs of the first run are not compared with each other yet"
	case out.First == "":
		out.Text = "the first run had no output of a majority"
	case out.Second == "":
		out.Text = "this run has no output of a majority to compare with the first one's"
	default:
		same := out.First == out.Second
		out.Same = &same
		out.Text = "both runs have the same output"
		if !same {
			out.Text = "the two runs have DIFFERENT outputs"
		}
	}
	return out
}
