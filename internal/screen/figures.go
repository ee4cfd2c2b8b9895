package screen

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Dollars is an amount of millionths of a USDC as people read it: two decimals, none from a thousand on.
func Dollars[T ~uint64](micros T) string {
	switch {
	case micros > 0 && micros < 10_000:
		return "< $0.01"
	case micros < 1_000_000_000:
		return fmt.Sprintf("$%.2f", float64(micros)/1e6)
	}
	return "$" + thousands(uint64(math.Round(float64(micros)/1e6)))
}

// thousands is a number with a comma after each thousand.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Figure is a number with three digits at most, and all of those before its point: 1,041, 71.9, 3.25.
func Figure(x float64) string {
	switch {
	case x < 0 || math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x >= 99.95:
		return thousands(uint64(math.Round(x)))
	case x >= 9.995:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
	}
	return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf("%.2f", x), "0"), ".0")
}

// GiB is a number of bytes in GiB, without its unit.
func GiB(bytes uint64) string { return Figure(float64(bytes) / (1 << 30)) }

// Bytes is a size with its unit: GiB, or MiB below a tenth of one.
func Bytes(n uint64) string {
	if n < 1<<30/10 {
		return Figure(float64(n)/(1<<20)) + " MiB"
	}
	return GiB(n) + " GiB"
}

// BytesOf is a part of a size, in the unit of the size.
func BytesOf(n, of uint64) string {
	if of < 1<<30/10 {
		return Figure(float64(n)/(1<<20)) + "/" + Bytes(of)
	}
	return GiB(n) + "/" + Bytes(of)
}

// Took is how long something took or takes, two parts at most.
func Took(d time.Duration) string {
	switch {
	case d < 0:
		return Took(0)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Rough is Took without seconds, from a minute on.
func Rough(d time.Duration) string {
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return Took(d)
}

// Beginning is of an address what commands take for all of it.
func Beginning(address string) string { return address[:min(6, len(address))] }

// Short is an address as a screen shows it.
func (t Terminal) Short(address string) string {
	if len(address) <= 9 {
		return address
	}
	return address[:4] + t.Either("…", "..") + address[len(address)-4:]
}

// Percent is a share without decimals; what is above nothing is never 0.
func Percent(share float64) string {
	if share > 0 && share < 0.01 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Ends is when the money ends, with the day where it is not today.
func Ends(at, now int64) string {
	then, today := time.Unix(at, 0).UTC(), time.Unix(now, 0).UTC()
	if at == 0 {
		return "-"
	}
	if then.YearDay() == today.YearDay() && then.Year() == today.Year() {
		return then.Format("15:04") + " UTC"
	}
	return then.Format("2 Jan 15:04") + " UTC"
}
