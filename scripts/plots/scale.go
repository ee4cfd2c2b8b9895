package main

import (
	"fmt"
	"slices"
)

// machineHour are the costs of a machine-hour by the size of the market.
func machineHour(r *report) ([]panel, error) {
	const size = "machines"
	sums := []string{"sum, by report", "sum, by receipts"}
	t, err := r.table("A machine-hour", size, "fees", "format", sums[0], sums[1])
	if err != nil {
		return nil, err
	}
	var out []panel
	for i, sum := range sums {
		all, err := byPlan(t, size, sum)
		if err != nil {
			return nil, err
		}
		p := curvesPlot(all, "machines in the market", "lamports")
		logarithmic(&p.X, all[0].x[0], all[0].x[len(all[0].x)-1])
		at(&p.X, all[0].x)
		title := []string{"Cost of a machine-hour, settled by report", "Cost of a machine-hour, settled by receipts"}[i]
		out = append(out, panel{title, "dashed: congested fees", 170, p})
	}
	return out, nil
}

// byPlan has a curve for each kind of fees and format of transactions.
func byPlan(t table, x, y string) (curves, error) {
	var all curves
	for _, row := range t.rows {
		fees, err := t.cell(row, "fees")
		if err != nil {
			return nil, err
		}
		format, err := t.cell(row, "format")
		if err != nil {
			return nil, err
		}
		v, err := t.numbers(row, x, y)
		if err != nil {
			return nil, err
		}
		name := fees + ", " + format
		i := slices.IndexFunc(all, func(c curve) bool { return c.name == name })
		if i < 0 {
			c := curve{name: name, color: blue, dashed: fees == "congested"}
			if format != "legacy" {
				c.color = orange
			}
			all, i = append(all, c), len(all)
		}
		all[i].x, all[i].y = append(all[i].x, v[0]), append(all[i].y, v[1])
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no rows", errNoRow)
	}
	return all, nil
}

// accounts is the size of the list that a keeper reads at its start.
func accounts(r *report) ([]panel, error) {
	t, err := r.table("The list of all accounts", "machines of eight GPUs", "MiB counted")
	if err != nil {
		return nil, err
	}
	list := curve{name: "MiB counted", color: blue}
	for _, row := range t.rows {
		v, err := t.numbers(row, "machines of eight GPUs", "MiB counted")
		if err != nil {
			return nil, err
		}
		list.x, list.y = append(list.x, v[0]), append(list.y, v[1])
	}
	p := curvesPlot(curves{list}, "machines of eight GPUs", "MiB")
	logarithmic(&p.X, 1_000, 1_000_000)
	logarithmic(&p.Y, 1, 10_000)
	p.Add(level{256, "refused beyond 256 MiB, unless --max-list-mib says more"})
	return one(panel{"The list of all accounts that a keeper reads at its start", "both axes are logarithmic", 190, p}), nil
}
