package keep

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func keeperCommands(s command.Streams) []*cli.Command {
	addr := &cli.StringFlag{Name: "addr", Usage: "libp2p `ADDRESS`, such as /ip4/203.0.113.7/tcp/4001"}
	return []*cli.Command{{
		Name: "keeper", Usage: "keepers (gantry-keeper runs one)",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "all keepers", Action: action(s, (*session).keepers)},
			{Name: "show", Usage: "one keeper", ArgsUsage: "[WALLET]", Action: action(s, (*session).keeperShow)},
			{
				Name: "register", Usage: "bond your wallet as a keeper",
				Flags:  []cli.Flag{&cli.StringFlag{Name: "bond", Usage: "`GNT`"}, addr},
				Action: action(s, (*session).keeperRegister),
			},
			{Name: "activate", Usage: "let your keeper's weight count after its delay", Action: action(s, (*session).keeperActivate)},
			{Name: "update", Usage: "say where your keeper is", Flags: []cli.Flag{addr}, Action: action(s, (*session).keeperUpdate)},
			{
				Name: "vote-dispute", Usage: "say whether a lease's dispute is right; a vote stands", ArgsUsage: "LEASE",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "uphold", Usage: "for the customer"}, &cli.BoolFlag{Name: "reject", Usage: "against it"},
				},
				Action: action(s, (*session).keeperVoteDispute),
			},
			{Name: "exit", Usage: "stop voting; the bond is free after the exit time", Action: action(s, (*session).keeperExit)},
			{Name: "withdraw", Usage: "take the bond after the exit time", Action: action(s, (*session).keeperWithdraw)},
		},
	}}
}

func (s *session) keepers() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	v, err := s.Snapshot(command.Only(market.KindKeeper))
	if err != nil {
		return err
	}
	out := []service.Keeper{}
	mk, _ := v.Market()
	for _, k := range v.Keepers() {
		out = append(out, service.DescribeKeeper(&mk, &k))
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no keepers")
			return
		}
		rows := make([][]string, len(out))
		for i, k := range out {
			rows[i] = []string{market.PlaceName(k.Index), k.Wallet, k.Status, k.Bond, k.Weight, fmt.Sprint(k.Votes), fmt.Sprint(k.Misses), k.Addr}
		}
		w.Table(">#|WALLET|STATUS|>BOND|>WEIGHT~1|>VOTES~2|>MISSES~3|ADDRESS~4", rows)
	})
}

func (s *session) keeperShow() error {
	wallet, err := s.WalletArg()
	if err != nil {
		return err
	}
	mk, err := s.Market()
	if err != nil {
		return err
	}
	k, err := s.Reader().Keeper(s.Context, wallet)
	if err != nil {
		return err
	}
	j := service.DescribeKeeper(&mk, &k)
	return s.Done(j, func(w *terminal.Page) {
		w.Pairs([2]string{"wallet", j.Wallet}, [2]string{"signer", j.Signer}, [2]string{"account", j.Account}, [2]string{"status", j.Status}, [2]string{"bond", j.Bond + " GNT"},
			[2]string{"weight", j.Weight + " GNT"}, [2]string{"votes", fmt.Sprintf("%d, %d missed, last in period %d", j.Votes, j.Misses, j.LastVote)},
			[2]string{"idle", operate.Idleness(&mk, &k)},
			[2]string{"address", j.Addr}, [2]string{"registered", service.When(j.Registered) + " UTC"}, [2]string{"active since", service.When(j.Active)}, [2]string{"exit at", service.When(j.ExitAt)})
		if j.SignerUntil != 0 {
			w.Pairs([2]string{"former", fmt.Sprintf("%s, for which the bond answers until %s UTC", j.FormerSigner, service.When(j.SignerUntil))})
		}
		if j.PaidOutAt != 0 {
			w.Pairs([2]string{"slashed", fmt.Sprintf("%s GNT of the bond went to finders, the last at %s UTC", j.PaidOut, service.When(j.PaidOutAt))})
		}
	})
}

// keeperTx is the result of a transaction about a keeper.
type keeperTx struct {
	Wallet string       `json:"wallet"`
	Tx     service.Sent `json:"transaction"`
}

// keeperAct sends what is built for a keeper, and reports it.
func (s *session) keeperAct(build func(d *operate.Desk) (operate.Action, error)) error {
	if _, err := s.Args(); err != nil {
		return err
	}
	a, tx, err := s.Act(build)
	if err != nil {
		return err
	}
	return s.Done(keeperTx{a.Of.String(), tx}, func(w *terminal.Page) { fmt.Fprintf(w, "keeper %s %s   tx %s\n", a.Of, a.Did, tx.Signature) })
}

func (s *session) keeperRegister() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	bond, err := market.ParseGNT(s.CLI.String("bond"))
	if err != nil {
		return service.Usage("--bond: "+err.Error(), "")
	}
	return s.keeperAct(func(d *operate.Desk) (operate.Action, error) {
		return d.RegisterKeeper(s.Context, bond, s.CLI.String("addr"))
	})
}

func (s *session) keeperActivate() error {
	return s.keeperAct(func(d *operate.Desk) (operate.Action, error) { return d.ActivateKeeper(s.Context) })
}

func (s *session) keeperUpdate() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	return s.keeperAct(func(d *operate.Desk) (operate.Action, error) { return d.MoveKeeper(s.Context, s.CLI.String("addr")) })
}

func (s *session) keeperExit() error {
	return s.keeperAct(func(d *operate.Desk) (operate.Action, error) { return d.ExitKeeper(s.Context) })
}

func (s *session) keeperWithdraw() error {
	return s.keeperAct(func(d *operate.Desk) (operate.Action, error) { return d.WithdrawBond(s.Context) })
}
