package market

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrAmount is the error of amounts that cannot be read.
var ErrAmount = errors.New("not a valid amount")

// USDC is an amount of the payment token in millionths (µUSDC).
type USDC uint64

// GNT is an amount of the stake token in base units of a billionth.
type GNT uint64

// PricePerHour is µUSDC per GPU and hour.
type PricePerHour uint64

// Whole tokens.
const (
	OneUSDC USDC = 1_000_000
	OneGNT  GNT  = 1_000_000_000
)

// USDCDecimals are those of the payment token.
const USDCDecimals = usdcDecimals

const (
	usdcDecimals = 6
	gntDecimals  = 9
)

// String writes at least two decimals: "400.00", "0.419".
func (u USDC) String() string { return formatDecimal(uint64(u), usdcDecimals, 2) }

// Exact writes all six decimals: "0.419000".
func (u USDC) Exact() string { return formatDecimal(uint64(u), usdcDecimals, usdcDecimals) }

// String writes no more decimals than needed: "500", "0.5".
func (g GNT) String() string { return formatDecimal(uint64(g), gntDecimals, 0) }

// String writes at least two decimals: "1.26".
func (p PricePerHour) String() string { return formatDecimal(uint64(p), usdcDecimals, 2) }

// ParseUSDC reads a decimal number with at most six decimals; the unit may follow. Error: ErrAmount.
func ParseUSDC(s string) (USDC, error) {
	n, err := parseDecimal(s, "USDC", usdcDecimals)
	return USDC(n), err
}

// ParseGNT reads a decimal number with at most nine decimals; the unit may follow. Error: ErrAmount.
func ParseGNT(s string) (GNT, error) {
	n, err := parseDecimal(s, "GNT", gntDecimals)
	return GNT(n), err
}

// ParsePrice reads USDC per GPU-hour with at most six decimals. Error: ErrAmount.
func ParsePrice(s string) (PricePerHour, error) {
	n, err := parseDecimal(s, "USDC", usdcDecimals)
	return PricePerHour(n), err
}

// formatDecimal writes n / 10^decimals with at least keep decimals and no other trailing zeros.
func formatDecimal(n uint64, decimals, keep int) string {
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	whole, frac := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	for len(frac) > keep && frac[len(frac)-1] == '0' {
		frac = frac[:len(frac)-1]
	}
	if frac == "" {
		return whole
	}
	return whole + "." + frac
}

func parseDecimal(s, unit string, decimals int) (uint64, error) {
	v := strings.TrimSpace(s)
	if n := len(v) - len(unit); n >= 0 && strings.EqualFold(v[n:], unit) {
		v = strings.TrimSpace(v[:n])
	}
	whole, frac, _ := strings.Cut(v, ".")
	switch {
	case whole == "" && frac == "":
		return 0, fmt.Errorf("%q: %w; give a number such as 12.50", s, ErrAmount)
	case !allDigits(whole) || !allDigits(frac):
		return 0, fmt.Errorf("%q: %w; digits and one dot only, such as 12.50", s, ErrAmount)
	case len(frac) > decimals:
		return 0, fmt.Errorf("%q: %w; %s has at most %d decimals", s, ErrAmount, unit, decimals)
	}
	n, err := strconv.ParseUint(whole+frac+strings.Repeat("0", decimals-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w; it is too large", s, ErrAmount)
	}
	return n, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
