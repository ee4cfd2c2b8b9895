package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/sdk/market"
)

// Seen is a lease at one moment: what the chain says of it, and what its machine says that it uses.
type Seen struct {
	Lease  service.Lease
	Region string
	Use    service.Use
	Now    int64 // the chain's clock, unix seconds
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
	mostPower  float64 // W, that was seen: machines do not tell their limit
	help       bool
}

// take takes what is seen now. Readings of several GPUs are their mean.
func (u *usage) take(s Seen) {
	u.seen, u.known = s, true
	busy, power, temp := means(s.Use.GPUs)
	u.mostPower = max(u.mostPower, power)
	push := func(all []float64, x float64) []float64 {
		all = append(all, x)
		return all[max(0, len(all)-keepReadings):]
	}
	u.gpu, u.power, u.temp = push(u.gpu, busy/100), push(u.power, power), push(u.temp, (temp-coldest)/(hottest-coldest))
}

// means are those of the GPUs' readings: percent, W, °C. None is where no GPU tells it.
func means(gpus []service.GPUUse) (busy, power, temp float64) {
	mean := func(of func(service.GPUUse) *uint32) float64 {
		sum, n := 0.0, 0
		for _, g := range gpus {
			if x := of(g); x != nil && !g.Missing {
				sum, n = sum+float64(*x), n+1
			}
		}
		if n == 0 {
			return screen.None
		}
		return sum / float64(n)
	}
	return mean(func(g service.GPUUse) *uint32 { return g.Percent }), mean(func(g service.GPUUse) *uint32 { return g.PowerMW }) / 1000,
		mean(func(g service.GPUUse) *uint32 { return g.TempC })
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
	l := &u.seen.Lease
	name := t.Say(screen.Strong, short(l.Address, t.Either("…", ".."))) + fmt.Sprintf("   %d %s %s", l.GPUs, t.Either("×", "x"), printable.Text(l.Model))
	narrow := t.Width < screen.Narrow
	if u.seen.Region != "" && !narrow {
		name += "   " + printable.Text(u.seen.Region)
	}
	tone, mark := screen.Good, t.Either("●", "*")
	if l.Status != market.LeaseRunning.String() {
		tone = screen.Now
	}
	state := t.Say(tone, mark+" "+l.Status)
	if !narrow {
		state += "   " + t.Say(screen.Dim, u.seen.Use.Measured.UTC().Format("15:04:05")+" UTC")
	}
	width := 2 + clockWidth + 50
	return "  " + screen.Pad(name, min(t.Width, width)-2-screen.Width(state)-1) + " " + state
}

// clocks are the bars of time and money. Paid is what the chain has paid, the rest of what is used is served and not paid yet.
func (u *usage) clocks(t screen.Terminal) []string {
	l, c := &u.seen.Lease, &u.seen.Use.Cost
	width := t.BarWidth(clockWidth)
	row := func(name, bar, text, more string) string {
		if bar != "" {
			bar += "   "
		}
		return "  " + t.Say(screen.Dim, screen.Pad(name, 6)) + " " + bar + screen.Pad(text, 18) + "   " + t.Say(screen.Dim, more)
	}
	begun := l.StartedAt
	if begun == 0 {
		begun = u.seen.Now
	}
	gone := float64(u.seen.Now-begun) / float64(max(1, c.FundedUntil-begun))
	left := time.Duration(max(0, c.FundedUntil-u.seen.Now)) * time.Second
	paid, _ := market.ParseUSDC(c.Paid) // as they are written by this program
	owed, _ := market.ParseUSDC(c.Owed)
	whole, _ := market.ParseUSDC(l.Reserved)
	hour, _ := market.ParseUSDC(c.PerHour)
	owed, whole = max(owed, paid), max(whole, owed, paid, 1)
	share := func(x market.USDC) float64 { return float64(x) / float64(whole) }
	return []string{
		row("time", t.Parts(width, screen.Part{Share: gone, Unicode: "━", ASCII: "#", Tone: screen.Good}), rough(left)+" left", "ends "+ends(c.FundedUntil, u.seen.Now)),
		row("money", t.Parts(width, screen.Part{Share: share(paid), Unicode: "━", ASCII: "#", Tone: screen.Good}, screen.Part{Share: share(owed - paid), Unicode: "╍", ASCII: "=", Tone: screen.Now}),
			Dollars(owed)+" of "+Dollars(whole), Dollars(hour)+" /h"),
	}
}

// ends is when the money ends, with the day where it is not today.
func ends(at, now int64) string {
	then, today := time.Unix(at, 0).UTC(), time.Unix(now, 0).UTC()
	if at == 0 {
		return "-"
	}
	if then.YearDay() == today.YearDay() && then.Year() == today.Year() {
		return then.Format("15:04") + " UTC"
	}
	return then.Format("2 Jan 15:04") + " UTC"
}

// readings are what the machine says.
func (u *usage) readings(t screen.Terminal) []string {
	s := &u.seen.Use
	left, right := t.BarWidth(leftWidth), t.BarWidth(rightWidth)
	busy, power, temp := means(s.GPUs)
	used, size := gpuMemory(s.GPUs)
	powers := make([]float64, len(u.power))
	for i, w := range u.power {
		powers[i] = w / max(1, u.mostPower)
	}
	net := t.Either("–", "-")
	if n := s.Network; n != nil {
		net = fmt.Sprintf("%s %s  %s %s MB/s", t.Either("↑", "out"), figure(n.SentRate/1e6), t.Either("↓", "in"), figure(n.ReceivedRate/1e6))
	}
	rows := []pair{
		{"GPU", reading(t, busy, "%"), t.Strip(u.gpu, left, screen.Reading), "power", reading(t, power, "W"), t.Strip(powers, right, screen.Reading)},
		{"mem", ofBytes(used, size), t.Bar(share(used, size), screen.None, left, screen.Reading), "temp", reading(t, temp, t.Either("°C", "C")), t.Strip(u.temp, right, screen.Reading)},
		{"cpu", cpus(s), t.Bar(shareOf(s.CPUs, s.CPULimit), screen.None, left, screen.Reading), "net", net, ""},
		{"ram", ofBytes(s.Memory, s.MemoryLimit), t.Bar(share(s.Memory, s.MemoryLimit), screen.None, left, screen.Reading), "disk", ofBytes(s.Disk, s.DiskLimit), ""},
	}
	if s.VolumeSize > 0 {
		rows = append(rows, pair{"volume", ofBytes(s.Volume, s.VolumeSize), t.Bar(share(s.Volume, s.VolumeSize), screen.None, left, screen.Reading), "", "", ""})
	}
	var out []string
	for _, r := range rows {
		out = append(out, r.lines(t)...)
	}
	for i, g := range s.GPUs {
		if len(s.GPUs) > 1 || g.Missing || g.Simulated {
			line := strings.ReplaceAll(gpuLine(g), "°C", t.Either("°C", "C"))
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
	if x != x {
		return t.Either("–", "-")
	}
	return fmt.Sprintf("%.0f %s", x, unit)
}

func cpus(s *service.Use) string {
	if s.CPULimit == 0 {
		return figure(s.CPUs)
	}
	return figure(s.CPUs) + " / " + figure(s.CPULimit)
}

// ofBytes is a size, and how large it can be where that is known.
func ofBytes(used, size uint64) string {
	if size == 0 {
		return gibibytes(used) + " GiB"
	}
	return gibibytes(used) + " / " + gibibytes(size) + " GiB"
}

func share(used, size uint64) float64 { return shareOf(float64(used), float64(size)) }

func shareOf(used, size float64) float64 {
	if size == 0 {
		return screen.None
	}
	return used / size
}

// gpuMemory is that of all GPUs, bytes.
func gpuMemory(gpus []service.GPUUse) (used, size uint64) {
	for _, g := range gpus {
		if g.MemoryUsedMiB != nil && !g.Missing {
			used, size = used+*g.MemoryUsedMiB<<20, size+g.MemoryMiB<<20
		}
	}
	return used, size
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
