package rent

import (
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

func sessionKeyCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "session", Usage: "keys that spend your credits up to a cap, for programs that buy compute",
		Description: "A session key orders, extends and ends leases and signs receipts for you, and reserves at most its cap in total, until\n" +
			"it expires. It never withdraws, rates, disputes or names keys. It pays fees and rent itself, so it needs some SOL.\n" +
			"Use it with --session FILE on deploy, leases, logs, stop, extend and order.",
		Subcommands: []*cli.Command{
			{
				Name: "add", Usage: "name a key, or change its cap and expiry", ArgsUsage: "KEY|FILE",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "cap", Usage: "the most `USDC` that it may reserve in total"},
					&cli.DurationFlag{Name: "expires", Value: 24 * time.Hour, Usage: "`TIME` from now on"},
					&cli.StringFlag{Name: "fund", Usage: "`SOL` to send it for fees and rent"},
				},
				Action: action(s, (*session).sessionAdd),
			},
			{Name: "list", Usage: "the keys of your wallet, or of another", ArgsUsage: "[WALLET]", Action: action(s, (*session).sessionList)},
			{Name: "remove", Usage: "take a key's powers back", ArgsUsage: "KEY|FILE", Action: action(s, (*session).sessionRemove)},
		},
	}}
}

func (s *session) sessionAdd() error {
	args, err := s.Args("KEY|FILE")
	if err != nil {
		return err
	}
	key, err := operate.KeyOrFile(args[0])
	if err != nil {
		return err
	}
	if s.CLI.String("cap") == "" {
		return service.Usage("--cap is missing", "give the most USDC that the key may reserve, such as --cap 25")
	}
	most, err := market.ParseUSDC(s.CLI.String("cap"))
	if err != nil || most == 0 {
		return service.Usage(fmt.Sprintf("--cap %s is not an amount of USDC", s.CLI.String("cap")), "such as --cap 25; to take a key back: gantry session remove")
	}
	lasts := s.CLI.Duration("expires")
	if lasts < time.Second {
		return service.Usage(fmt.Sprintf("--expires %s is over at once", lasts), "such as --expires 24h")
	}
	var fund chain.Lamports
	if text := s.CLI.String("fund"); text != "" {
		if fund, err = chain.ParseSOL(text); err != nil {
			return service.Usage("--fund: "+err.Error(), "such as --fund 0.05")
		}
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	return s.sessionDone(func(d *operate.Desk) (operate.Action, error) {
		return d.SetSessionKey(s.Context, operate.SessionKey{Key: key, Cap: most, Expiry: now + int64(lasts/time.Second), Fund: fund})
	})
}

func (s *session) sessionRemove() error {
	args, err := s.Args("KEY|FILE")
	if err != nil {
		return err
	}
	key, err := operate.KeyOrFile(args[0])
	if err != nil {
		return err
	}
	return s.sessionDone(func(d *operate.Desk) (operate.Action, error) { return d.RemoveSessionKey(s.Context, key) })
}

func (s *session) sessionDone(build func(d *operate.Desk) (operate.Action, error)) error {
	a, tx, err := s.Act(build)
	if err != nil {
		return err
	}
	out, err := s.Service.SessionKeys(s.Context, a.Of, s.Client.WaitLevel())
	if err != nil {
		return err
	}
	out.Tx = &tx
	return s.Done(out, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", a.Did, tx.Signature) })
}

func (s *session) sessionList() error {
	var customer solana.PublicKey
	switch args := s.CLI.Args().Slice(); len(args) {
	case 0:
		wallet, err := s.Wallet()
		if err != nil {
			return err
		}
		customer = wallet.PublicKey()
	case 1:
		var err error
		if customer, err = service.Address(args[0], "wallet"); err != nil {
			return err
		}
	default:
		return service.Usage(fmt.Sprintf("%q is one argument too many", args[1]), "write: gantry session list [WALLET]")
	}
	if _, err := s.Market(); err != nil {
		return err
	}
	out, err := s.Service.SessionKeys(s.Context, customer, s.Client.WaitLevel())
	if err != nil {
		return err
	}
	return s.Done(out, func(w *terminal.Page) {
		if len(out.Keys) == 0 {
			fmt.Fprintln(w, "no session keys; name one with: gantry session add KEY --cap USDC")
			return
		}
		rows := make([][]string, len(out.Keys))
		for i, k := range out.Keys {
			state := service.When(k.Expiry)
			if k.Expired {
				state += " (over)"
			}
			rows[i] = []string{k.Key, k.Cap, k.Spent, k.Left, state}
		}
		w.Table("KEY|>CAP~1|>SPENT~2|>LEFT|UNTIL (UTC)", rows)
	})
}
