package service

import (
	"fmt"
	"math"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// Duration is a time as somebody writes it: its parts are added up.
type Duration struct {
	Hours            float64
	Minutes, Seconds uint
	// Text is such as 90s, 45m or 24h; empty for none.
	Text string
}

// Secs is the time in seconds, from one up to a year. Error: [Failure].
func (d Duration) Secs() (uint32, error) {
	if math.IsNaN(d.Hours) || d.Hours < 0 || d.Hours*3600 > market.MaxDurationSecs {
		return 0, Usage(fmt.Sprintf("the time is %g hours", d.Hours), "give a number of hours up to one year, such as 2 or 0.5")
	}
	total := uint64(math.Round(d.Hours*3600)) + uint64(d.Minutes)*60 + uint64(d.Seconds)
	if d.Text != "" {
		t, err := time.ParseDuration(d.Text)
		if err != nil || t < 0 || t%time.Second != 0 {
			return 0, Usage(fmt.Sprintf("%q is not a time in whole seconds", d.Text), "write it as 90s, 45m or 24h")
		}
		total += uint64(t / time.Second)
	}
	if total == 0 || total > market.MaxDurationSecs {
		return 0, Usage(fmt.Sprintf("the time is %d seconds", total), "give from one second up to one year")
	}
	return uint32(total), nil
}
