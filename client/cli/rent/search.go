package rent

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func searchCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find nodes, the best first", ArgsUsage: "['gpu=H100 count>=8 region=us price<2.6 uptime>=99']",
		Description: "Terms: " + service.TermList + "\nEvery term must hold. Without terms all nodes that take work are listed.\n" +
			"-o wide and a --sort by figures add columns: memory, CUDA, link, bandwidth, line, rating, prices by figure, stake, reputation.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "sort", Value: "award", Usage: "what comes first, by `ORDER`: award (as orders are awarded), or by figures that keepers have measured. These are tops-price or gbs-price ($ an hour for one TOPS or GB/s), tops, bandwidth, down, up"},
			&cli.BoolFlag{Name: "latency", Usage: "measure the round trip from here to the best 64 of them; machines learn your address by it"},
			&cli.StringFlag{Name: "image", Usage: "ask the best 64 of them how this `IMAGE` has started there; those on which it ran come first. They learn your address and its digest by it"},
		},
		Action: action(s, (*session).search),
	}
}

func whyCommand(s command.Streams) *cli.Command {
	return &cli.Command{Name: "why", Usage: "why an order waits or is over, or how a lease is or has ended", ArgsUsage: "ORDER|LEASE", Action: action(s, (*session).why)}
}

func (s *session) why() error {
	args, err := s.Args("ORDER|LEASE")
	if err != nil {
		return err
	}
	key, err := s.Named(args[0], "order or lease", query.Kind(market.KindOrder), query.Kind(market.KindLease))
	if err != nil {
		return err
	}
	var out struct {
		service.Why
		ExitCode *int `json:"exitCode,omitempty"` // of a lease's job that a command on this computer followed to its end
	}
	if out.Why, err = s.Service.Why(s.Context, key); err != nil {
		return err
	}
	if f, err := s.Folder(); err == nil { // without a wallet there is no folder
		if err = buy.Explain(f, &out.Why); err == nil && out.Kind == "lease" {
			out.ExitCode, err = buy.ExitCode(f, key)
		}
		if err != nil {
			return err
		}
	}
	return s.Done(out, func(w *terminal.Page) { terminal.WriteWhy(w, &out.Why, out.ExitCode) })
}

func gpusCommand(s command.Streams) *cli.Command {
	return &cli.Command{Name: "gpus", Usage: "models of GPUs: how many are free, and what they cost", Action: action(s, (*session).gpus)}
}

func (s *session) search() error {
	by, err := service.ParseSort(s.CLI.String("sort"))
	if err != nil {
		return err
	}
	found, err := s.Service.Offers(s.Context, strings.Join(s.CLI.Args().Slice(), " "), by)
	if err != nil {
		return err
	}
	if image := s.CLI.String("image"); image != "" || s.CLI.Bool("latency") {
		if found.Offers, err = s.ask(image, found.Offers); err != nil {
			return err
		}
	}
	return s.Done(found.Offers, func(w *terminal.Page) { terminal.WriteOffers(w, &found, by != service.SortAward) })
}

// ask asks the machines of the first of some offers what the flags say.
func (s *session) ask(image string, offers []service.Offer) (_ []service.Offer, err error) {
	defer s.Waiting("machines to answer", "Ctrl-C stops")()
	l := s.Machines()
	if image != "" {
		offers, err = l.Starts(s.Context, image, offers)
	}
	if err == nil && len(offers) > 0 && s.CLI.Bool("latency") {
		offers, err = l.Offers(s.Context, offers)
	}
	return offers, err
}

func (s *session) gpus() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	all, err := s.Service.GPUs(s.Context)
	if err != nil {
		return err
	}
	return s.Done(all, func(w *terminal.Page) { terminal.WriteGPUs(w, all) })
}
