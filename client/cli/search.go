package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/service"
)

func searchCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find nodes, the best first", ArgsUsage: "['gpu=H100 count>=8 region=us price<2.6 uptime>=99']",
		Description: "Terms: " + service.TermList + "\nEvery term must hold. Without terms all nodes that take work are listed.",
		Action:      action(s, (*session).search),
	}
}

func (s *session) search() error {
	found, err := s.service.Offers(s.ctx, strings.Join(s.cli.Args().Slice(), " "))
	if err != nil {
		return err
	}
	return s.done(found.Offers, func(w io.Writer) {
		if len(found.Offers) == 0 {
			fmt.Fprintf(w, "no node fits%s\n", service.Unfit(found.Unfit))
			return
		}
		nodeTable(w, found.Offers)
	})
}

func nodeTable(w io.Writer, nodes []service.Offer) {
	rows := make([][]string, len(nodes))
	for i, n := range nodes {
		gpus := fmt.Sprintf("%d×%s", n.GPUs, n.Model)
		if n.Free != n.GPUs {
			gpus += fmt.Sprintf(" (%d free)", n.Free)
		}
		tier := fmt.Sprint(n.Tier)
		if n.Simulated {
			tier += " simulated"
		}
		m := service.Measured{TOPS: "-", Bandwidth: "-", PricePerTOPS: "-"}
		if n.Measured != nil && n.Measured.TOPS != "" {
			m = *n.Measured
		}
		rows[i] = []string{
			n.Address[:6] + "…", gpus, fmt.Sprintf("%d G", n.VRAMMiB/1024), n.Link, n.Region, tier, m.TOPS, m.Bandwidth, n.Uptime,
			n.Rating, n.Price, m.PricePerTOPS, n.Stake, n.Reputation, mark(n.Verified), n.Status,
		}
	}
	table(w, "NODE|GPUS|VRAM|LINK|REGION|TIER|TOPS|GB/S|UPTIME|RATING|$/GPU-H|$/TOPS-H|STAKE|REP|VERIFIED|STATUS", rows)
}

// mark shows a mark in a table.
func mark(has bool) string {
	if has {
		return "yes"
	}
	return "-"
}
