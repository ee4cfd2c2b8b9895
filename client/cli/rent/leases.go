package rent

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/printable"
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

// leaseSummary writes what a person wants to know of a lease after a command.
func leaseSummary(w *terminal.Page, j *service.Lease) {
	line := fmt.Sprintf("lease %s  %s", j.Address, j.Status)
	if j.EndReason != "" {
		line += " (" + j.EndReason + ")"
	}
	fmt.Fprintf(w, "%s  %d×%s at %s USDC per GPU-hour  %d s paid = %s USDC", line, j.GPUs, j.Model, j.Price, j.PaidSecs, j.Paid)
	if j.AwardPrice != "" {
		fmt.Fprintf(w, "  awarded unjustly at %s: the rest costs less, and the provider may end it", j.AwardPrice)
	}
	if j.Status == market.LeaseRunning.String() {
		fmt.Fprintf(w, "  money ends %s UTC", service.When(j.FundedUntil))
	}
	if j.Output != "" {
		fmt.Fprintf(w, "  output %s", j.Output)
	}
	if j.ExitCode != nil {
		fmt.Fprintf(w, "  exit code %d", *j.ExitCode)
	}
	if j.Detail != "" {
		fmt.Fprintf(w, "  %s", printable.Text(j.Detail))
	}
	fmt.Fprintln(w)
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
	if len(out) == 0 {
		return s.Done(out, func(w *terminal.Page) {
			fmt.Fprintln(w, "no leases; closed ones can be looked at with: gantry audit LEASE")
		})
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteLeases(w, out, now) })
}
