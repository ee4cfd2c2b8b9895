package cli

import (
	"fmt"
	"io"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

func providerCommands(s Streams) []*cli.Command {
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
	Exists bool  `json:"exists"`
	Tx     *sent `json:"transaction,omitempty"`
}

// providerAct sends what is built for a provider, and reports it.
func (s *session) providerAct(build func(d *operate.Desk) (operate.Action, error)) error {
	a, tx, err := s.act(build)
	if err != nil {
		return err
	}
	p, exists, err := s.reader().FindProvider(s.ctx, a.Of)
	if err != nil {
		return err
	}
	j := providerJSON{service.DescribeProvider(a.Of, &p, exists), exists, &tx}
	return s.done(j, func(w io.Writer) {
		fmt.Fprintf(w, "%s   stake %s, locked %s, unstaking %s GNT   tx %s\n", a.Did, j.Stake, j.Locked, j.Unstaking, tx.Signature)
	})
}

func (s *session) providerRegister() error {
	if _, err := s.args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.RegisterProvider(s.ctx) })
}

func (s *session) gntArg() (market.GNT, error) {
	args, err := s.args("AMOUNT")
	if err != nil {
		return 0, err
	}
	amount, err := market.ParseGNT(args[0])
	if err == nil && amount == 0 {
		err = usage("an amount of 0 moves nothing", "give an amount such as 100")
	}
	return amount, err
}

func (s *session) providerStake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.AddStake(s.ctx, amount) })
}

func (s *session) providerUnstake() error {
	amount, err := s.gntArg()
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.Unstake(s.ctx, amount) })
}

func (s *session) providerWithdraw() error {
	if _, err := s.args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.WithdrawStake(s.ctx) })
}

func (s *session) providerPayout() error {
	args, err := s.args("TOKEN_ACCOUNT")
	if err != nil {
		return err
	}
	to, err := address(args[0], "token account")
	if err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.SetPayout(s.ctx, to) })
}

func (s *session) providerClose() error {
	if _, err := s.args(); err != nil {
		return err
	}
	return s.providerAct(func(d *operate.Desk) (operate.Action, error) { return d.CloseProvider(s.ctx) })
}

func (s *session) providerShow() error {
	wallet, err := s.walletArg()
	if err != nil {
		return err
	}
	if _, err := s.market(); err != nil {
		return err
	}
	j, err := s.service.Provider(s.ctx, wallet)
	if err != nil {
		return err
	}
	return s.done(j, func(w io.Writer) {
		pairs(w, [2]string{"wallet", j.Wallet}, [2]string{"account", j.Account}, [2]string{"earnings go to", j.Payout},
			[2]string{"stake", j.Stake + " GNT"}, [2]string{"locked stake", j.Locked + " GNT"},
			[2]string{"unstaking", j.Unstaking + " GNT, free at " + service.When(j.UnstakeAt)}, [2]string{"slashed so far", j.Slashed + " GNT"},
			[2]string{"nodes", fmt.Sprint(j.Nodes)}, [2]string{"running leases", fmt.Sprint(j.Leases)}, [2]string{"pending faults", fmt.Sprint(j.Faults)},
			[2]string{"earned", fmt.Sprintf("%s USDC settled, %s claimed, at most %s more; of leases that are not closed", j.Earned.Settled, j.Earned.Claimed, j.Earned.Unclaimed)})
		for _, m := range j.Machines {
			fmt.Fprintf(w, "node %s   %d×%s   %s   tier %d   %s USDC per GPU-hour   %s\n", m.Address, m.GPUs, m.Model, m.Status, m.Tier, m.Price, service.Plural(len(m.Leases), "open lease"))
			for _, d := range m.ToDo {
				fmt.Fprintf(w, "  to do  %s: %s\n", d.What, d.Do)
			}
		}
	})
}

// walletArg is the wallet that a command is about: the argument, or one's own.
func (s *session) walletArg() (solana.PublicKey, error) {
	if s.cli.NArg() > 1 {
		return solana.PublicKey{}, usage(fmt.Sprintf("%q is one argument too many", s.cli.Args().Get(1)), "")
	}
	return s.walletOr(s.cli.Args().First(), "wallet")
}

// walletOr is the wallet that text names, or one's own without a text; what it is of is said when it is not an address.
func (s *session) walletOr(text, what string) (solana.PublicKey, error) {
	if text != "" {
		return address(text, what)
	}
	key, err := s.wallet()
	if err != nil {
		return solana.PublicKey{}, err
	}
	return key.PublicKey(), nil
}
