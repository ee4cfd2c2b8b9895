package provide

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func providerCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "provider", Usage: "your side as an owner of machines",
		Subcommands: []*cli.Command{
			{Name: "register", Usage: "become a provider", Action: action(s, (*session).providerRegister)},
			{Name: "stake", Usage: "add GNT of your wallet as stake", ArgsUsage: "AMOUNT", Action: action(s, (*session).providerStake)},
			{Name: "unstake", Usage: "ask stake back that no node needs; it waits out the cooldown", ArgsUsage: "AMOUNT", Action: action(s, (*session).providerUnstake)},
			{Name: "withdraw", Usage: "take out stake whose cooldown has passed", Action: action(s, (*session).providerWithdraw)},
			{Name: "payout", Usage: "send earnings to another USDC account of your wallet", ArgsUsage: "TOKEN_ACCOUNT", Action: action(s, (*session).providerPayout)},
			{Name: "show", Usage: "stake, nodes and faults", ArgsUsage: "[WALLET]", Action: action(s, (*session).providerShow)},
			{Name: "close", Usage: "leave, with the rent", Action: action(s, (*session).providerClose)},
		},
	}}
}

// providerJSON is a provider as printed.
type providerJSON struct {
	service.ProviderAccount
	Exists bool          `json:"exists"`
	Tx     *service.Sent `json:"transaction,omitempty"`
}

// providerAct sends what is built for a provider, and reports it.
func (s *session) providerAct(build func(d *operate.Desk) (operate.Action, error)) error {
	a, tx, err := s.Act(build)
	if err != nil {
		return err
	}
	p, exists, err := s.Reader().FindProvider(s.Context, a.Of)
	if err != nil {
		return err
	}
	j := providerJSON{service.DescribeProvider(a.Of, &p, exists), exists, &tx}
	return s.Done(j, func(w *terminal.Page) {
		has := ""
		if exists {
			has = fmt.Sprintf("   stake %s, locked %s, unstaking %s GNT", j.Stake, j.Locked, j.Unstaking)
		}
		fmt.Fprintf(w, "%s%s   tx %s\n", a.Did, has, tx.Signature)
	})
}

func (s *session) providerRegister() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.RegisterProvider(s.Context) })
}

func (s *session) gntArg() (market.GNT, error) {
	args, err := s.Args("AMOUNT")
	if err != nil {
		return 0, err
	}
	amount, err := market.ParseGNT(args[0])
	if err == nil && amount == 0 {
		err = service.Usage("an amount of 0 moves nothing", "give an amount such as 100")
	}
	return amount, err
}

func (s *session) providerStake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.AddStake(s.Context, amount) })
}

func (s *session) providerUnstake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.Unstake(s.Context, amount) })
}

func (s *session) providerWithdraw() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.WithdrawStake(s.Context) })
}

func (s *session) providerPayout() error {
	args, err := s.Args("TOKEN_ACCOUNT")
	if err != nil {
		return err
	}
	to, err := service.Address(args[0], "token account")
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.SetPayout(s.Context, to) })
}

func (s *session) providerClose() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.CloseProvider(s.Context) })
}

func (s *session) providerShow() error {
	wallet, err := s.WalletArg()
	if err != nil {
		return err
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	j, err := s.Service.Provider(s.Context, wallet)
	if err != nil {
		return err
	}
	return s.Done(j, func(w *terminal.Page) {
		w.Pairs([2]string{"wallet", j.Wallet}, [2]string{"account", j.Account}, [2]string{"earnings go to", j.Payout},
			[2]string{"stake", j.Stake + " GNT"}, [2]string{"locked stake", j.Locked + " GNT"},
			[2]string{"unstaking", j.Unstaking + " GNT, free at " + service.When(j.UnstakeAt)}, [2]string{"slashed so far", j.Slashed + " GNT"},
			[2]string{"nodes", fmt.Sprint(j.Nodes)}, [2]string{"running leases", fmt.Sprint(j.Leases)}, [2]string{"pending faults", fmt.Sprint(j.Faults)},
			[2]string{"earned", fmt.Sprintf("%s USDC settled and %s claimed, at most %s more, from leases that are not closed yet", j.Earned.Settled, j.Earned.Claimed, j.Earned.Unclaimed)})
		if len(j.Machines) == 0 {
			return
		}
		fmt.Fprintln(w)
		rows := make([][]string, len(j.Machines))
		for i, m := range j.Machines {
			rows[i] = []string{m.Address, fmt.Sprintf("%d×%s", m.GPUs, m.Model), m.Status, fmt.Sprint(m.Tier), m.Price, fmt.Sprint(len(m.Leases))}
		}
		w.Table("@NODE|GPUS|STATUS|>TIER|>$/GPU-H|>OPEN LEASES", rows)
		for _, m := range j.Machines {
			for _, d := range m.ToDo {
				w.Hang("to do   ", fmt.Sprintf("node %s: %s: %s", m.Address, d.What, d.Do))
			}
		}
	})
}
