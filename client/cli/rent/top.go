package rent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func topCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "top", Usage: "what a lease uses and costs, until interrupted", ArgsUsage: "LEASE",
		Description: "Processors, memory, disk, volume, network and GPUs are what the machine says of the lease's job; seconds and USDC are\n" +
			"what the chain says. The most that can be owed now is what the seconds so far cost if none was down.",
		Flags: command.AsSession(
			&cli.BoolFlag{Name: "once", Usage: "print it once and end; --json prints it once too"},
			&cli.DurationFlag{Name: "every", Value: container.WatchEvery, Usage: "look so often, at least every `SECOND`"},
		),
		Action: action(s, (*session).top),
	}
}

// top shows what a lease uses and costs.
func (s *session) top() error {
	args, err := s.Args("LEASE")
	if err != nil {
		return err
	}
	every := s.CLI.Duration("every")
	if every < time.Second {
		return service.Usage(fmt.Sprintf("--every %s is too often", every), "machines measure once a second at most")
	}
	scope, err := s.AboutLease(args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	v, err := s.Live(scope)
	if err != nil {
		return err
	}
	l, err := s.Owned(v, args[0])
	if err != nil {
		return err
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	once := s.JSON || s.CLI.Bool("once")
	err = container.Watch(s.Context, r, l, func(context.Context) (int64, error) { return s.Now() }, every, func(t service.Use) error {
		people := func(w io.Writer) { printUse(w, &t) }
		if once {
			return errors.Join(s.Done(t, people), errSeen)
		}
		if s.Terminal {
			fmt.Fprint(s.Out, "\033[H\033[2J")
		}
		people(s.Out)
		return nil
	})
	if errors.Is(err, errSeen) || s.Context.Err() != nil {
		return nil
	}
	return err
}

// errSeen ends what watches a lease.
var errSeen = errors.New("seen")

// printUse writes it for people.
func printUse(w io.Writer, t *service.Use) {
	of := func(limit string, known bool) string {
		if !known {
			return ""
		}
		return " of " + limit
	}
	fmt.Fprintf(w, "lease    %s   %s UTC\n", t.Lease, t.Measured.Format("15:04:05"))
	fmt.Fprintf(w, "cpu      %.2f%s busy   %.1f s so far\n", t.CPUs, of(fmt.Sprintf("%g", t.CPULimit), t.CPULimit > 0), t.CPUSecs)
	fmt.Fprintf(w, "memory   %s%s\n", command.Mebibytes(t.Memory), of(command.Mebibytes(t.MemoryLimit), t.MemoryLimit > 0))
	fmt.Fprintf(w, "disk     %s%s\n", command.Mebibytes(t.Disk), of(command.Mebibytes(t.DiskLimit), t.DiskLimit > 0))
	if t.VolumeSize > 0 {
		fmt.Fprintf(w, "volume   %s%s\n", command.Mebibytes(t.Volume), of(command.Mebibytes(t.VolumeSize), true))
	}
	if n := t.Network; n != nil {
		fmt.Fprintf(w, "network  sent %s, %s/s   received %s, %s/s\n", command.Mebibytes(n.Sent), command.Mebibytes(uint64(n.SentRate)), command.Mebibytes(n.Received), command.Mebibytes(uint64(n.ReceivedRate)))
	}
	for i, g := range t.GPUs {
		fmt.Fprintf(w, "gpu %-4d %s\n", i, gpuLine(g))
	}
	fmt.Fprintf(w, "cost     %s USDC an hour   %d s paid = %s USDC   at most %d s owed = %s USDC   funded until %s UTC\n",
		t.Cost.PerHour, t.Cost.PaidSecs, t.Cost.Paid, t.Cost.Used, t.Cost.Owed, service.When(t.Cost.FundedUntil))
}

// gpuLine is one line about a GPU. What the machine says is made fit for a terminal.
func gpuLine(g service.GPUUse) string {
	parts := []string{printable.Text(g.Name)}
	if g.Simulated {
		parts = append(parts, "SIMULATED: the readings mean nothing")
	}
	if g.Missing {
		return strings.Join(append(parts, "does not answer"), "   ")
	}
	if g.Percent != nil {
		parts = append(parts, fmt.Sprintf("%d %% busy", *g.Percent))
	}
	if g.MemoryUsedMiB != nil {
		parts = append(parts, fmt.Sprintf("%d of %d MiB", *g.MemoryUsedMiB, g.MemoryMiB))
	}
	if g.TempC != nil {
		parts = append(parts, fmt.Sprintf("%d °C", *g.TempC))
	}
	if g.PowerMW != nil {
		parts = append(parts, fmt.Sprintf("%.0f W", float64(*g.PowerMW)/1000))
	}
	return strings.Join(parts, "   ")
}
