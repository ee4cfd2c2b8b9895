package main

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// span is a row of a chart: a line from the least to the most, a dot between them, and what is written at its end.
type span struct {
	name          string
	from, dot, to float64
	tick          float64 // a second mark; NaN for none
	text          string
	color         color.Color
}

var none = math.NaN()

// spans draws rows from top to bottom.
type spans []span

// y is the place of a row.
func (s spans) y(i int) float64 { return float64(len(s) - 1 - i) }

func (s spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, r := range s {
		at := y(s.y(i))
		c.StrokeLine2(draw.LineStyle{Color: r.color, Width: 2}, x(r.from), at, x(r.to), at)
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: r.color, Radius: 3.5, Shape: draw.CircleGlyph{}}, vg.Point{X: x(r.dot), Y: at})
		if !math.IsNaN(r.tick) {
			c.StrokeLine2(draw.LineStyle{Color: r.color, Width: 1.5}, x(r.tick), at-4.5, x(r.tick), at+4.5)
		}
		label := written(small, ink)
		label.YAlign = draw.YCenter
		tell(c, label, vg.Point{X: x(s.end(i)) + 8, Y: at + 1}, r.text)
	}
}

// tell writes a text, and paints over the lines behind it.
func tell(c draw.Canvas, style text.Style, at vg.Point, words string) {
	box := style.Rectangle(words).Add(at)
	c.SetColor(paper)
	c.Fill(box.Path())
	c.FillText(style, at, words)
}

// end is the right end of what is drawn of a row.
func (s spans) end(i int) float64 {
	end := max(s[i].to, s[i].dot)
	if !math.IsNaN(s[i].tick) {
		end = max(end, s[i].tick)
	}
	return end
}

func (s spans) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = math.Inf(1), math.Inf(-1)
	for i, r := range s {
		xmin, xmax = min(xmin, r.from, r.dot), max(xmax, s.end(i))
	}
	return xmin, xmax, -0.4, float64(len(s)) - 0.6
}

// GlyphBoxes keep room for the texts.
func (s spans) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var out []plot.GlyphBox
	for i, r := range s {
		size := vg.Point{X: written(small, ink).Width(r.text) + 10, Y: 1}
		out = append(out, plot.GlyphBox{X: p.X.Norm(s.end(i)), Y: p.Y.Norm(s.y(i)), Rectangle: vg.Rectangle{Max: size}})
	}
	return out
}

// spansPlot is a plot of rows whose axis has a name with its unit. It begins at zero. Limits are behind the rows.
func spansPlot(rows spans, axis string, limits ...limit) *plot.Plot {
	p := newPlot(upright{})
	for _, l := range limits {
		p.Add(l)
	}
	p.Add(rows)
	p.X.Min = min(0, p.X.Min)
	p.X.Label.Text = axis
	var names []plot.Tick
	for i, r := range rows {
		names = append(names, plot.Tick{Value: rows.y(i), Label: r.name})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Tick.Label.Color = ink
	return p
}

// tall is the height of a plot with so many rows.
func tall(rows int) vg.Length { return vg.Length(rows)*17 + 40 }

// upright is a grid of lines at the ticks of x.
type upright struct{}

func (upright) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() && t.Value >= p.X.Min && t.Value <= p.X.Max {
			c.StrokeLine2(draw.LineStyle{Color: grid, Width: 0.75}, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
}

// limit is an upright dashed line with a name above it.
type limit struct {
	at   float64
	name string
}

func (l limit) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: red, Width: 1, Dashes: []vg.Length{4, 3}}, x(l.at), c.Min.Y, x(l.at), c.Max.Y)
	label := written(small, red)
	label.XAlign = draw.XCenter
	c.FillText(label, vg.Point{X: x(l.at), Y: c.Max.Y + 2}, l.name)
}

func (l limit) DataRange() (xmin, xmax, ymin, ymax float64) {
	return l.at, l.at, math.Inf(1), math.Inf(-1)
}

func (l limit) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	half := written(small, red).Width(l.name) / 2
	return []plot.GlyphBox{{X: p.X.Norm(l.at), Y: 1, Rectangle: vg.Rectangle{Min: vg.Point{X: -half}, Max: vg.Point{X: half, Y: 13}}}}
}
