package sim

import "time"

// Draw makes the options of a small market with everything drawn by the seed: its size, who is faulty and how, what the
// network loses, and in a third of the cases a split, every other one of which lasts longer than keepers work on a
// period without pause.
func Draw(seed uint64) Options {
	d := newRNG(seed, "options")
	keepers := []int{4, 5, 6, 7, 7, 8, 10, 10, 13}[d.IntN(9)]
	o := Options{
		Seed: seed, Keepers: keepers, Nodes: 8 + d.IntN(17), Periods: 5 + d.IntN(4), Period: time.Minute,
		Faults: Faultless(keepers), Dishonest: -1, Loss: d.Float64() * 0.05,
	}
	if d.chance(1. / 3) {
		o.Split = 2 * o.Period
		if d.chance(0.5) {
			o.Split = 6 * o.Period
		}
	}
	return o
}
