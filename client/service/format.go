package service

import (
	"fmt"
	"math/bits"
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
