package service

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// addressOf is an address as text, and empty for none.
func addressOf(key solana.PublicKey) string {
	if key.IsZero() {
		return ""
	}
	return key.String()
}

// unixOf is a time in unix seconds, and 0 for one that is not known.
func unixOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// When writes a unix second, "-" for none.
func When(unix int64) string {
	if unix == 0 {
		return "-"
	}
	return time.Unix(unix, 0).UTC().Format(time.DateTime)
}

// Span writes seconds as a duration.
func Span(seconds int64) string {
	return (time.Duration(max(seconds, 0)) * time.Second).String()
}

// Plural writes a number of things.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Short is an address as tables and sentences show it.
func Short(key solana.PublicKey) string {
	s := key.String()
	if len(s) <= 6 {
		return s
	}
	return s[:6] + "…"
}

// Rating writes the average of stars with one decimal, and nothing without ratings.
func Rating(n *market.Node) string {
	if n.RatingWeight == 0 {
		return "-"
	}
	hi, lo := bits.Mul64(n.RatingSum, 10)
	if hi >= n.RatingWeight {
		return "-"
	}
	tenths, _ := bits.Div64(hi, lo, n.RatingWeight)
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// minPrefix is how many characters of an address stand for it at least.
const minPrefix = 3

// PickAddress finds an account by its address or by the first characters of it; what it is for the error.
func PickAddress(text, what string, among []solana.PublicKey) (solana.PublicKey, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "…"), "...")
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	var found []solana.PublicKey
	for _, key := range among {
		if len(text) >= minPrefix && strings.HasPrefix(key.String(), text) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if len(text) >= minPrefix {
			return solana.PublicKey{}, Usage(fmt.Sprintf("no %s begins with %q", what, text), "give more or other characters; one that is closed is found by its whole address")
		}
		return solana.PublicKey{}, Usage(fmt.Sprintf("%q is too short to find the %s", text, what), "give its address, or at least the first three characters of it")
	}
	return solana.PublicKey{}, Usage(fmt.Sprintf("prefix %q matches %d %ss", text, len(found), what), "give more characters of the address")
}
