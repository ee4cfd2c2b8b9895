package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func searchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find nodes, the best first", ArgsUsage: "['gpu=H100 count>=8 region=us price<2.6 uptime>=99']",
		Description: "Terms: " + service.TermList + "\nEvery term must hold. Without terms all nodes that take work are listed.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "sort", Value: "award", Usage: "what comes first, by `ORDER`: award (as orders are awarded), or by figures that keepers have measured. These are tops-price or gbs-price ($ an hour for one TOPS or GB/s), tops, bandwidth, down, up"},
			&cli.BoolFlag{Name: "latency", Usage: "measure the round trip from here to the best 64 of them; machines learn your address by it"},
		},
		Action: action(s, (*session).search),
	}
}

func (s *session) search() error {
	by, err := service.ParseSort(s.cli.String("sort"))
	if err != nil {
		return err
	}
	found, err := s.service.Offers(s.ctx, strings.Join(s.cli.Args().Slice(), " "), by)
	if err != nil {
		return err
	}
	if s.cli.Bool("latency") && len(found.Offers) > 0 {
		if found.Offers, err = s.latencies(found.Offers); err != nil {
			return err
		}
	}
	return s.done(found.Offers, func(w io.Writer) {
		if len(found.Offers) == 0 {
			fmt.Fprintf(w, "no node fits%s\n", service.Unfit(found.Unfit))
			return
		}
		nodeTable(w, found.Offers)
		if s.cli.Bool("latency") && !slices.ContainsFunc(found.Offers, func(o service.Offer) bool { return o.Latency != nil && o.Latency.Reached }) {
			fmt.Fprintln(w, "No machine answered. Keepers give addresses of machines to customers with credits: gantry credits add USDC")
		}
	})
}

// latencies adds the round trips from here to the first of some offers.
func (s *session) latencies(offers []service.Offer) ([]service.Offer, error) {
	stop := s.waiting("machines to answer", "Ctrl-C stops")
	defer stop()
	l := &latencies{s: s}
	return l.Offers(s.ctx, offers)
}

// latencies measures with a peer of its own, which is made when it is first needed and ends with the session.
type latencies struct {
	s *session

	mu   sync.Mutex
	net  *buy.Remote
	l    *service.Latencies
	read time.Time // when the keepers' addresses were read
}

// keepersKeep is how long keepers' addresses are taken for current.
const keepersKeep = 5 * time.Minute

// Offers implements serve.Latencies.
func (l *latencies) Offers(ctx context.Context, offers []service.Offer) ([]service.Offer, error) {
	with, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return with.Offers(ctx, offers), nil
}

func (l *latencies) open(ctx context.Context) (*service.Latencies, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.l != nil && time.Since(l.read) < keepersKeep {
		return l.l, nil
	}
	v, err := l.s.service.Snapshot(ctx, view.Only(view.Kinds(market.KindKeeper)))
	if err != nil {
		return nil, err
	}
	if l.l == nil {
		if l.net, err = l.s.dial(v); err != nil {
			return nil, err
		}
		l.l = service.NewLatencies(l.net.Net, l.find)
	} else {
		l.net.Know(v)
	}
	l.read = time.Now()
	return l.l, nil
}

// find connects to a machine, once.
func (l *latencies) find(ctx context.Context, node solana.PublicKey) error {
	l.mu.Lock()
	keepers := l.net.Keepers()
	l.mu.Unlock()
	return l.net.Net.Find(ctx, node, keepers)
}

func nodeTable(w io.Writer, nodes []service.Offer) {
	rows, latency := make([][]string, len(nodes)), false
	for i, n := range nodes {
		gpus := fmt.Sprintf("%d×%s", n.GPUs, n.Model)
		if n.Free != n.GPUs {
			gpus += fmt.Sprintf(" (%d free)", n.Free)
		}
		tier := fmt.Sprint(n.Tier)
		if n.Simulated {
			tier += " simulated"
		}
		m := service.Measured{TOPS: "-", Bandwidth: "-", PricePerTOPS: "-", PricePerGBs: "-"}
		if n.Measured != nil && n.Measured.TOPS != "" {
			m = *n.Measured
		}
		rows[i] = []string{
			n.Address[:6] + "…", gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), n.Link, n.Region, tier, withSheet(m.TOPS, n.Claimed.TOPS), withSheet(m.Bandwidth, n.Claimed.Bandwidth), line(n), n.Uptime,
			n.Rating, n.Price, m.PricePerTOPS, m.PricePerGBs, n.Stake, n.Reputation, mark(n.Verified), n.Status,
		}
		if n.Latency != nil {
			latency = true
		}
	}
	heads := "NODE|GPUS|VRAM|LINK|REGION|TIER|TOPS (SHEET)|GB/S (SHEET)|DOWN/UP MBIT/S (CLAIMED)|UPTIME|RATING|$/GPU-H|$/TOPS-H|$/GB/S-H|STAKE|REP|VERIFIED|STATUS"
	if latency {
		heads += "|LATENCY"
		for i, n := range nodes {
			rows[i] = append(rows[i], roundTrip(n.Latency))
		}
	}
	table(w, heads, rows)
}

// withSheet is a figure that keepers have measured and, in brackets, that of the data sheet.
func withSheet(measured, sheet string) string {
	if sheet == "" {
		return measured
	}
	return measured + " (" + sheet + ")"
}

// line is what keepers have measured of a machine's line and, in brackets, what it claims.
func line(n service.Offer) string {
	measured := "-"
	if m := n.Measured; m != nil && m.DownMbps > 0 {
		measured = fmt.Sprintf("%d/%d", m.DownMbps, m.UpMbps)
	}
	return fmt.Sprintf("%s (%d/%d)", measured, n.Claimed.DownMbps, n.Claimed.UpMbps)
}

// roundTrip is a latency in a table.
func roundTrip(l *service.Latency) string {
	switch {
	case l == nil:
		return "-"
	case !l.Reached:
		return "no answer"
	case l.Relayed:
		return fmt.Sprintf("%.1f ms relayed", l.Millis)
	}
	return fmt.Sprintf("%.1f ms", l.Millis)
}

// mark shows a mark in a table.
func mark(has bool) string {
	if has {
		return "yes"
	}
	return "-"
}
