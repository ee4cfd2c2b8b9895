package cli

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
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
	order, err := s.rerunOrder(v)
	if err != nil || order.IsZero() {
		return nil, err
	}
	run, err := audit.ReadRun(s.ctx, s.client, order, s.waitLevel())
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
		s.say(" · rerun    the first run is closed: keepers do not know its machines any more; whether they come again is seen at the award")
	}
	return run, nil
}

// rerunFilters are for the leases of the order that --rerun names.
func (s *session) rerunFilters() []chain.Filter {
	if order, err := solana.PublicKeyFromBase58(s.cli.String("rerun")); err == nil {
		return []chain.Filter{query.LeasesOfOrder(order)}
	}
	return nil
}

// rerunOrder is the order that --rerun names; zero without the flag.
func (s *session) rerunOrder(v *view.View) (solana.PublicKey, error) {
	arg := s.cli.String("rerun")
	if arg == "" {
		return solana.PublicKey{}, nil
	}
	if order, err := solana.PublicKeyFromBase58(arg); err == nil {
		return order, nil
	}
	return pick(arg, "order", addresses(v.Orders(), func(o market.Order) solana.PublicKey { return o.Address }))
}

// salt is that of the job: a new one, or for a second run that of the first, since both are for one digest. Only the machine
// on which the first run was ordered knows it.
func (s *session) salt(v *view.View) ([]byte, error) {
	order, err := s.rerunOrder(v)
	if err != nil {
		return nil, err
	}
	if order.IsZero() {
		salt := make([]byte, messages.SaltBytes)
		if _, err := rand.Read(salt); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
		return salt, nil
	}
	all, err := s.purchases()
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Order == order {
			return p.Salt, nil
		}
	}
	return nil, nil // an order of another machine: that its job is another one is found by the digest
}

// readFirst reads the first run of a purchase that another command has begun as a second one.
func (d *deployment) readFirst() (err error) {
	if d.p.Rerun.IsZero() || d.r.first != nil {
		return nil
	}
	d.r.first, err = audit.ReadRun(d.s.ctx, d.s.client, d.p.Rerun, d.s.waitLevel())
	return err
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
