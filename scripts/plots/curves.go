package main

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is a line through points, with its name at the right end.
type curve struct {
	name   string
	x, y   []float64
	color  color.Color
	dashed bool
}

// curves draws them; names that would touch are moved apart.
type curves []curve

func (all curves) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	ends := make([]vg.Point, len(all))
	for i, l := range all {
		style := draw.LineStyle{Color: l.color, Width: 1.75}
		if l.dashed {
			style.Dashes = []vg.Length{5, 3}
		}
		points := make([]vg.Point, len(l.x))
		for j := range l.x {
			points[j] = vg.Point{X: x(l.x[j]), Y: y(l.y[j])}
		}
		c.StrokeLines(style, points)
		for _, at := range points {
			c.DrawGlyphNoClip(draw.GlyphStyle{Color: l.color, Radius: 2.6, Shape: draw.CircleGlyph{}}, at)
		}
		ends[i] = points[len(points)-1]
	}
	for i, at := range apart(ends, 12) {
		label := written(small, all[i].color)
		label.YAlign = draw.YCenter
		c.FillText(label, vg.Point{X: at.X + 8, Y: at.Y + 1}, all[i].name)
	}
}

// apart moves places up and down until there is room between each two.
func apart(places []vg.Point, room vg.Length) []vg.Point {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a].Y, places[b].Y) })
	out := slices.Clone(places)
	for range 100 {
		for k := 1; k < len(order); k++ {
			low, high := &out[order[k-1]], &out[order[k]]
			if gap := high.Y - low.Y; gap < room {
				low.Y -= (room - gap) / 2
				high.Y += (room - gap) / 2
			}
		}
	}
	return out
}

func (all curves) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range all {
		xmin, xmax = min(xmin, slices.Min(l.x)), max(xmax, slices.Max(l.x))
		ymin, ymax = min(ymin, slices.Min(l.y)), max(ymax, slices.Max(l.y))
	}
	return xmin, xmax, ymin, ymax
}

// GlyphBoxes keep room for the names.
func (all curves) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var widest vg.Length
	for _, l := range all {
		widest = max(widest, written(small, ink).Width(l.name))
	}
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: widest + 12, Y: 1}}}}
}

// curvesPlot is a plot of curves; axes have names with their units, and y begins at zero.
func curvesPlot(all curves, x, y string) *plot.Plot {
	p := newPlot(across{})
	p.Add(all)
	step := round{}.step(0, p.Y.Max)
	p.Y.Min, p.Y.Max = 0, math.Ceil(p.Y.Max/step)*step
	p.X.Label.Text, p.Y.Label.Text = x, y
	return p
}

// at gives an axis a tick at each of these values, and no other.
func at(a *plot.Axis, values []float64) {
	var ticks []plot.Tick
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: figure(v)})
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
}

// across is a grid of lines at the ticks of y.
type across struct{}

func (across) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() && t.Value >= p.Y.Min && t.Value <= p.Y.Max {
			c.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.75}, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
}

// level is a dashed line across with a name at its left end.
type level struct {
	at   float64
	name string
}

func (l level) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: red, Width: 1, Dashes: []vg.Length{4, 3}}, c.Min.X, y(l.at), c.Max.X, y(l.at))
	c.FillText(written(small, red), vg.Point{X: c.Min.X + 4, Y: y(l.at) + 3}, l.name)
}
