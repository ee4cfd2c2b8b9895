package main

import (
	"fmt"
	"image/color"
	"regexp"
	"strings"
)

// pictures are all of them, with the pages that show them.
var pictures = []picture{
	{"attacks", "attacks.md", attacks},
	{"gpu-table", "gpu-table.md", claims},
	{"gpus", "gpus.md", stripes},
	{"hostile-network", "hostile-network.md", memory},
	{"leases", "leases.md", leases},
	{"moves", "moves.md", moves},
	{"scale-accounts", "scale.md", accounts},
	{"scale-machine-hour", "scale.md", machineHour},
	{"simulation", "simulation.md", found},
	{"soak", "soak.md", soak},
}

// one makes the panels of a picture with a single one.
func one(p panel) []panel { return []panel{p} }

// claims are the means of trials, against the share from which on a machine is of a class.
func claims(r *report) ([]panel, error) {
	const spread = "means of six: least, median, most"
	t, err := r.table("Trials that pass", "machine", "claims", spread)
	if err != nil {
		return nil, err
	}
	var rows spans
	for _, row := range t.rows {
		v, err := list(row[3])
		if err != nil || len(v) != 3 {
			return nil, fmt.Errorf("%q: %w: %v", row, errNoNumber, err)
		}
		s := span{name: row[0] + " claim " + row[1], from: v[0], dot: v[1], to: v[2], tick: none, text: row[2] + " pass", color: green}
		if v[1] < 0.7 {
			s.color = red
		}
		rows = append(rows, s)
	}
	p := spansPlot(rows, "part of the claimed class, 1 at most", limit{0.7, "of the class from 0.7 on"})
	return one(panel{"What trials measured of each machine, against the class that it claims", "dot: median of 200 trials; line: least to most", tall(len(rows)) + 14, p}), nil
}

// stripes are rates of whole runs and times of rounds by the size of stripes.
func stripes(r *report) ([]panel, error) {
	t, err := r.table("What a round consists of", "stripes, MiB", "10¹² operations a second")
	if err != nil {
		return nil, err
	}
	rate := curve{name: "H100", color: blue}
	for _, row := range t.rows {
		v, err := t.numbers(row, t.head...)
		if err != nil {
			return nil, err
		}
		rate.x, rate.y = append(rate.x, v[0]), append(rate.y, v[1])
	}
	rates := curvesPlot(curves{rate}, "stripes, MiB", "10¹² operations a second")
	logarithmic(&rates.X, rate.x[0], rate.x[len(rate.x)-1])
	at(&rates.X, rate.x)
	if t, err = r.table("What a round consists of", "GPU", "stripes", "sum"); err != nil {
		return nil, err
	}
	by := map[string]*curve{"H100": {name: "H100", color: blue}, "H200": {name: "H200", color: orange}}
	for _, row := range t.rows {
		c := by[row[0]]
		if c == nil {
			continue // another kernel
		}
		v, err := t.numbers(row, "stripes", "sum")
		if err != nil {
			return nil, err
		}
		c.x, c.y = append(c.x, v[0]), append(c.y, v[1])
	}
	times := curvesPlot(curves{*by["H100"], *by["H200"]}, "stripes, MiB", "ms")
	sizes := by["H100"].x
	logarithmic(&times.X, sizes[0], sizes[len(sizes)-1])
	at(&times.X, sizes)
	return []panel{
		{"Rates of whole runs by the size of stripes", "runs of 3 s", 150, rates},
		{"Time of a round by the size of stripes", "the sum of its kernels, each measured alone", 150, times},
	}, nil
}

// memory is what daemons hold while quiet and under attack, against the bound.
func memory(r *report) ([]panel, error) {
	t, err := r.table("What daemons used", "daemon", "quiet", "attacked", "bound")
	if err != nil {
		return nil, err
	}
	var rows spans
	for _, row := range t.rows {
		if row[1] != "memory, MiB" {
			continue
		}
		v, err := t.numbers(row, "quiet", "attacked")
		if err != nil {
			return nil, err
		}
		times, err := number(strings.TrimPrefix(row[len(row)-1], "× "))
		if err != nil {
			return nil, err
		}
		rows = append(rows, span{name: row[0], from: v[0], dot: v[1], to: v[1], tick: v[0] * times, text: fmt.Sprintf("%.1f → %.1f", v[0], v[1]), color: blue})
	}
	p := spansPlot(rows, "memory, MiB")
	return one(panel{"Memory of daemons, from quiet to attacked", "line: from the most while quiet to the most under attack (dot); tick: the bound", tall(len(rows)), p}), nil
}

// leases are the times and rates of leases beside their peers'.
func leases(r *report) ([]panel, error) {
	var out []panel
	for _, of := range []struct{ heading, title, axis string }{
		{"A command over SSH", "A command over SSH, from its start to its end", "seconds"},
		{"A file of 200 MB", "A file of 200 MB", "seconds"},
		{"Forwarded TCP, one stream", "Forwarded TCP, one stream, on one computer", "Mbit/s"},
		{"Forwarded TCP, one stream, between two hosts with a link of 1000 Mbit/s", "Forwarded TCP, one stream, over a link of 1,000 Mbit/s", "Mbit/s"},
	} {
		t, err := r.table(of.heading, "what", "median", "least", "most")
		if err != nil {
			return nil, err
		}
		var rows spans
		for _, row := range t.rows {
			v, err := t.numbers(row, "least", "median", "most")
			if err != nil {
				return nil, err
			}
			s := span{name: row[0], from: v[0], dot: v[1], to: v[2], tick: none, text: figure(v[1]), color: color.Color(grey)}
			if strings.HasPrefix(row[0], "gantry ") {
				s.color = blue
			}
			rows = append(rows, s)
		}
		out = append(out, panel{of.title, "dot: median; line: least to most; blue: commands of gantry", tall(len(rows)), spansPlot(rows, of.axis)})
	}
	return out, nil
}

// moves are the times of the steps of a move.
func moves(r *report) ([]panel, error) {
	t, err := r.table("Measured", "what", "least", "median", "p95", "most")
	if err != nil {
		return nil, err
	}
	var rows spans
	for _, row := range t.rows {
		v, err := t.numbers(row, "least", "median", "p95", "most")
		if err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(row[0], ", s"), " (")
		name, _, _ = strings.Cut(name, ", ")
		rows = append(rows, span{name: name, from: v[0], dot: v[1], to: v[3], tick: v[2], text: figure(v[1]), color: blue})
	}
	p := spansPlot(rows, "seconds after the machine's end; the last three are lengths of time", limit{15, "target of a move: 15 s"})
	return one(panel{"How long a lease stands still when its machine is gone", "dot and figure: median of the moves; tick: 95th percentile; line: least to most", tall(len(rows)) + 14, p}), nil
}

var twoTimes = regexp.MustCompile(`([0-9.]+) s \(median\)(?:,| and) ([0-9.]+) s \(95th percentile\)`)

// soak are the times of the long run.
func soak(r *report) ([]panel, error) {
	var rows spans
	for _, t := range r.tables {
		if t.heading != "Results of half an hour" {
			continue
		}
		for _, of := range []struct{ row, name string }{
			{"orders", "from order to running job"}, {"reports", "final report after its period"}, {"what is due", "what is due, done after it was due"},
		} {
			row, err := t.row(of.row)
			if err != nil {
				return nil, err
			}
			m := twoTimes.FindStringSubmatch(row[1])
			if m == nil {
				return nil, fmt.Errorf("%w: two times in %q", errNoNumber, row[1])
			}
			v, err := list(m[1] + ", " + m[2])
			if err != nil {
				return nil, err
			}
			rows = append(rows, span{name: of.name, from: v[0], dot: v[0], to: v[1], tick: v[1], text: m[1] + " and " + m[2], color: blue})
		}
	}
	if len(rows) == 0 {
		return nil, errNoTable
	}
	p := spansPlot(rows, "seconds", limit{60, "bar of what is due: 60 s"})
	return one(panel{"Half an hour of steady orders", "dot: median; tick: 95th percentile", tall(len(rows)) + 14, p}), nil
}

// found are the times after which machines are found out in the simulation.
func found(r *report) ([]panel, error) {
	t, err := r.table("Results", "conduct", "first failed check", "in a final report")
	if err != nil {
		return nil, err
	}
	const behind = "(p95 "
	var rows spans
	for _, row := range t.rows {
		for i, name := range []string{"first failed check", "in a final report"} {
			cell, err := t.cell(row, name)
			if err != nil {
				return nil, err
			}
			median, err := seconds(cell)
			if err != nil {
				return nil, err
			}
			s := span{name: row[0] + ", " + name, from: median, dot: median, to: median, tick: none, text: cell, color: []color.Color{orange, blue}[i]}
			if _, rest, ok := strings.Cut(cell, behind); ok {
				if s.to, err = seconds(rest); err != nil {
					return nil, err
				}
				s.tick = s.to
				s.text = cell[:strings.Index(cell, " (")] + " to " + duration.FindString(rest)
			}
			rows = append(rows, s)
		}
	}
	return one(panel{"How soon a dishonest machine is found out, in virtual time", "dot: median; tick: 95th percentile, where the table has one", tall(len(rows)), spansPlot(rows, "seconds")}), nil
}
