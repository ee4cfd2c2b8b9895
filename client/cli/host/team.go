package host

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/client/terminal"
)

const (
	flagRole   = "role"
	flagWallet = "wallet"
	flagHead   = "head"
	flagCheck  = "check"
)

func teamCommands(s command.Streams) []*cli.Command {
	role := &cli.StringFlag{Name: flagRole, Usage: "`ROLE` viewer, deployer or owner"}
	budget := &cli.StringFlag{Name: flagBudget, Usage: "`NAME` of the budget that it buys from; main is the server's own session key"}
	return []*cli.Command{{
		Name: "team", Usage: "members, tokens and budgets of gantry serve, and the log of what they change",
		Description: "Works on the folder of the server with the same --session (or --customer) and --state-dir, also while it runs. Owners do the\n" +
			"same over HTTP at /v1/team. Viewers read; deployers buy from their budget, and stop, extend and enter what was bought from\n" +
			"it; owners do everything. A budget is a session key: what it may spend is its cap on chain.",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "members, tokens and budgets", Flags: command.AsSession(), Action: action(s, (*session).teamShow)},
			{Name: "member", Usage: "members", Subcommands: []*cli.Command{
				{
					Name: "set", Usage: "add a member, or change it", ArgsUsage: "NAME",
					Flags:  command.AsSession(role, budget, &cli.StringFlag{Name: flagWallet, Usage: "`WALLET` that signs its browser in"}),
					Action: action(s, (*session).teamMemberSet),
				},
				{Name: "remove", Usage: "take a member out, and revoke its tokens", ArgsUsage: "NAME", Flags: command.AsSession(), Action: action(s, (*session).teamMemberRemove)},
			}},
			{Name: "token", Usage: "tokens of members", Subcommands: []*cli.Command{
				{
					Name: "add", Usage: "make a token, which is shown once", ArgsUsage: "MEMBER NAME",
					Flags:  command.AsSession(role, budget, &cli.DurationFlag{Name: "expires", Value: 90 * 24 * time.Hour, Usage: "`TIME` from now on"}),
					Action: action(s, (*session).teamTokenAdd),
				},
				{Name: "revoke", Usage: "end a token", ArgsUsage: "NAME", Flags: command.AsSession(), Action: action(s, (*session).teamTokenRevoke)},
			}},
			{Name: "budget", Usage: "budgets", Subcommands: []*cli.Command{
				{Name: "add", Usage: "make a budget with a session key, which your wallet then names with a cap", ArgsUsage: "NAME", Flags: command.AsSession(), Action: action(s, (*session).teamBudgetAdd)},
			}},
			{
				Name: "log", Usage: "what was changed, by whom",
				Flags: command.AsSession(
					&cli.BoolFlag{Name: flagCheck, Usage: "read the whole log, and say whether a line was changed or removed"},
					&cli.StringFlag{Name: flagHead, Usage: "with --check: `HASH` of a line that was noted earlier, which the log must have"},
					&cli.IntFlag{Name: "limit", Value: 20, Usage: "the last `N` lines"},
				),
				Action: action(s, (*session).teamLog),
			},
		},
	}}
}

// team is the team of the server with the command's session key.
func (s *session) team() (*team.Store, error) {
	if _, err := s.served(); err != nil {
		return nil, err
	}
	f, err := s.Folder()
	if err != nil {
		return nil, err
	}
	return team.Open(f.Dir())
}

// byCommand is the caller of a command, which has the server's folder.
func byCommand() team.Caller {
	return team.Caller{Member: team.MemberServer, Token: team.TokenCommand, Role: team.Owner}
}

// teamArgs reads the arguments and opens the team.
func (s *session) teamArgs(names ...string) ([]string, *team.Store, error) {
	args, err := s.Args(names...)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.team()
	return args, t, err
}

// teamDone prints the team, or why it was not changed.
func (s *session) teamDone(t *team.Store, err error) error {
	if err != nil {
		return teamRefused(err)
	}
	all, err := t.Team()
	if err != nil {
		return err
	}
	return s.Done(all, func(w *terminal.Page) {
		rows := [][]string{}
		for _, m := range all.Members {
			rows = append(rows, []string{m.Name, string(m.Role), m.Budget, m.Wallet})
		}
		w.Table("MEMBER|ROLE|BUDGET|WALLET", rows)
		fmt.Fprintln(w)
		rows = [][]string{}
		for _, x := range all.Tokens {
			state := "until " + service.When(x.Expires.Unix())
			switch {
			case !x.Revoked.IsZero():
				state = "revoked " + service.When(x.Revoked.Unix())
			case time.Now().After(x.Expires):
				state = "expired " + service.When(x.Expires.Unix())
			}
			rows = append(rows, []string{x.Name, x.Member, string(x.Role), x.Budget, state})
		}
		w.Table("TOKEN|MEMBER|ROLE|BUDGET~1|STATE (UTC)", rows)
		fmt.Fprintln(w)
		rows = [][]string{}
		for _, b := range all.Budgets {
			rows = append(rows, []string{b.Name, b.Key})
		}
		w.Table("BUDGET|SESSION KEY", rows)
	})
}

func teamRefused(err error) error {
	return service.Usage(err.Error(), "see: gantry team show, gantry team --help")
}

func (s *session) teamShow() error {
	_, t, err := s.teamArgs()
	if err != nil {
		return err
	}
	return s.teamDone(t, nil)
}

func (s *session) teamMemberSet() error {
	args, t, err := s.teamArgs("NAME")
	if err != nil {
		return err
	}
	return s.teamDone(t, t.PutMember(byCommand(), team.Member{
		Name: args[0], Role: team.Role(s.CLI.String(flagRole)), Budget: s.CLI.String(flagBudget), Wallet: s.CLI.String(flagWallet),
	}))
}

func (s *session) teamMemberRemove() error {
	args, t, err := s.teamArgs("NAME")
	if err != nil {
		return err
	}
	return s.teamDone(t, t.RemoveMember(byCommand(), args[0]))
}

func (s *session) teamTokenAdd() error {
	args, t, err := s.teamArgs("MEMBER", "NAME")
	if err != nil {
		return err
	}
	ask := team.MemberToken{Member: args[0], Name: args[1], Role: team.Role(s.CLI.String(flagRole)), Budget: s.CLI.String(flagBudget)}
	x, text, err := t.AddToken(byCommand(), ask, s.CLI.Duration("expires"))
	if err != nil {
		return teamRefused(err)
	}
	out := struct {
		team.MemberToken
		Text string `json:"token"`
	}{x, text}
	return s.Done(out, func(w *terminal.Page) {
		fmt.Fprintf(w, "token   %s   (it is not shown again)\n%s of %s may do what a %s may, until %s UTC\n", text, x.Name, x.Member, x.Role, service.When(x.Expires.Unix()))
	})
}

func (s *session) teamTokenRevoke() error {
	args, t, err := s.teamArgs("NAME")
	if err != nil {
		return err
	}
	return s.teamDone(t, t.RevokeToken(byCommand(), args[0]))
}

func (s *session) teamBudgetAdd() error {
	args, t, err := s.teamArgs("NAME")
	if err != nil {
		return err
	}
	b, err := t.AddBudget(byCommand(), args[0])
	if err != nil {
		return teamRefused(err)
	}
	return s.Done(b, func(w *terminal.Page) {
		fmt.Fprintf(w, "budget  %s has the session key %s\nits cap is what the customer's wallet says: gantry session add %s --cap USDC --expires TIME --fund SOL\n", b.Name, b.Key, b.Key)
	})
}

// logJSON is the log as printed.
type logJSON struct {
	team.Checked
	Changes []team.Line `json:"changes,omitempty"`
}

func (s *session) teamLog() error {
	_, t, err := s.teamArgs()
	if err != nil {
		return err
	}
	if s.CLI.Bool(flagCheck) {
		c, err := t.Check(s.CLI.String(flagHead))
		if err != nil {
			return service.Refused(err.Error(), "somebody has changed team.log: compare it with a backup")
		}
		return s.Done(logJSON{Checked: c}, func(w *terminal.Page) {
			fmt.Fprintf(w, "%d lines, none changed or missing; the last has the hash %s\n", c.Lines, c.Head)
		})
	}
	limit := s.CLI.Int("limit")
	if limit < 1 {
		return service.Usage(fmt.Sprintf("--limit %d is not a number of lines", limit), "such as --limit 20")
	}
	lines, c, err := t.Lines(0, true, limit)
	if err != nil {
		return service.Refused(err.Error(), "somebody has changed team.log: see gantry team log --check")
	}
	return s.Done(logJSON{c, lines}, func(w *terminal.Page) {
		rows := make([][]string, len(lines))
		for i, l := range lines {
			what := l.Action
			if l.To != "" {
				what += " " + l.To
			}
			if l.Of > 0 {
				what = fmt.Sprintf("%d: %s", l.Of, l.Result)
			}
			rows[i] = []string{fmt.Sprint(l.N), service.When(l.At.Unix()), l.Member, l.Token, what}
		}
		w.Table(">LINE|TIME (UTC)|MEMBER|TOKEN~1|WHAT", rows)
	})
}
