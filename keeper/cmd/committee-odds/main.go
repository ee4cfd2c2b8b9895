// Command committee-odds prints how likely committees of dishonest keepers are, and what checks cost:
// docs/protocol/committees.md.
package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/sdk/market/committee"
)

// nodes of the reference market, half of which are leased.
const nodes, leased = 40_000, 20_000

func main() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "keepers\tliars\tmost of 5 lie\tall of 5 lie\tmembers for 1e-9\t")
	for _, n := range []int{7, 10, 19, 40, 100, 256} {
		f := (n - 1) / 3
		for _, dishonest := range []int{f / 2, f} {
			fmt.Fprintf(w, "%d\t%d\t%.2g\t%.2g\t%d\t\n", n, dishonest, committee.Odds(n, dishonest, committee.Size, committee.Quorum),
				committee.Odds(n, dishonest, committee.Size, committee.Size), committee.SafeSize(n, dishonest, 1e-9))
		}
	}
	fmt.Fprintln(w, "\t\t\t\t\t")
	fmt.Fprintln(w, "keepers\tmembers' interval\tothers', of leased nodes\tchecks a second and keeper\tif all checked all\tchecks a minute of a leased node\tof an idle one\t")
	for _, n := range []int{5, 7, 19, 40, 100, 256} {
		stretch := float64(check.Stretch(n))
		seats := float64(min(committee.Size, n))
		mine := seats / float64(n)
		perKeeper := (nodes*mine + leased*(1-mine)/stretch) / 60
		fmt.Fprintf(w, "%d\t60 s\t%.0f s\t%.0f\t%d\t%.1f\t%.1f\t\n", n, 60*stretch, perKeeper, nodes/60, seats+(float64(n)-seats)/stretch, seats)
	}
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
