package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func customerCommands(s Streams) []*cli.Command {
	return []*cli.Command{
		creditsCommand(s),
		searchCommand(s),
		deployCommand(s),
		templatesCommand(s),
		resumeCommand(s),
		{
			Name: "leases", Aliases: []string{"ls", "ps"}, Usage: "your leases", Flags: asSession(&cli.BoolFlag{Name: "all", Usage: "everybody's"}),
			Action: action(s, (*session).leases),
		},
		{
			Name: "logs", Usage: "output of a lease's job", ArgsUsage: "LEASE",
			Flags: asSession(
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the job ends"},
				&cli.Uint64Flag{Name: "offset", Usage: "skip so many `BYTES`"},
				&cli.BoolFlag{Name: flagRaw, Usage: "on a terminal too, write every byte as it is: the machine may send codes that the terminal obeys"},
			),
			Action: action(s, (*session).logs),
		},
		topCommand(s),
		pruneCommand(s),
		suspendCommand(s),
		serveCommand(s),
		deploymentsCommand(s),
		mcpCommand(s),
		{Name: "stop", Usage: "end a lease; what is not used comes back", ArgsUsage: "LEASE", Flags: asSession(), Action: action(s, (*session).stop)},
		verifyCommand(s),
		{Name: "extend", Usage: "pay for more time at the lease's price", ArgsUsage: "LEASE", Flags: asSession(durationFlags()...), Action: action(s, (*session).extend)},
		{Name: "rate", Usage: "rate a lease that is over, 1 to 5 stars", ArgsUsage: "LEASE STARS", Action: action(s, (*session).rate)},
		{Name: "close", Usage: "close a settled lease and get the rest back at once", ArgsUsage: "LEASE", Action: action(s, (*session).closeLease)},
	}
}

// leaseSummary writes what a person wants to know of a lease after a command.
func leaseSummary(w io.Writer, j *service.Lease) {
	line := fmt.Sprintf("lease %s  %s", j.Address, j.Status)
	if j.EndReason != "" {
		line += " (" + j.EndReason + ")"
	}
	fmt.Fprintf(w, "%s  %d×%s at %s USDC per GPU-hour  %d s paid = %s USDC", line, j.GPUs, j.Model, j.Price, j.PaidSecs, j.Paid)
	if j.AwardPrice != "" {
		fmt.Fprintf(w, "  awarded unjustly at %s: the rest costs less, and the provider may end it", j.AwardPrice)
	}
	if j.Status == market.LeaseRunning.String() {
		fmt.Fprintf(w, "  funded until %s UTC", service.When(j.FundedUntil))
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
	if _, err := s.args(); err != nil {
		return err
	}
	scope, customer, err := s.listed(market.KindLease, market.KindNode, market.KindModel)
	if err != nil {
		return err
	}
	v, now, err := s.snapshotNow(scope)
	if err != nil {
		return err
	}
	all := v.Leases()
	if !customer.IsZero() {
		all = v.LeasesOfCustomer(customer)
		s.remind(v, customer)
	}
	out := service.DescribeLeases(v, all, now)
	return s.done(out, func(w io.Writer) {
		if len(out) == 0 {
			fmt.Fprintln(w, "no leases; closed ones can be looked at with: gantry audit LEASE")
			return
		}
		rows := make([][]string, len(out))
		for i, j := range out {
			rows[i] = []string{j.Address, j.Status, fmt.Sprintf("%d×%s", j.GPUs, j.Model), j.Price, service.Span(int64(j.Used)), j.Paid, j.Reserved, service.When(j.FundedUntil), j.EndReason}
		}
		table(w, "LEASE|STATUS|GPUS|$/GPU-H|USED|PAID|RESERVED|FUNDED UNTIL (UTC)|ENDED", rows)
	})
}

// owned finds a lease that must be the wallet's.
func (s *session) owned(v *view.View, text string) (market.Lease, error) {
	customer, err := s.customer()
	if err != nil {
		return market.Lease{}, err
	}
	l, err := s.lease(v, text)
	if err != nil {
		return l, err
	}
	if l.Customer != customer {
		return l, refused(fmt.Sprintf("lease %s belongs to %s, not to your wallet %s", l.Address, l.Customer, customer), "pass the customer's keypair with --keypair, or a session key of it with --session")
	}
	return l, nil
}
