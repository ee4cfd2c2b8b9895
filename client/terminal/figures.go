package terminal

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// Dollars is an amount of USDC as people read it: two decimals, none from a thousand on.
func Dollars(u market.USDC) string {
	switch {
	case u > 0 && u < market.OneUSDC/100:
		return "< $0.01"
	case u < 1_000*market.OneUSDC:
		return fmt.Sprintf("$%.2f", float64(u)/1e6)
	}
	return "$" + thousands(uint64(math.Round(float64(u)/1e6)))
}

// thousands is a number with a comma after each thousand.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// figure is a number with three digits at most, and all of those before its point: 1,041, 71.9, 3.25.
func figure(x float64) string {
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

// gibibytes is a number of bytes in GiB, without its unit.
func gibibytes(bytes uint64) string { return figure(float64(bytes) / (1 << 30)) }

// took is how long something took or takes, two parts at most.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return took(0)
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

// rough is took without seconds, from a minute on.
func rough(d time.Duration) string {
	if d >= time.Minute && d < time.Hour {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return took(d)
}

// beginning is of an address what commands take for all of it.
func beginning(address string) string { return address[:min(6, len(address))] }

// short is an address as a screen shows it; ellipsis is the terminal's.
func short(address, ellipsis string) string {
	if len(address) <= 9 {
		return address
	}
	return address[:4] + ellipsis + address[len(address)-4:]
}
