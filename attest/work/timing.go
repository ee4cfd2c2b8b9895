package work

import "time"

// Ops is the number of multiplications and additions in a product of order n: 2n³.
func Ops(n int) float64 { return 2 * float64(n) * float64(n) * float64(n) }

// GOPS is 2n³/t in 10⁹ operations a second; 0 if elapsed is not positive.
func GOPS(n int, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return Ops(n) / elapsed.Seconds() / 1e9
}
