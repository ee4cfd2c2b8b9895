package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	vgfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Colours on white: pages in dark show a picture as a light card.
var (
	paper  = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	ink    = color.NRGBA{0x14, 0x20, 0x1b, 0xff}
	grey   = color.NRGBA{0x60, 0x6b, 0x65, 0xff}
	grid   = color.NRGBA{0xe3, 0xe7, 0xe2, 0xff}
	blue   = color.NRGBA{0x2f, 0x62, 0xd9, 0xff}
	pale   = color.NRGBA{0xb4, 0xc9, 0xf4, 0xff}
	orange = color.NRGBA{0xc2, 0x70, 0x1c, 0xff}
	green  = color.NRGBA{0x0e, 0x93, 0x76, 0xff}
	red    = color.NRGBA{0xb0, 0x27, 0x1c, 0xff}
)

const (
	width  = vg.Length(600)
	margin = vg.Length(14)
	small  = vg.Length(9)
	medium = vg.Length(10.5)
)

// panel is one plot of a picture, under a title and a line that says how to read it.
type panel struct {
	title, note string
	height      vg.Length // of the plot with its axes
	plot        *plot.Plot
}

// written is a style of text; its font is looked up by the handler of the package plot.
func written(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: vgfont.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: plot.DefaultTextHandler}
}

// newPlot has a grid and no other lines: across for values of y, up for values of x.
func newPlot(lines plot.Plotter) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Width, a.Tick.Length, a.Padding = 0, 0, 4
		label, tick := written(small, grey), written(small, grey)
		label.XAlign, label.YAlign = draw.XCenter, draw.YBottom
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Label.TextStyle, a.Tick.Label, a.Label.Padding = label, tick, 4
		a.Tick.Marker = round{}
	}
	p.Add(lines)
	return p
}

// round has ticks at round numbers, at most six steps of them.
type round struct{}

// step is the distance of ticks: 1, 2 or 5 with zeros.
func (round) step(least, most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10((most-least)/6)))
	for _, times := range []float64{1, 2, 5} {
		if power*times*6 >= most-least {
			return power * times
		}
	}
	return power * 10
}

func (r round) Ticks(least, most float64) []plot.Tick {
	step := r.step(least, most)
	var all []plot.Tick
	for i := math.Ceil(least / step); i*step <= most; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: figure(i * step)})
	}
	return all
}

// logarithmic makes an axis one of powers of ten, from one to another.
func logarithmic(a *plot.Axis, from, to float64) {
	a.Scale, a.Min, a.Max = plot.LogScale{}, from, to
	var ticks []plot.Tick
	for v := math.Pow(10, math.Ceil(math.Log10(from))); v <= to*1.0001; v *= 10 {
		ticks = append(ticks, plot.Tick{Value: v, Label: figure(v)})
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
}

// figure writes a number with separators between thousands, and a minus sign.
func figure(v float64) string {
	s := strconv.FormatFloat(math.Abs(math.Round(v*1e6)/1e6), 'f', -1, 64)
	whole, rest, point := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + rest
	}
	if v < 0 {
		return "−" + whole
	}
	return whole
}

// families are fonts of the same widths: the first of them measures the texts, and a reader has one of them.
var families = [2]string{"font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"}

// render draws panels one below the other.
func render(panels []panel) ([]byte, error) {
	title, note := written(medium, ink), written(small, grey)
	title.Font.Weight = font.WeightBold
	title.YAlign, note.YAlign = draw.YTop, draw.YTop
	head := func(p panel) vg.Length {
		if p.note == "" {
			return 20
		}
		return 33
	}
	height := margin
	for _, p := range panels {
		height += head(p) + p.height + margin
	}
	svg := vgsvg.New(width, height)
	all := draw.New(svg)
	all.SetColor(paper)
	all.Fill(all.Rectangle.Path())
	top := margin
	for _, p := range panels {
		at := vg.Point{X: margin, Y: height - top}
		all.FillText(title, at, p.title)
		if p.note != "" {
			all.FillText(note, vg.Point{X: at.X, Y: at.Y - 15}, p.note)
		}
		top += head(p)
		p.plot.Draw(draw.Crop(all, margin, -margin, height-top-p.height, -top))
		top += p.height + margin
	}
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw: %w", err)
	}
	return bytes.ReplaceAll(b.Bytes(), []byte(families[0]), []byte(families[1])), nil
}
