package cli

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/view"
)

// rerunJSON is what a second run of a redundant job shows of the first.
type rerunJSON struct {
	Of     string `json:"of"`
	First  string `json:"firstOutput,omitempty"`
	Second string `json:"secondOutput,omitempty"`
	Same   *bool  `json:"same,omitempty"` // absent while one of the two has no output
	Text   string `json:"text"`
}

// firstRun reads the run that --rerun names; nil without the flag. The second run is of the same job.
func (s *session) firstRun(v *view.View, digest [32]byte) (*audit.Run, error) {
	arg := s.cli.String("rerun")
	if arg == "" {
		return nil, nil
	}
	order, err := solana.PublicKeyFromBase58(arg)
	if err != nil {
		if order, err = pick(arg, "order", addresses(v.Orders(), func(o market.Order) solana.PublicKey { return o.Address })); err != nil {
			return nil, err
		}
	}
	run, err := audit.ReadRun(s.ctx, s.client, order, s.waitLevel())
	switch {
	case errors.Is(err, audit.ErrNoHistory):
		return nil, refused(fmt.Sprintf("%s is not and was never a redundant order, as far as this node remembers", order),
			"give the order of: gantry deploy --redundancy; an archive node remembers everything: --url")
	case err != nil:
		return nil, err
	case run.Args.ImageDigest != digest:
		return nil, refused(fmt.Sprintf("order %s was for another job", order), "give the same command, image, environment and limits")
	}
	if len(v.LeasesOfOrder(order)) == 0 {
		s.say(" · rerun    the first run is closed: keepers do not know its machines any more; whether they come again is seen at the award")
	}
	return run, nil
}

// checkFresh looks whether all machines of a second run are of others than those of the first, before the job is brought
// to any. The program has no field for machines that are not wanted: keepers leave out those whose leases for the same job
// are still on chain.
func (d *deployment) checkFresh() error {
	if d.r.first == nil {
		return nil
	}
	for _, l := range d.leases {
		if d.r.first.Has(l.Node, l.Provider) {
			return refused(fmt.Sprintf("node %s, or another machine of its owner, was in the first run; the job is not started", short(l.Node)),
				"a lease that does not start in time is refunded in full; nodes are drawn, so try again after that")
		}
	}
	d.s.say(" ✓ fresh    none of the %d machines is of an owner of the first run", len(d.leases))
	return nil
}

// compareRuns compares what most machines of this run have shown with the first run; nil when there is none.
func (d *deployment) compareRuns(output [32]byte, known bool) (*rerunJSON, error) {
	if d.r.first == nil {
		return nil, nil
	}
	first, err := audit.ReadRun(d.s.ctx, d.s.client, d.r.first.Order, d.s.waitLevel()) // it may have been resolved meanwhile
	if err != nil {
		return nil, err
	}
	return rerunOf(first, output, known), nil
}

func rerunOf(first *audit.Run, output [32]byte, known bool) *rerunJSON {
	out := &rerunJSON{Of: first.Order.String()}
	if known {
		out.Second = fmt.Sprintf("%x", output)
	}
	if first.Resolved != nil && first.Resolved.Accepted > 0 {
		out.First = fmt.Sprintf("%x", first.Resolved.Output)
	}
	switch {
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
