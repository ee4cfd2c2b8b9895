package rent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func topCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "top", Usage: "what a lease uses and costs, until interrupted", ArgsUsage: "LEASE",
		Description: "Processors, memory, disk, volume, network and GPUs are what the machine says of the lease's job; seconds and USDC are\n" +
			"what the chain says. The most that can be owed now is what the seconds so far cost if none was down.\n" +
			"On a terminal the keys q, s, e, l and ? leave, name the command that stops, extends or shows the output, and help. A pipe\n" +
			"gets one line of name=value each time.",
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
	err = s.watch(l, func(ctx context.Context, take func(terminal.Seen) error) error {
		now := func(ctx context.Context) (int64, error) { return s.Client.Now(ctx) }
		return container.Watch(ctx, r, l, now, every, func(t service.Use) error {
			return take(seenOf(v, l, t, s.Service.Clock.Latest(ctx).Unix()))
		})
	})
	if errors.Is(err, terminal.ErrSeen) || s.Context.Err() != nil {
		return nil
	}
	return err
}

// watch shows what is seen of a lease, as is best where it is shown.
func (s *session) watch(l market.Lease, watch terminal.Watch) error {
	at, drawn := s.Screen()
	if once := s.CLI.Bool("once"); drawn && s.Terminal && !once {
		next, err := terminal.Top(s.Context, at, s.In, l.Address.String(), watch)
		if next != "" {
			fmt.Fprintln(s.Out, next)
		}
		return err
	} else if once || s.JSON {
		return watch(s.Context, func(seen terminal.Seen) error {
			if drawn {
				return errors.Join(terminal.WriteTop(at, seen), terminal.ErrSeen)
			}
			return errors.Join(s.Done(seen.Use, func(w io.Writer) { terminal.WriteUse(w, &seen.Use) }), terminal.ErrSeen)
		})
	}
	return watch(s.Context, func(seen terminal.Seen) error {
		_, err := fmt.Fprintln(s.Out, terminal.UseLine(&seen.Use))
		return err
	})
}

// seenOf is what is known of a lease now.
func seenOf(v *view.View, l market.Lease, use service.Use, now int64) terminal.Seen {
	if known, ok := v.Lease(l.Address); ok {
		l = known
	}
	n, _ := v.Node(l.Node) // without it the region is not told
	return terminal.Seen{Lease: service.DescribeLease(v, &l, now), Region: n.Region(), Use: use, Now: now}
}
