package govern

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/governance"
	"github.com/gantry-market/gantry/client/operate"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/realm"
)

func holdersCommand(s command.Streams) *cli.Command {
	out := &cli.Command{Name: "governance", Usage: "votes of those who hold the stake token, by SPL Governance"}
	for _, v := range governance.Verbs {
		c := &cli.Command{Name: v.Name, Usage: v.Usage, ArgsUsage: v.ArgsText(), Action: action(s, func(s *session) error { return s.holders(v) }), Flags: []cli.Flag{
			&cli.StringFlag{Name: "governance-program", Value: realm.Mainnet.String(), Usage: "`ADDRESS` of the instance of SPL Governance"},
			&cli.StringFlag{Name: "treasury", Usage: "`ADDRESS` of the realm's treasury (default: the market's authority)"},
		}}
		if v.Name == governance.Propose {
			c.Flags = append(c.Flags, &cli.StringFlag{Name: "link", Usage: "`URL` of the reasons"},
				&cli.StringSliceFlag{Name: "change", Usage: "`FILE` that a command with --as-vault TREASURY --json has printed; repeat"})
		}
		out.Subcommands = append(out.Subcommands, c)
	}
	return out
}

// holders prints what a verb reads of the realm that governs the market, or sends what the wallet does in it.
func (s *session) holders(v governance.Verb) error {
	args, err := s.Args(v.Args...)
	if err != nil {
		return err
	}
	d := s.Reader()
	if !v.Reads {
		if d, err = s.Desk(); err != nil {
			return err
		}
	}
	h, err := governance.FindHolders(s.Context, d, s.CLI.String("governance-program"), s.CLI.String("treasury"))
	if err != nil {
		return err
	}
	if v.Reads {
		out, err := h.Read(s.Context, args)
		if err != nil {
			return err
		}
		return s.Done(out, func(w *terminal.Page) {
			w.Pairs(out.Pairs()...)
			w.Table("@PROPOSAL|STATE|>YES|>NO|VOTES UNTIL (UTC)|>DONE~1|NAME", out.Rows())
			fmt.Fprint(w, out.Changes())
		})
	}
	all, err := h.Do(s.Context, governance.Wish{Verb: v.Name, Args: args, Changes: s.CLI.StringSlice("change"), Link: s.CLI.String("link")})
	if err != nil {
		return err
	}
	var out marketTx
	for _, a := range all {
		_, tx, err := s.Act(func(*operate.Desk) (operate.Action, error) { return a, nil })
		if err != nil {
			return err
		}
		out = marketTx{a.Of.String(), tx}
	}
	return s.Done(out, func(w *terminal.Page) { fmt.Fprintf(w, "%s   tx %s\n", all[len(all)-1].Did, out.Tx.Signature) })
}
