package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
)

const (
	offerBar = 14
	freeBar  = 10
	moneyBar = 20
)

// WriteOffers writes what a search has found, the best first: in a pipe, with all columns, or sorted by figures as a table of nodes.
func WriteOffers(p *Page, f *service.Found, sorted bool) {
	if len(f.Offers) == 0 {
		fmt.Fprintf(p, "no node fits%s\n", service.Unfit(f.Unfit))
		return
	}
	defer writeUnreached(p, f.Offers)
	t, drawn := p.screen()
	if !drawn || p.Wide || sorted {
		WriteNodes(p, f.Offers, sorted)
		return
	}
	columns := []screen.Column{
		{Head: "GPU"},
		{Head: "$/H", Right: true},
		{Head: "FREE", Right: true},
		{Head: "MEASURED"},
		{Head: "UPTIME", Right: true, Drop: 1},
		{Head: "REGION", Drop: 2},
		{Head: "NODE", Drop: 3, Address: true},
		{Head: "TIER", Right: true, Drop: 4},
		{Head: "STATUS", Drop: 5},
	}
	latency := slices.ContainsFunc(f.Offers, func(o service.Offer) bool { return o.Latency != nil })
	if latency {
		columns = append(columns, screen.Column{Head: "LATENCY"})
	}
	image := asksImage(f.Offers)
	if image {
		columns = append(columns, screen.Column{Head: "IMAGE"})
	}
	figures := offerFigures(t, f.Offers)
	var rows [][]string
	for i := range f.Offers {
		o := &f.Offers[i]
		model := fmt.Sprintf("%d %s %s", o.GPUs, t.Either("×", "x"), p.text(o.Model))
		gpu := t.Say(screen.Strong, model)
		if o.Simulated {
			gpu += t.Say(screen.Dim, " simulated")
		}
		r := []string{
			gpu, o.Price, fmt.Sprintf("%d/%d", o.Free, o.GPUs), figures[i], uptime(t, o), p.text(cmp.Or(o.Region, "-")),
			p.text(o.Address), fmt.Sprint(o.Tier), o.Status,
		}
		if latency {
			r = append(r, o.Latency.String())
		}
		if image {
			r = append(r, p.text(o.Image.String()))
		}
		rows = append(rows, r)
	}
	p.table(columns, rows)
	more := fmt.Sprintf("%d machines fit", f.Fit)
	if f.Fit == 1 {
		more = "1 machine fits"
	}
	if len(f.Unfit) > 0 {
		more += "; the others do not" + service.Unfit(f.Unfit)
	}
	p.Hint(more)
	if n := interruptible(f.Offers); n > 0 {
		p.Hint(fmt.Sprintf("interruptible work for less on %s of these: gantry search spot", service.Plural(n, "machine")))
	}
	p.Hint("rent one: gantry deploy --gpu MODEL   models: gantry gpus")
}

// interruptible counts machines whose spot price is below their price.
func interruptible(offers []service.Offer) (n int) {
	for i := range offers {
		if spot := offers[i].Spot; spot != "" && spot != offers[i].Price {
			n++
		}
	}
	return n
}

// asksImage reports whether machines were asked how an image has started.
func asksImage(offers []service.Offer) bool {
	return slices.ContainsFunc(offers, func(o service.Offer) bool { return o.Image != nil })
}

// writeUnreached says what to do when machines were asked and none answered.
func writeUnreached(p *Page, offers []service.Offer) {
	asked, reached := false, false
	for i := range offers {
		l, s := offers[i].Latency, offers[i].Image
		asked = asked || l != nil || s != nil
		reached = reached || l != nil && l.Reached || s != nil && s.Answered
	}
	if asked && !reached {
		fmt.Fprintln(p, "No machine answered. Keepers give addresses of machines to customers with credits: gantry credits add USDC")
	}
}

// offerFigures are what was measured of offers: TOPS, a bar with the typical figure's mark, and the share of it.
func offerFigures(t screen.Terminal, offers []service.Offer) []string {
	out, width := make([]string, len(offers)), 0
	for i := range offers {
		out[i] = t.Either("–", "-")
		if m := offers[i].Measured; m != nil && m.TOPS != "" {
			out[i] = screen.Figure(number(m.TOPS))
		}
		width = max(width, screen.Width(out[i]))
	}
	for i := range offers {
		o := &offers[i]
		out[i] = screen.Left(out[i], width)
		bar, of := t.Bar(screen.None, screen.None, t.BarWidth(offerBar), screen.Dim), ""
		if o.Measured != nil && o.Measured.TOPS != "" && o.Typical != nil && number(o.Typical.TOPS) > 0 {
			share := number(o.Measured.TOPS) / number(o.Typical.TOPS)
			bar, of = t.Measured(share, offerBar), screen.Percent(share)
		}
		if bar != "" {
			out[i] += " " + bar
		}
		out[i] += " " + screen.Left(of, len("100 %"))
	}
	return out
}

// withText is a bar and the text after it; the text alone where there is no room for a bar.
func withText(bar, text string) string {
	if bar == "" {
		return text
	}
	return bar + " " + screen.Left(text, len("16 of 16"))
}

// number is a figure of this program's own documents; 0 for none.
func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return x
}

// uptime is a percentage in the tone of how good it is. A machine that nobody has checked yet has none.
func uptime(t screen.Terminal, o *service.Offer) string {
	if o.Checks == 0 {
		return t.Say(screen.Dim, t.Either("–", "-"))
	}
	tone := screen.Bad
	switch x := number(o.Uptime); {
	case x >= 99.9:
		tone = screen.Good
	case x >= 99:
		tone = screen.Plain
	case x >= 90:
		tone = screen.Now
	}
	return t.Say(tone, o.Uptime)
}

// WriteGPUs writes the models of a market.
func WriteGPUs(p *Page, all []service.GPUs) {
	t, _ := p.screen()
	var rows [][]string
	for i := range all {
		g := &all[i]
		free := fmt.Sprintf("%d of %d", g.Free, g.GPUs)
		share := 0.0
		if g.GPUs > 0 {
			share = float64(g.Free) / float64(g.GPUs)
		}
		bar := t.Bar(share, screen.None, t.BarWidth(freeBar), screen.Plain)
		name, tone := p.text(g.Model), screen.Strong
		if g.Free == 0 {
			tone = screen.Dim
		}
		rows = append(rows, []string{
			t.Say(tone, name), fmt.Sprintf("%d GiB", g.VRAMMiB>>10), withText(bar, free), fmt.Sprint(g.Machines), fmt.Sprint(g.MostFree), g.Asks(), g.Reference,
			p.text(cmp.Or(strings.Join(g.Regions, " "), "-")),
		})
	}
	p.table([]screen.Column{
		{Head: "GPU"},
		{Head: "MEMORY", Right: true, Drop: 1},
		{Head: "FREE", Right: true},
		{Head: "MACHINES", Right: true, Drop: 3},
		{Head: "MOST IN ONE", Right: true, Drop: 5},
		{Head: "$/GPU-H", Right: true},
		{Head: "REFERENCE", Right: true, Drop: 4},
		{Head: "REGIONS", Drop: 2},
	}, rows)
}
