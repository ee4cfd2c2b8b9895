package rent

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
)

func customerCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{
		creditsCommand(s),
		searchCommand(s), gpusCommand(s), whyCommand(s),
		deployCommand(s),
		clusterCommand(s),
		vpnCommand(s),
		templatesCommand(s), modelsCommand(s),
		resumeCommand(s),
		{
			Name: "leases", Aliases: []string{"ls", "ps"}, Usage: "your leases", Flags: command.AsSession(&cli.BoolFlag{Name: "all", Usage: "everybody's"}),
			Action: action(s, (*session).leases),
		},
		{
			Name: "logs", Usage: "output of a lease's job", ArgsUsage: "LEASE",
			Flags: command.AsSession(
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the job ends"},
				&cli.Uint64Flag{Name: "offset", Usage: "skip so many `BYTES`"},
				&cli.BoolFlag{Name: command.FlagRaw, Usage: "on a terminal too, write every byte as it is: the machine may send codes that the terminal obeys"},
			),
			Action: action(s, (*session).logs),
		},
		topCommand(s),
		pruneCommand(s),
		volumeCommand(s),
		suspendCommand(s),
		deploymentsCommand(s),
		{Name: "stop", Usage: "end a lease; what is not used comes back", ArgsUsage: "LEASE", Flags: command.AsSession(), Action: action(s, (*session).stop)},
		{Name: "extend", Usage: "pay for more time at the lease's price", ArgsUsage: "LEASE", Flags: command.AsSession(durationFlags()...), Action: action(s, (*session).extend)},
		{Name: "rate", Usage: "rate a lease that is over, 1 to 5 stars", ArgsUsage: "LEASE STARS", Action: action(s, (*session).rate)},
		{Name: "close", Usage: "close a settled lease and get the rest back at once", ArgsUsage: "LEASE", Action: action(s, (*session).closeLease)},
	}
}

func (s *session) leases() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	scope, customer, err := s.Listed(market.KindLease, market.KindNode, market.KindModel)
	if err != nil {
		return err
	}
	v, now, err := s.SnapshotNow(scope)
	if err != nil {
		return err
	}
	all := v.Leases()
	if !customer.IsZero() {
		all = v.LeasesOfCustomer(customer)
		s.remind(v, customer)
	}
	out := service.DescribeLeases(v, all, now)
	known, _ := s.Purchases() // a reader without a wallet has none
	buy.WithNames(out, known)
	if !customer.IsZero() { // names of everybody's leases are not here
		if f, err := s.FolderOf(customer); err == nil {
			if err := buy.NameLeases(out, f, nil); err != nil {
				s.Say(" · %v", err)
			}
		}
	}
	if len(out) == 0 {
		return s.Done(out, func(w *terminal.Page) {
			fmt.Fprintln(w, "no leases; closed ones can be looked at with: gantry audit LEASE")
		})
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteLeases(w, out, now) })
}
