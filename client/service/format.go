package service

import (
	"fmt"
	"math/bits"

	"github.com/gantry-market/gantry/client/market"
)

// Percent writes basis points with two decimals: 9997 is "99.97".
func Percent(bps uint16) string { return fmt.Sprintf("%d.%02d", bps/100, bps%100) }

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
