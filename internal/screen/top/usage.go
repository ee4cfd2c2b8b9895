package top

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gantry-market/gantry/internal/screen"
)

// Seen is a lease at one moment: what the chain says of it, and what its machine says that it uses. Texts are fit for a terminal.
type Seen struct {
	Lease, Model, Region, State string
	Runs                        bool
	Count                       uint8 // of GPUs
	Began, Ends, Now            int64 // unix seconds, by the chain
	// Paid, Owed and Reserved are millionths of a USDC, Hour those of an hour.
	Paid, Owed, Reserved, Hour uint64

	At             time.Time // when the machine has measured
	CPUs, CPULimit float64
	Memory, Disk   Size
	Volume         Size
	GPUs           []GPU
	Sent, Received float64 // bytes a second; screen.None where nobody tells it
}

// Size is what is used, and of how much; 0 where that is not known. In bytes.
type Size struct{ Used, Of uint64 }

// GPU is one of the lease. What nobody tells is screen.None.
type GPU struct {
	Line                 string // all of it
	Missing, Simulated   bool
	Percent, Watts, Temp float64
	WattsLimit           float64 // in force
	Memory               Size
}

const (
	keepReadings = 240 // that strips can show
	clockWidth   = 41  // of the bars of time and money
	leftWidth    = 30  // of what stands in the left column
	rightWidth   = 12
	hottest      = 90 // °C at the top of a strip
	coldest      = 30
)

// usage is what `gantry top` shows.
type usage struct {
	seen       Seen
	known      bool
	gpu, power []float64
	temp       []float64
	mostPower  float64 // W, that was seen: the top of the strip where the machine tells no limit
	help       bool
}

// take takes what is seen now. Readings of several GPUs are their mean.
func (u *usage) take(s Seen) {
	u.seen, u.known = s, true
	busy, power, temp := means(s.GPUs)
	if power > u.mostPower { // false for None
		u.mostPower = power
	}
	push := func(all []float64, x float64) []float64 {
		all = append(all, x)
		return all[max(0, len(all)-keepReadings):]
	}
	u.gpu, u.power, u.temp = push(u.gpu, busy/100), push(u.power, power), push(u.temp, (temp-coldest)/(hottest-coldest))
}

// mean is that of a reading of the GPUs which tell it.
func mean(gpus []GPU, of func(*GPU) float64) float64 {
	sum, n := 0.0, 0
	for i := range gpus {
		if x := of(&gpus[i]); !math.IsNaN(x) && !gpus[i].Missing {
			sum, n = sum+x, n+1
		}
	}
	if n == 0 {
		return screen.None
	}
	return sum / float64(n)
}

func means(gpus []GPU) (busy, power, temp float64) {
	return mean(gpus, func(g *GPU) float64 { return g.Percent }), mean(gpus, func(g *GPU) float64 { return g.Watts }), mean(gpus, func(g *GPU) float64 { return g.Temp })
}

// render is the screen's lines.
func (u *usage) render(t screen.Terminal, keys bool) []string {
	if !u.known {
		return []string{"", "  the machine is asked what the lease uses"}
	}
	lines := append([]string{u.head(t)}, u.clocks(t)...)
	lines = append(append(lines, ""), u.readings(t)...)
	if keys {
		lines = append(append(lines, ""), u.keys(t)...)
	}
	for i, l := range lines {
		lines[i] = t.Cut(l, t.Width)
	}
	return lines
}

func (u *usage) head(t screen.Terminal) string {
	l := &u.seen
	name := t.Say(screen.Strong, t.Short(l.Lease)) + fmt.Sprintf("   %d %s %s", l.Count, t.Either("×", "x"), l.Model)
	narrow := t.Width < screen.Narrow
	if l.Region != "" && !narrow {
		name += "   " + l.Region
	}
	tone := screen.Good
	if !l.Runs {
		tone = screen.Now
	}
	state := t.Say(tone, t.Either("●", "*")+" "+l.State)
	if !narrow {
		state += "   " + t.Say(screen.Dim, l.At.UTC().Format("15:04:05")+" UTC")
	}
	width := 2 + clockWidth + 50
	return "  " + screen.Pad(name, min(t.Width, width)-2-screen.Width(state)-1) + " " + state
}

// clocks are the bars of time and money. Paid is what the chain has paid, the rest of what is used is served and not paid yet.
func (u *usage) clocks(t screen.Terminal) []string {
	l := &u.seen
	width := t.BarWidth(clockWidth)
	row := func(name, bar, text, more string) string {
		if bar != "" {
			bar += "   "
		}
		return "  " + t.Say(screen.Dim, screen.Pad(name, 6)) + " " + bar + screen.Pad(text, 18) + "   " + t.Say(screen.Dim, more)
	}
	begun := l.Began
	if begun == 0 {
		begun = l.Now
	}
	gone := float64(l.Now-begun) / float64(max(1, l.Ends-begun))
	left := time.Duration(max(0, l.Ends-l.Now)) * time.Second
	owed := max(l.Owed, l.Paid)
	whole := max(l.Reserved, owed, 1)
	share := func(x uint64) float64 { return float64(x) / float64(whole) }
	return []string{
		row("time", t.Parts(width, screen.Part{Share: gone, Unicode: "━", ASCII: "#", Tone: screen.Good}), screen.Rough(left)+" left", "ends "+screen.Ends(l.Ends, l.Now)),
		row("money", t.Parts(width, screen.Part{Share: share(l.Paid), Unicode: "━", ASCII: "#", Tone: screen.Good}, screen.Part{Share: share(owed - l.Paid), Unicode: "╍", ASCII: "=", Tone: screen.Now}),
			screen.Dollars(owed)+" of "+screen.Dollars(whole), screen.Dollars(l.Hour)+" /h"),
	}
}

// readings are what the machine says.
func (u *usage) readings(t screen.Terminal) []string {
	s := &u.seen
	left, right := t.BarWidth(leftWidth), t.BarWidth(rightWidth)
	busy, power, temp := means(s.GPUs)
	memory := gpuMemory(s.GPUs)
	watts, most := reading(t, power, "W"), u.mostPower
	if limit := mean(s.GPUs, func(g *GPU) float64 { return g.WattsLimit }); !math.IsNaN(limit) && !math.IsNaN(power) {
		watts, most = fmt.Sprintf("%.0f / %.0f W", power, limit), limit
	}
	powers := make([]float64, len(u.power))
	for i, w := range u.power {
		powers[i] = w / max(1, most)
	}
	net := t.Either("–", "-")
	if !math.IsNaN(s.Sent) {
		net = fmt.Sprintf("%s %s  %s %s MB/s", t.Either("↑", "out"), screen.Figure(s.Sent/1e6), t.Either("↓", "in"), screen.Figure(s.Received/1e6))
	}
	bar := func(share float64) string { return t.Bar(share, screen.None, left, screen.Reading) }
	text := t.Either("–", "-")
	if memory.Of > 0 {
		text = memory.text()
	}
	rows := []pair{
		{"GPU", reading(t, busy, "%"), t.Strip(u.gpu, left, screen.Reading), "power", watts, t.Strip(powers, right, screen.Reading)},
		{"mem", text, bar(memory.share()), "temp", reading(t, temp, t.Either("°C", "C")), t.Strip(u.temp, right, screen.Reading)},
		{"cpu", cpus(s), bar(share(s.CPUs, s.CPULimit)), "net", net, ""},
		{"ram", s.Memory.text(), bar(s.Memory.share()), "disk", s.Disk.text(), ""},
	}
	if s.Volume.Of > 0 {
		rows = append(rows, pair{"volume", s.Volume.text(), bar(s.Volume.share()), "", "", ""})
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.lines(t)...)
	}
	for i, g := range s.GPUs {
		if len(s.GPUs) > 1 || g.Missing || g.Simulated {
			line := strings.ReplaceAll(g.Line, "°C", t.Either("°C", "C"))
			out = append(out, "  "+t.Say(screen.Dim, screen.Pad(fmt.Sprintf("gpu %d", i), 7))+line)
		}
	}
	return out
}

// pair is a line with two readings.
type pair struct{ name, value, bar, second, secondValue, strip string }

// lines are one, or two where the terminal is narrow.
func (p pair) lines(t screen.Terminal) []string {
	left := "  " + t.Say(screen.Dim, screen.Pad(p.name, 7)) + screen.Pad(p.value, 17)
	right := t.Say(screen.Dim, screen.Pad(p.second, 7)) + screen.Pad(p.secondValue, 17) + p.strip
	if t.Width >= screen.Narrow {
		return []string{strings.TrimRight(left+p.bar+"   "+right, " ")}
	}
	lines := []string{strings.TrimRight(left, " ")}
	if p.second != "" {
		lines = append(lines, strings.TrimRight("  "+right, " "))
	}
	return lines
}

// reading is a mean with its unit, and a dash where nobody tells it.
func reading(t screen.Terminal, x float64, unit string) string {
	if math.IsNaN(x) {
		return t.Either("–", "-")
	}
	return fmt.Sprintf("%.0f %s", x, unit)
}

func cpus(s *Seen) string {
	if s.CPULimit == 0 {
		return screen.Figure(s.CPUs)
	}
	return screen.Figure(s.CPUs) + " / " + screen.Figure(s.CPULimit)
}

// text is a size, and of how much where that is known.
func (s Size) text() string {
	if s.Of == 0 {
		return screen.GiB(s.Used) + " GiB"
	}
	return screen.GiB(s.Used) + " / " + screen.GiB(s.Of) + " GiB"
}

func (s Size) share() float64 { return share(float64(s.Used), float64(s.Of)) }

func share(used, of float64) float64 {
	if of == 0 {
		return screen.None
	}
	return used / of
}

// gpuMemory is that of all GPUs.
func gpuMemory(gpus []GPU) (sum Size) {
	for _, g := range gpus {
		if !g.Missing {
			sum.Used, sum.Of = sum.Used+g.Memory.Used, sum.Of+g.Memory.Of
		}
	}
	return sum
}

// keys are what the keyboard does.
func (u *usage) keys(t screen.Terminal) []string {
	if !u.help {
		return []string{"  " + t.Say(screen.Dim, "q quit   s stop   e extend   l logs   ? help")}
	}
	var out []string
	for _, line := range []string{
		"q        leave; the lease goes on", "s, e, l  leave, and say the command that stops it, extends it, or shows its output", "?        this text",
		"Readings are what the machine says. Time and money are what the chain says; the hatched part is served, and not paid yet.",
	} {
		for _, part := range screen.Wrap(line, t.Width-2) {
			out = append(out, "  "+t.Say(screen.Dim, part))
		}
	}
	return out
}
