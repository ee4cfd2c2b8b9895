package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// attacks are the profits of all attacks, before and now: a dot for each.
func attacks(r *report) ([]panel, error) {
	var before, now []float64
	seen := 0
	for _, t := range r.tables {
		if !slices.Contains(t.head, "profit now") {
			continue
		}
		for _, row := range t.rows {
			v, err := t.numbers(row, "profit now")
			if err != nil {
				return nil, err
			}
			now = append(now, v[0])
			cell, err := t.cell(row, "profit before")
			if err != nil {
				return nil, err
			}
			if earlier, err := number(cell); err == nil { // others have words there
				before = append(before, earlier)
			}
			seen++
		}
	}
	if seen == 0 {
		return nil, errNoTable
	}
	rows := swarms{
		{fmt.Sprintf("before (%d have a figure)", len(before)), before},
		{fmt.Sprintf("now (all %d)", len(now)), now},
	}
	p := newPlot(upright{})
	p.Add(rows)
	p.X.Scale, p.X.Min, p.X.Max = bothWays{}, -200, 100_000
	at(&p.X, []float64{-100, -10, -1, -0.1, 0, 0.1, 1, 10, 100, 1_000, 10_000, 100_000})
	p.X.Label.Text = "profit, USDC: powers of ten to both sides of zero"
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: rows.y(0), Label: rows[0].name}, {Value: rows.y(1), Label: rows[1].name}}
	p.Y.Tick.Label.Color = ink
	return one(panel{"What attacks bring to their owner", "a dot for each attack; red: it brings more than what stands under “instead”", 230, p}), nil
}

// bothWays is a scale of powers of ten to both sides of zero; what is less than a hundredth is near zero.
type bothWays struct{}

func (bothWays) Normalize(least, most, x float64) float64 {
	f := func(v float64) float64 { return math.Copysign(math.Log10(1+math.Abs(v)/0.03), v) }
	return (f(x) - f(least)) / (f(most) - f(least))
}

// swarms are rows of dots. Dots that would cover each other are stacked; those at zero are one, of the same area, with their number.
type swarms []struct {
	name   string
	values []float64
}

func (s swarms) y(i int) float64 { return []float64{0.62, 0.19}[i] }

func (s swarms) Plot(c draw.Canvas, p *plot.Plot) {
	const radius = vg.Length(2.6)
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1}, x(0), c.Min.Y, x(0), c.Max.Y)
	for i, row := range s {
		nothing := len(slices.DeleteFunc(slices.Clone(row.values), func(v float64) bool { return v != 0 }))
		if nothing > 0 {
			all := radius * vg.Length(math.Sqrt(float64(nothing)))
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: pale, Radius: all, Shape: draw.CircleGlyph{}}, vg.Point{X: x(0), Y: y(s.y(i))})
			label := written(small, ink)
			label.XAlign, label.YAlign = draw.XCenter, draw.YTop
			tell(c, label, vg.Point{X: x(0), Y: y(s.y(i)) - all - 2}, fmt.Sprintf("%d bring 0", nothing))
		}
		var placed []vg.Point
		for _, v := range slices.Sorted(slices.Values(row.values)) {
			if v == 0 {
				continue
			}
			spot := vg.Point{X: x(v), Y: y(s.y(i))}
			for slices.ContainsFunc(placed, func(o vg.Point) bool {
				return math.Hypot(float64(o.X-spot.X), float64(o.Y-spot.Y)) < 2*float64(radius)+0.2
			}) {
				spot.Y += radius / 4
			}
			placed = append(placed, spot)
			fill := color.Color(blue)
			if v > 0 {
				fill = red
			}
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: fill, Radius: radius, Shape: draw.CircleGlyph{}}, spot)
		}
	}
}
