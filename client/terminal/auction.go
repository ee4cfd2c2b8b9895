package terminal

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/client/auctions"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/audit"
)

// WriteAuction writes a sealed order's auction as the chain shows it now.
func WriteAuction(w *Page, out *auctions.Auction) {
	fmt.Fprintf(w, "order %s   %s\n", out.Order, out.State)
	fmt.Fprintf(w, " commitments until  %s UTC\n reveals until      %s UTC\n", service.When(out.CloseAt), service.When(out.RevealUntil))
	if out.Deadline > 0 {
		fmt.Fprintf(w, " award until        %s UTC, at most %s USDC per GPU-hour\n", service.When(out.Deadline), out.MaxPrice)
	}
	if out.Keeper == "" {
		return
	}
	fmt.Fprintf(w, " awarded            %s UTC by keeper %s\n", service.When(out.AwardedAt), out.Keeper)
	if out.Completable > 0 {
		fmt.Fprintf(w, " the rest           until %s UTC by the same keeper, then by any\n", service.When(out.Completable))
	}
	if out.Stopped {
		fmt.Fprintln(w, " stopped            by that keeper, which has no share of the fees; another one made the other awards")
	}
	for _, n := range out.Winners {
		fmt.Fprintf(w, " winner             node %s\n", n)
	}
	if out.Bar == "" {
		fmt.Fprintln(w, " price              the order's maximum, since no bid lost")
	} else {
		fmt.Fprintf(w, " price              by the best losing bid, of node %s, score %d\n", out.Bar, out.BarScore)
	}
	fmt.Fprintf(w, " root of all bids   %s\n check it with: gantry auction replay %s\n", out.BidsRoot, out.Order)
}

// WriteReplay writes an auction that was replayed.
func WriteReplay(w *Page, out *auctions.Replay) {
	fmt.Fprintf(w, "auction of order %s\n", out.Order)
	if out.Lives > 1 {
		fmt.Fprintf(w, "this address had %d auctions; the last one is shown\n", out.Lives)
	}
	WriteSteps(w, out.Steps)
	if len(out.Bids) > 0 {
		rows := make([][]string, len(out.Bids))
		for i, b := range out.Bids {
			rows[i] = []string{b.Node, b.Price, fmt.Sprint(b.Score), b.Outcome, fmt.Sprint(b.Acks)}
		}
		w.Table("@NODE|>BID $/GPU-H|>SCORE|OUTCOME|>ACKNOWLEDGED BY", rows)
	}
	for _, d := range out.Doubts {
		fmt.Fprintf(w, "  ? %s\n", d)
	}
	for _, c := range out.Violations {
		fmt.Fprintf(w, "  ✗ VIOLATION: %s %s\n", c.Who, c.What)
	}
	if out.Proof != nil {
		fmt.Fprintf(w, "proven on chain: the keeper's bond is slashed   tx %s\n", out.Proof.Signature)
	}
	switch out.Outcome {
	case string(audit.Right):
		fmt.Fprintln(w, "no violation is proven.")
	case string(audit.Unknown):
		fmt.Fprintln(w, "NOT KNOWN whether there is a violation: some of it could not be read.")
	}
}

// WriteSteps writes the steps of a history that was checked.
func WriteSteps(w *Page, steps []service.Step) {
	for i, st := range steps {
		mark := screen.Done
		switch st.Outcome {
		case string(audit.Wrong):
			mark = screen.Failed
		case string(audit.Unknown):
			mark = screen.Unknown
		}
		at := "                   "
		if t, err := time.Parse(time.RFC3339, st.Time); err == nil {
			at = t.Format("2006-01-02 15:04:05")
		}
		w.Hang(fmt.Sprintf("%2d  %-11s %s  %s ", i+1, st.Name, at, w.Mark(mark)), st.Text)
		for _, p := range st.Problems {
			w.Hang("              problem: ", p)
		}
		if st.Unknown != "" {
			w.Hang("              not known: ", st.Unknown)
		}
		if st.Explorer != "" && w.Whole() {
			fmt.Fprintf(w, "              %s\n", st.Explorer)
		}
	}
}
