package verify

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func faultCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{
		{
			Name: "fault", Usage: "slashes that wait for their appeal window, or for the claims of those that were harmed",
			Subcommands: []*cli.Command{
				{Name: "list", Usage: "open faults", Action: action(s, (*session).faults)},
				{Name: "apply", Usage: "apply a fault whose appeal window has passed; anyone may", ArgsUsage: "FAULT", Action: action(s, (*session).faultApply)},
				{Name: "compensate", Usage: "have an applied fault compensate a lease; anyone may", ArgsUsage: "FAULT LEASE", Action: action(s, (*session).faultCompensate)},
				{Name: "close", Usage: "burn what nobody claimed of an applied fault; anyone may", ArgsUsage: "FAULT", Action: action(s, (*session).faultClose)},
				{
					Name: "appeal", Usage: "bring a keeper's signed statement that contradicts a fault", ArgsUsage: "FAULT",
					Flags: []cli.Flag{
						&cli.StringFlag{Name: "keeper", Usage: "`WALLET` of the keeper that signed"},
						&cli.StringFlag{Name: "statement", Usage: "the 144 bytes as `HEX`"}, &cli.StringFlag{Name: "signature", Usage: "`BASE58`"},
					},
					Action: action(s, (*session).faultAppeal),
				},
			},
		},
		{
			Name: "report", Usage: "what the keepers agreed on",
			Subcommands: []*cli.Command{{Name: "show", Usage: "a period's votes and root", ArgsUsage: "PERIOD|latest", Action: action(s, (*session).reportShow)}},
		},
	}
}

func (s *session) faults() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	v, err := s.Snapshot(command.Only(market.KindFault))
	if err != nil {
		return err
	}
	out := []service.Fault{}
	for _, f := range v.Faults() {
		out = append(out, service.DescribeFault(&f))
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no open faults; past ones: gantry audit slash NODE")
			return
		}
		rows := make([][]string, len(out))
		for i, f := range out {
			rows[i] = []string{f.Address, f.Node, fmt.Sprint(f.Period), f.Cause, fmt.Sprint(f.Flags), f.State, f.Amount, f.PoolLeft, service.When(f.ApplicableAt), f.AppealWeight + " of " + f.TotalWeight}
		}
		w.Table("@FAULT|@NODE|>PERIOD|CAUSE|>FLAGS~3|STATE|>SLASH GNT|>UNCLAIMED GNT~2|APPLICABLE (UTC)|APPEAL WEIGHT~1", rows)
	})
}

func (s *session) fault() (market.Fault, error) {
	args, err := s.Args("FAULT")
	if err != nil {
		return market.Fault{}, err
	}
	return s.faultOf(args[0])
}

func (s *session) faultOf(name string) (market.Fault, error) {
	if _, err := s.Market(); err != nil {
		return market.Fault{}, err
	}
	key, err := s.Named(name, "fault", query.Kind(market.KindFault))
	if err != nil {
		return market.Fault{}, err
	}
	return s.Reader().Fault(s.Context, key)
}

// faultTx is the result of a transaction about a fault.
type faultTx struct {
	Fault service.Fault `json:"fault"`
	Tx    service.Sent  `json:"transaction"`
}

// faultAct sends what is built for a fault, and reports it.
func (s *session) faultAct(find func() (market.Fault, error), build func(d *operate.Desk, f *market.Fault) (operate.Action, error)) error {
	var f market.Fault
	a, tx, err := s.Act(func(d *operate.Desk) (a operate.Action, err error) {
		if f, err = find(); err != nil {
			return a, err
		}
		return build(d, &f)
	})
	if err != nil {
		return err
	}
	return s.Done(faultTx{service.DescribeFault(&f), tx}, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", a.Did, tx.Signature) })
}

func (s *session) faultApply() error {
	return s.faultAct(s.fault, func(d *operate.Desk, f *market.Fault) (operate.Action, error) { return d.ApplyFault(s.Context, f) })
}

func (s *session) faultClose() error {
	return s.faultAct(s.fault, func(d *operate.Desk, f *market.Fault) (operate.Action, error) { return d.CloseFault(s.Context, f) })
}

func (s *session) faultCompensate() error {
	var args []string
	find := func() (f market.Fault, err error) {
		if args, err = s.Args("FAULT", "LEASE"); err != nil {
			return f, err
		}
		return s.faultOf(args[0])
	}
	return s.faultAct(find, func(d *operate.Desk, f *market.Fault) (operate.Action, error) {
		_, l, err := s.Lease(s.Snapshot, args[1])
		if err != nil {
			return operate.Action{}, err
		}
		return d.Compensate(f, &l)
	})
}

func (s *session) faultAppeal() error {
	statement, err := operate.ParseStatement(s.CLI.String("keeper"), s.CLI.String("statement"), s.CLI.String("signature"))
	if err != nil {
		return err
	}
	var f market.Fault
	_, tx, err := s.Act(func(d *operate.Desk) (a operate.Action, err error) {
		if f, err = s.fault(); err != nil {
			return a, err
		}
		return d.Appeal(s.Context, &f, statement)
	})
	if err != nil {
		return err
	}
	after, open, err := query.Find[market.Fault](s.Context, s.Client, f.Address, s.Client.WaitLevel())
	if err != nil {
		return err
	}
	return s.Done(faultTx{service.DescribeFault(&f), tx}, func(w *terminal.Page) {
		if !open {
			fmt.Fprintf(w, "the fault is voided: nothing is slashed   tx %s\n", tx.Signature)
			return
		}
		fmt.Fprintf(w, "counted: %s of %s GNT contradict it, more than a third voids it   tx %s\n", market.GNT(after.AppealWeight), market.GNT(after.TotalWeight), tx.Signature)
	})
}
