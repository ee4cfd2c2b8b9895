package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/sdk/browserwallet"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// withAccount runs an action on the keeper's account.
func withAccount(f func(*cli.Context, *daemon.Account, daemon.Config) error) cli.ActionFunc {
	return func(c *cli.Context) (err error) {
		conf, err := config(c)
		if err != nil {
			return err
		}
		defer conf.Client.Close()
		if with := c.String(browserwallet.FlagName); with != "" {
			w, err := browserwallet.FromFlag(c.Context, with, conf.Client, c.Command.HelpName, c.App.ErrWriter, conf.Log)
			if err != nil {
				return err
			}
			defer w.Close()
			conf.Owner = w
		}
		a, err := daemon.OpenAccount(c.Context, conf)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, a.Close()) }()
		return f(c, a, conf)
	}
}

func registerCommand() *cli.Command {
	return &cli.Command{
		Name: "register", Usage: "bond this wallet as a keeper and write its address on chain",
		Flags: append(append(commonFlags(), addressFlags()...), jsonFlag(), hotFlag(), browserwallet.NewFlag(),
			&cli.StringFlag{Name: "bond", Usage: "stake tokens to bond, such as 1000 (default: the market's minimum)"},
			&cli.BoolFlag{Name: "no-wait", Usage: "do not wait until the weight counts"},
		),
		Action: withAccount(func(c *cli.Context, a *daemon.Account, conf daemon.Config) error {
			bond := market.GNT(a.Market().Params.MinBond)
			if c.IsSet("bond") {
				var err error
				if bond, err = market.ParseGNT(c.String("bond")); err != nil {
					return fmt.Errorf("--bond: %w", err)
				}
			}
			signer, err := hot(c, a)
			if err != nil {
				return err
			}
			fresh, err := a.Register(c.Context, bond, signer)
			if err != nil {
				return err
			}
			if !c.Bool("no-wait") {
				if _, err := a.Activate(c.Context); err != nil {
					return err
				}
			}
			if !c.Bool("json") {
				what := "was a keeper before"
				if fresh {
					what = "is bonded as a keeper"
				}
				fmt.Fprintf(c.App.Writer, "%s %s\n", a.Wallet(), what)
			}
			return printStatus(c, a, conf)
		}),
	}
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show the keeper's bond, votes and address", Flags: append(commonFlags(), jsonFlag()),
		Action: withAccount(printStatus),
	}
}

func exitCommand() *cli.Command {
	return &cli.Command{
		Name: "exit", Usage: "stop counting as a keeper and begin to wait for the bond", Flags: append(commonFlags(), jsonFlag(), browserwallet.NewFlag()),
		Action: withAccount(func(c *cli.Context, a *daemon.Account, conf daemon.Config) error {
			at, err := a.Exit(c.Context)
			if err != nil {
				return err
			}
			if !c.Bool("json") {
				fmt.Fprintf(c.App.Writer, "the bond can be taken back with `gantry-keeper withdraw` from %s on\n", at.Format(time.RFC3339))
			}
			return printStatus(c, a, conf)
		}),
	}
}

func withdrawCommand() *cli.Command {
	return &cli.Command{
		Name: "withdraw", Usage: "take the bond back after the exit time", Flags: append(commonFlags(), jsonFlag(), browserwallet.NewFlag()),
		Action: withAccount(func(c *cli.Context, a *daemon.Account, _ daemon.Config) error {
			bond, err := a.Withdraw(c.Context)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeJSON(c.App.Writer, map[string]string{"wallet": a.Wallet().String(), "withdrawn": bond.String()})
			}
			fmt.Fprintf(c.App.Writer, "%s GNT withdrawn to %s\n", bond, a.Wallet())
			return nil
		}),
	}
}

// status is a keeper as shown.
type status struct {
	Wallet  solana.PublicKey `json:"wallet"`
	Account solana.PublicKey `json:"account"`
	// Signer signs for the keeper; FormerSigner is liable until SignerUntil as well.
	Signer       solana.PublicKey  `json:"signer"`
	FormerSigner *solana.PublicKey `json:"former_signer,omitempty"`
	SignerUntil  *time.Time        `json:"signer_until,omitempty"`
	State        string            `json:"state"`
	Bond         string            `json:"bond_gnt"`
	Weight       string            `json:"weight_gnt"`
	Index        *uint16           `json:"index,omitempty"`
	Address      string            `json:"address"`
	Registered   time.Time         `json:"registered_at"`
	ExitAt       *time.Time        `json:"exit_at,omitempty"`
	Votes        uint64            `json:"votes"`
	Misses       uint64            `json:"misses"`
	LastPeriod   uint64            `json:"last_vote_period"`
	// Missed is how many reports became final since it last voted in time.
	Missed uint64 `json:"missed_reports"`
	SOL    string `json:"sol"`
}

func readStatus(ctx context.Context, a *daemon.Account, conf daemon.Config) (status, error) {
	k, ok, err := a.Keeper(ctx)
	if err != nil {
		return status{}, err
	}
	if !ok {
		return status{}, fmt.Errorf("%w: %s; bond it with `gantry-keeper register --bond N`", daemon.ErrNotRegistered, a.Wallet())
	}
	balance, err := conf.Client.Balance(ctx, k.SigningKey(), chain.Confirmed)
	if err != nil {
		return status{}, err
	}
	mk := a.Market()
	s := status{
		Wallet: k.Wallet, Account: k.Address, State: k.State().String(), Bond: market.GNT(k.Bond).String(),
		Weight: market.GNT(k.Weight).String(), Index: k.Place(), Address: k.Addr(),
		Registered: time.Unix(k.RegisteredAt, 0).UTC(), Votes: k.Votes, Misses: k.Misses, LastPeriod: k.LastVotePeriod,
		SOL: balance.String(), Missed: k.MissedReports(&mk),
	}
	s.Signer = k.SigningKey()
	if until := time.Unix(k.SignerUntil, 0).UTC(); a.Now().Before(until) {
		s.FormerSigner, s.SignerUntil = &k.FormerSigner, &until
	}
	if k.ExitAt != 0 {
		at := time.Unix(k.ExitAt, 0).UTC()
		s.ExitAt = &at
	}
	return s, nil
}

func printStatus(c *cli.Context, a *daemon.Account, conf daemon.Config) error {
	s, err := readStatus(c.Context, a, conf)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, s)
	}
	w := c.App.Writer
	fmt.Fprintf(w, "wallet      %s\nsigner      %s\naccount     %s\nstate       %s\nbond        %s GNT\nweight      %s GNT\nindex       %s\naddress     %s\n",
		s.Wallet, s.Signer, s.Account, s.State, s.Bond, s.Weight, market.PlaceName(s.Index), s.Address)
	fmt.Fprintf(w, "votes       %d (missed %d, last in period %d)\nbalance     %s\n", s.Votes, s.Misses, s.LastPeriod, s.SOL)
	if s.SignerUntil != nil {
		fmt.Fprintf(w, "former      %s, for which the bond answers until %s\n", s.FormerSigner, s.SignerUntil.Format(time.RFC3339))
	}
	if s.Missed > 0 {
		fmt.Fprintf(w, "idle        %d final reports without its vote; above %d anyone may suspend it\n", s.Missed, market.IdleReports)
	}
	if s.ExitAt != nil {
		fmt.Fprintf(w, "bond until  %s\n", s.ExitAt.Format(time.RFC3339))
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
