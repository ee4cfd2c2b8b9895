package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/market"
)

// WriteLease writes what a person wants to know of a lease after a command.
func WriteLease(p *Page, j *service.Lease) {
	line := fmt.Sprintf("lease %s  %s", j.Address, j.Status)
	if j.EndReason != "" {
		line += " (" + j.EndReason + ")"
	}
	fmt.Fprintf(p, "%s  %d×%s at %s USDC per GPU-hour  %d s paid = %s USDC", line, j.GPUs, j.Model, j.Price, j.PaidSecs, j.Paid)
	if j.AwardPrice != "" {
		fmt.Fprintf(p, "  awarded unjustly at %s: the rest costs less, and the provider may end it", j.AwardPrice)
	}
	if j.Status == market.LeaseRunning.String() {
		fmt.Fprintf(p, "  money ends %s UTC", service.When(j.FundedUntil))
	}
	if j.LeavesAt != 0 {
		fmt.Fprintf(p, "  its machine has given notice and may leave from %s UTC", service.When(j.LeavesAt))
	}
	if j.Output != "" {
		fmt.Fprintf(p, "  output %s", j.Output)
	}
	if j.ExitCode != nil {
		fmt.Fprintf(p, "  exit code %d", *j.ExitCode)
	}
	if j.Detail != "" {
		fmt.Fprintf(p, "  %s", printable.Text(j.Detail))
	}
	fmt.Fprintln(p)
}

// WriteLeases writes leases at an instant of the chain, unix seconds. The bar is paid, then served and not paid yet, of what is reserved.
// Names have a column where a lease has one.
func WriteLeases(p *Page, all []service.Lease, now int64) {
	t, drawn := p.screen()
	named := slices.ContainsFunc(all, func(l service.Lease) bool { return l.Name != "" })
	var rows [][]string
	row := func(l *service.Lease, after ...string) {
		cells := []string{p.text(l.Address)}
		if named {
			cells = append(cells, p.text(cmp.Or(l.Name, "-")))
		}
		rows = append(rows, append(cells, after...))
	}
	if !drawn {
		for i := range all {
			l := &all[i]
			row(l, l.Status, fmt.Sprintf("%d×%s", l.GPUs, l.Model), l.Price, service.Span(int64(l.Used)), l.Paid, l.Reserved, service.When(l.FundedUntil), l.EndReason)
		}
		head := "LEASE|STATE|GPUS|$/GPU-H|USED|PAID|RESERVED|MONEY ENDS (UTC)|ENDED"
		if named {
			head = strings.Replace(head, "|", "|NAME|", 1)
		}
		p.Table(head, rows)
		return
	}
	for i := range all {
		l := &all[i]
		row(l, leaseState(t, l), fmt.Sprintf("%d %s %s", l.GPUs, t.Either("×", "x"), p.text(l.Model)), l.Price,
			p.text(service.Span(int64(l.Used))), withText(leaseMoney(t, l), amounts(l)), p.text(leaseEnds(l, now)))
	}
	columns := []screen.Column{
		{Head: "LEASE", Address: true},
		{Head: "NAME", Drop: 2},
		{Head: "STATE"},
		{Head: "GPUS"},
		{Head: "$/GPU-H", Right: true, Drop: 4},
		{Head: "USED", Right: true, Drop: 3},
		{Head: "MONEY", Right: true},
		{Head: "ENDS (UTC)", Drop: 1},
	}
	if !named {
		columns = slices.Delete(columns, 1, 2)
	}
	p.table(columns, rows)
}

func leaseState(t screen.Terminal, l *service.Lease) string {
	switch l.Status {
	case market.LeaseRunning.String():
		return t.Say(screen.Good, t.Either("●", "*")+" "+l.Status)
	case market.LeaseAwarded.String():
		return t.Say(screen.Now, t.Either("●", "*")+" "+l.Status)
	}
	text := l.Status
	if l.EndReason != "" {
		text += ", " + l.EndReason
	}
	return t.Mark(screen.Note) + " " + t.Say(screen.Dim, text)
}

// moneyOf is what of a lease's reservation is used, paid, and all of it.
func moneyOf(l *service.Lease) (used, paid, all market.USDC) {
	used, _ = market.ParseUSDC(l.Cost) // as they are written by this program
	paid, _ = market.ParseUSDC(l.Paid)
	all, _ = market.ParseUSDC(l.Reserved)
	return max(used, paid), paid, max(all, used, paid)
}

func leaseMoney(t screen.Terminal, l *service.Lease) string {
	used, paid, all := moneyOf(l)
	share := func(x market.USDC) float64 { return float64(x) / float64(max(all, 1)) }
	return t.Parts(t.BarWidth(moneyBar), screen.Part{Share: share(paid), Unicode: "━", ASCII: "#", Tone: screen.Good},
		screen.Part{Share: share(used - paid), Unicode: "╍", ASCII: "=", Tone: screen.Now})
}

func amounts(l *service.Lease) string {
	used, _, all := moneyOf(l)
	return screen.Dollars(used) + " of " + screen.Dollars(all)
}

func leaseEnds(l *service.Lease, now int64) string {
	return strings.TrimSuffix(screen.Ends(cmp.Or(l.EndedAt, l.LeavesAt, l.FundedUntil), now), " UTC")
}
