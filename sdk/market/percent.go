package market

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrPercent is the error of text that is no percentage.
var ErrPercent = errors.New("not a percentage")

// ParsePercent reads percent with at most two decimals as basis points: "99.9" is 9990. Error: ErrPercent.
func ParsePercent(s string) (uint16, error) {
	s = strings.TrimSuffix(s, "%")
	a, b, _ := strings.Cut(s, ".")
	if a == "" || len(b) > 2 || strings.ContainsAny(s, "+-_") {
		return 0, fmt.Errorf("%q: %w with at most two decimals", s, ErrPercent)
	}
	n, err := strconv.ParseUint(a+b+strings.Repeat("0", 2-len(b)), 10, 32)
	if err != nil || n > BPS {
		return 0, fmt.Errorf("%q: %w from 0 to 100", s, ErrPercent)
	}
	return uint16(n), nil
}

// Percent writes basis points with two decimals: 9997 is "99.97".
func Percent(bps uint16) string { return fmt.Sprintf("%d.%02d", bps/100, bps%100) }
