package soak

import (
	"slices"
	"time"
)

// quantile of durations, by the nearest rank; 0 for none.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Clone(d)
	slices.Sort(s)
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// slope of the least-squares line through points, in units of y per unit of x; 0 for fewer than two.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	if n < 2 {
		return 0
	}
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	d := n*sxx - sx*sx
	if d == 0 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}

// lows are the least values of consecutive groups: between two collections a heap only grows, so that its lows are what
// is held.
func lows(y []float64, group int) []float64 {
	var out []float64
	for part := range slices.Chunk(y, group) {
		if len(part) == group {
			out = append(out, slices.Min(part))
		}
	}
	return out
}
