package rent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/screen/top"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func topCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "top", Usage: "what a lease uses and costs, until interrupted", ArgsUsage: "LEASE",
		Description: "Processors, memory, disk, volume, network and GPUs are what the machine says of the lease's job; seconds and USDC are\n" +
			"what the chain says. The most that can be owed now is what the seconds so far cost if none was down.\n" +
			"On a terminal, q leaves, and ? shows the other keys. A pipe gets one line of name=value each time.",
		Flags: command.AsSession(
			&cli.BoolFlag{Name: "once", Usage: "print it once and end, as -o json and -o yaml do"},
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
	v, l, err := s.OwnLease(s.Live, args[0], query.Kind(market.KindKeeper))
	if err != nil {
		return err
	}
	r, err := s.Dial(v)
	if err != nil {
		return err
	}
	err = s.watch(l.Address.String(), func(ctx context.Context, take func(*service.Use, top.Seen) error) error {
		now := func(ctx context.Context) (int64, error) { return s.Client.Now(ctx) }
		return container.Watch(ctx, r, l, now, every, func(t service.Use) error {
			return take(&t, seenOf(v, l, &t, s.Service.Clock.Latest(ctx).Unix()))
		})
	})
	if errors.Is(err, errSeen) || s.Context.Err() != nil {
		return nil
	}
	return err
}

// errSeen ends what watches a lease.
var errSeen = errors.New("seen")

// watch shows what a lease uses, as is best where it is shown.
func (s *session) watch(lease string, watch func(context.Context, func(*service.Use, top.Seen) error) error) error {
	at, drawn := s.Screen()
	once := s.Format.Document() || s.CLI.Bool("once")
	if drawn && s.Terminal && !once {
		next, err := top.Show(s.Context, at, s.In, lease, func(ctx context.Context, take func(top.Seen) error) error {
			return watch(ctx, func(_ *service.Use, seen top.Seen) error { return take(seen) })
		})
		if next != "" {
			fmt.Fprintln(s.Streams.Out, next)
		}
		return err
	}
	return watch(s.Context, func(use *service.Use, seen top.Seen) error {
		if once {
			return errors.Join(s.Done(use, func(w *terminal.Page) { terminal.WriteUse(w, use, seen) }), errSeen)
		}
		_, err := fmt.Fprintln(s.Streams.Out, terminal.UseLine(use))
		return err
	})
}

// seenOf is what is known of a lease now.
func seenOf(v *view.View, l market.Lease, use *service.Use, now int64) top.Seen {
	if known, ok := v.Lease(l.Address); ok {
		l = known
	}
	n, _ := v.Node(l.Node) // without it the region is not told
	shown := service.DescribeLease(v, &l, now)
	return terminal.SeenOf(&shown, n.Region(), use, now)
}
