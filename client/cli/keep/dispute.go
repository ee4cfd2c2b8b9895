package keep

import (
	"fmt"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// keeperVoteDispute votes on a dispute with the key that signs for a keeper.
func (s *session) keeperVoteDispute() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	uphold := s.CLI.Bool("uphold")
	if uphold == s.CLI.Bool("reject") {
		return service.Usage("say how to vote", "give --uphold (for the customer) or --reject (against it), one of them")
	}
	var v *view.View
	var d market.Dispute
	now, err := s.Now()
	if err != nil {
		return err
	}
	_, tx, err := s.Act(func(desk *operate.Desk) (a operate.Action, err error) {
		k, err := desk.SignedFor(s.Context)
		if err != nil {
			return a, err
		}
		if v, err = s.Snapshot(dispute.Scope(args[0])); err != nil {
			return a, err
		}
		if d, err = dispute.Find(v, args[0]); err != nil {
			return a, err
		}
		return dispute.Vote(desk, &k, &d, uphold, now)
	})
	if err != nil {
		return err
	}
	after, open, err := query.Find[market.Dispute](s.Context, s.Client, d.Address, s.Client.WaitLevel())
	if err != nil {
		return err
	}
	if open {
		d = after
	}
	j := dispute.Describe(&d, v.Keepers(), now)
	return s.Done(dispute.Changed{Dispute: j, Open: open, Tx: tx}, func(w *terminal.Page) {
		if !open {
			fmt.Fprintf(w, "voted, and the dispute is closed already: gantry audit %s   tx %s\n", j.Lease, tx.Signature)
			return
		}
		fmt.Fprintf(w, "voted: upheld by %s, rejected by %s of %s GNT: %s   tx %s\n%s\n", j.UpheldWeight, j.RejectedWeight, j.TotalWeight, j.Verdict, tx.Signature, j.Next())
	})
}
