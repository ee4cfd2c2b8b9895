package verify

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func disputeCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "dispute", Usage: "what a lease did not give, decided by the keepers' votes",
		Subcommands: []*cli.Command{
			{
				Name: "open", Usage: "dispute a lease of yours, once; a deposit waits for the verdict", ArgsUsage: "LEASE",
				Description: "Only the sha256 of the complaint is written to the chain; the file is sent to the keepers, who give it to each other and to " +
					"whoever asks. The deposit is a tenth of what the lease was paid, at most the market's dispute_deposit, and at least what it " +
					"costs to freeze the stake in question. It is lost if a quorum of keepers rejects the dispute; a quarter of it is if they do " +
					"not decide. An upheld dispute slashes the node's stake after an appeal window, and you are compensated from it; what the " +
					"lease was paid is not paid back.",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "kind", Usage: "`KIND` not-delivered (the job did not run as ordered) or bad-output (it ran, its output is wrong)"},
					&cli.StringFlag{Name: "complaint", Usage: "`FILE` that says and shows what is wrong"},
				},
				Action: action(s, (*session).disputeOpen),
			},
			{
				Name: "send", Usage: "send the complaint of an open dispute to the keepers again", ArgsUsage: "LEASE",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "complaint", Usage: "`FILE` whose sha256 is on chain"}},
				Action: action(s, (*session).disputeSend),
			},
			{
				Name: "answer", Usage: "bring your side of a dispute to the keepers, as the provider of the lease; the newest answer counts", ArgsUsage: "LEASE",
				Description: "Signed with --keypair: the provider's wallet, or the machine's own key (node.json of gantry-agent). Nothing is written to the " +
					"chain. Keepers keep it until the dispute is over, pass it on and show it to their operators.",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "answer", Usage: "`FILE` that says and shows your side, at most 64 KiB"}},
				Action: action(s, (*session).disputeAnswer),
			},
			{
				Name: "read", Usage: "both sides of an open dispute: the customer's complaint and the provider's answer, from the keepers", ArgsUsage: "LEASE",
				Description: "The complaint has the sha256 that is on chain, the answer the signature of the machine or its provider. Neither is " +
					"true for that.",
				Action: action(s, (*session).disputeRead),
			},
			{Name: "show", Usage: "open disputes, or a lease's: votes by weight, verdict, time left", ArgsUsage: "[LEASE]", Action: action(s, (*session).disputeShow)},
		},
	}}
}

// openDispute is the dispute of the lease that a command names, with what belongs to it.
func (s *session) openDispute(lease string) (*view.View, market.Dispute, error) {
	v, err := s.Snapshot(dispute.Scope(lease))
	if err != nil {
		return nil, market.Dispute{}, err
	}
	d, err := dispute.Find(v, lease)
	return v, d, err
}

func (s *session) disputeOpen() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	kind, err := market.ParseDisputeKind(s.CLI.String("kind"))
	if err != nil {
		return service.Usage("--kind: "+err.Error(), "give not-delivered or bad-output")
	}
	complaint, hash, err := readComplaint(s.CLI.String("complaint"))
	if err != nil {
		return err
	}
	var v *view.View
	var l market.Lease
	_, tx, err := s.Act(func(d *operate.Desk) (a operate.Action, err error) {
		if v, l, err = s.OwnLease(s.Snapshot, args[0], query.Kind(market.KindKeeper)); err != nil {
			return a, err
		}
		n, ok := v.Node(l.Node)
		if !ok {
			return a, service.Refused(fmt.Sprintf("dispute refused: node %s is not known", l.Node), "try again")
		}
		a, deposit, err := dispute.Open(s.Context, d, &n, &l, kind, hash)
		if err != nil {
			return a, err
		}
		s.Say("a deposit of %s USDC is reserved until the dispute is closed, %s after it is opened at the latest; it is lost if keepers reject it, and a quarter of it if they do not decide",
			deposit, market.Seconds(d.Market.Params.AppealSecs))
		return a, nil
	})
	if err != nil {
		return err
	}
	d, err := query.Fetch[market.Dispute](s.Context, s.Client, market.DisputeAddress(l.Address), s.Client.WaitLevel())
	if err != nil {
		return err
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	j := dispute.Describe(&d, v.Keepers(), now)
	reached, err := s.sendComplaint(v, l.Address, complaint)
	if err != nil {
		return err
	}
	return s.Done(dispute.Changed{Dispute: j, Open: true, Tx: tx}, func(w *terminal.Page) {
		fmt.Fprintf(w, "disputed: %s   deposit %s USDC   closes at %s UTC, in %s   tx %s\n", j.Kind, j.Deposit, service.When(j.ClosesAt), service.Span(j.SecondsLeft), tx.Signature)
		w.Pairs([2]string{"complaint", s.CLI.String("complaint")}, [2]string{"its sha256", j.ComplaintSHA256},
			[2]string{"reached", fmt.Sprintf("%d of %d keepers", reached, len(v.Keepers()))})
		if reached == 0 {
			fmt.Fprintf(w, "keepers cannot judge what they cannot read. Send it again with: gantry dispute send %s --complaint FILE\n", l.Address)
		}
		fmt.Fprintf(w, "follow it with: gantry dispute show %s\n", l.Address)
	})
}

func (s *session) disputeShow() error {
	if s.CLI.NArg() > 1 {
		return service.Usage(fmt.Sprintf("%q is one argument too many", s.CLI.Args().Get(1)), "write: gantry dispute show [LEASE]")
	}
	v, now, err := s.SnapshotNow(dispute.Scope(s.CLI.Args().First()))
	if err != nil {
		return err
	}
	if text := s.CLI.Args().First(); text != "" {
		d, err := dispute.Find(v, text)
		if err != nil {
			return err
		}
		j := dispute.Describe(&d, v.Keepers(), now)
		return s.Done(j, func(w *terminal.Page) { printDispute(w, &j) })
	}
	out := []dispute.Dispute{}
	for _, d := range v.Disputes() {
		out = append(out, dispute.Describe(&d, v.Keepers(), now))
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no open disputes; past ones are in their leases' histories: gantry audit LEASE")
			return
		}
		rows := make([][]string, len(out))
		for i, j := range out {
			rows[i] = []string{j.Lease, j.Kind, j.Deposit, j.UpheldWeight, j.RejectedWeight, j.TotalWeight, j.Verdict, service.Span(j.SecondsLeft)}
		}
		w.Table("@LEASE|KIND|>DEPOSIT~1|>UPHELD GNT|>REJECTED GNT|>OF GNT|VERDICT|TIME LEFT", rows)
	})
}

func printDispute(w *terminal.Page, j *dispute.Dispute) {
	w.Pairs([2]string{"lease", j.Lease}, [2]string{"node", j.Node}, [2]string{"customer", j.Customer}, [2]string{"kind", j.Kind},
		[2]string{"complaint sha256", j.ComplaintSHA256}, [2]string{"deposit", j.Deposit + " USDC"},
		[2]string{"upheld", fmt.Sprintf("%s of %s GNT  by %v", j.UpheldWeight, j.TotalWeight, j.UpheldBy)},
		[2]string{"rejected", fmt.Sprintf("%s of %s GNT  by %v", j.RejectedWeight, j.TotalWeight, j.RejectedBy)},
		[2]string{"verdict", j.Verdict}, [2]string{"closes", fmt.Sprintf("%s UTC, in %s", service.When(j.ClosesAt), service.Span(j.SecondsLeft))}, [2]string{"next", j.Next()})
}
