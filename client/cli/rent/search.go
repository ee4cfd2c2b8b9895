package rent

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

func searchCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find nodes, the best first", ArgsUsage: "['gpu=H100 count>=8 region=us price<2.6 uptime>=99']",
		Description: "Terms: " + service.TermList + "\nEvery term must hold. Without terms all nodes that take work are listed.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "sort", Value: "award", Usage: "what comes first, by `ORDER`: award (as orders are awarded), or by figures that keepers have measured. These are tops-price or gbs-price ($ an hour for one TOPS or GB/s), tops, bandwidth, down, up"},
			&cli.BoolFlag{Name: "wide", Usage: "all columns: memory, CUDA, link, bandwidth, line, rating, prices by figure, stake, reputation. A --sort by figures shows them too"},
			&cli.BoolFlag{Name: "latency", Usage: "measure the round trip from here to the best 64 of them; machines learn your address by it"},
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
	if f, err := s.Folder(); err == nil && out.Kind == "lease" { // a reader without a wallet has no folder
		if out.ExitCode, err = buy.ExitCode(f, key); err != nil {
			return err
		}
		if out.Attestation, err = buy.AttestationOf(f, solana.PublicKey{}, key); err != nil {
			return err
		}
	}
	return s.Done(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s: %s\n%s\n", out.Kind, out.Address, out.Reason, out.Says)
		if out.ExitCode != nil {
			fmt.Fprintf(w, "the job's exit code: %d; its output: gantry logs %s\n", *out.ExitCode, out.Address)
		}
		if out.Attestation != nil {
			fmt.Fprint(w, "its machine ")
			out.Attestation.Write(w)
		}
		for _, u := range out.Unserved {
			fmt.Fprintf(w, "  lease %s: %s\n", u.Lease, u.Why)
		}
		if out.Advice != "" {
			fmt.Fprintln(w, out.Advice)
		}
	})
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
	if s.CLI.Bool("latency") && len(found.Offers) > 0 {
		if found.Offers, err = s.latencies(found.Offers); err != nil {
			return err
		}
	}
	wide := s.CLI.Bool("wide") || by != service.SortAward
	plain := func(w io.Writer) {
		if len(found.Offers) == 0 {
			fmt.Fprintf(w, "no node fits%s\n", service.Unfit(found.Unfit))
			return
		}
		command.NodeTable(w, found.Offers, wide)
		s.unanswered(w, found.Offers)
	}
	if wide || len(found.Offers) == 0 {
		return s.Done(found.Offers, plain)
	}
	return s.Show(found.Offers, func(t screen.Terminal) error {
		err := terminal.WriteOffers(t, &found)
		s.unanswered(s.Out, found.Offers)
		return err
	}, plain)
}

// unanswered says why no machine has answered, where the latency was asked for.
func (s *session) unanswered(w io.Writer, offers []service.Offer) {
	if s.CLI.Bool("latency") && !slices.ContainsFunc(offers, func(o service.Offer) bool { return o.Latency != nil && o.Latency.Reached }) {
		fmt.Fprintln(w, "No machine answered. Keepers give addresses of machines to customers with credits: gantry credits add USDC")
	}
}

// latencies adds the round trips from here to the first of some offers.
func (s *session) latencies(offers []service.Offer) ([]service.Offer, error) {
	stop := s.Waiting("machines to answer", "Ctrl-C stops")
	defer stop()
	l := &buy.Latencies{Service: s.Service, Dial: s.Dial}
	return l.Offers(s.Context, offers)
}

func (s *session) gpus() error {
	if _, err := s.Args(); err != nil {
		return err
	}
	all, err := s.Service.GPUs(s.Context)
	if err != nil {
		return err
	}
	return s.Show(all, func(t screen.Terminal) error { return terminal.WriteGPUs(t, all) }, func(w io.Writer) {
		var rows [][]string
		for _, g := range all {
			rows = append(rows, []string{
				g.Model, fmt.Sprintf("%d GiB", g.VRAMMiB>>10), fmt.Sprintf("%d of %d", g.Free, g.GPUs), fmt.Sprint(g.Machines), fmt.Sprint(g.MostFree),
				g.Asks(), g.Reference, cmp.Or(strings.Join(g.Regions, " "), "-"),
			})
		}
		command.Table(w, "GPU|MEMORY|FREE|MACHINES|MOST IN ONE|$/GPU-H|REFERENCE|REGIONS", rows)
	})
}
