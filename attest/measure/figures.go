package measure

import (
	"slices"
	"time"
)

// parts is the number of parts of a chain's time whose rates are compared.
const parts = 8

// Figures are what a member measured of one GPU.
type Figures struct {
	// Operations is int8 operations a second, two for each multiplication.
	Operations float64
	// Memory is the bytes that were resident.
	Memory uint64
	// Bandwidth is bytes a second under dependent access.
	Bandwidth float64
}

// Timing is what a member saw of a run, by its own clock.
type Timing struct {
	// Start is when it saw the block of the instant.
	Start time.Time
	// Roots is when the root of each round came, zero where it did not.
	Roots []time.Time
	// Commitment is when the commitment came.
	Commitment time.Time
}

// Measured returns the figures of a run of which all was found right. A root that came late, or not at all, makes them less.
// A chain and walks that were shorter than the profile asks for count as if they had taken that long: a machine that computes
// for a moment has a GPU for a moment, and shows the rest of the time that it has it for others.
func Measured(p Profile, e Entry, t Timing) Figures {
	f := Figures{Memory: p.Memory()}
	came := t.came(int(e.Rounds))
	chain, walk := came[len(came)-1], t.Commitment.Sub(t.Start)-came[len(came)-1]
	if chain > 0 {
		f.Operations = operations(p, rounds(came)) / max(chain, p.chain()).Seconds()
	}
	if walk > 0 {
		f.Bandwidth = walked(p, e) / max(walk, p.walk()).Seconds()
	}
	return f
}

// MaxOverrun is the overrun up to which a run's memory was there beside that of all others which are measured at the same
// instant. It is for the way of the first request and for that of the commitment. Two nodes that fill one card's memory one
// after the other need more (docs/reports/liars.md).
const MaxOverrun = 750 * time.Millisecond

// Overrun is how much longer than the profile's times and one round a run has taken until its commitment came.
func (t Timing) Overrun(p Profile, e Entry) time.Duration {
	came := t.came(int(e.Rounds))
	round := came[len(came)-1] / time.Duration(len(came))
	return t.Commitment.Sub(t.Start) - p.Time() - round
}

// Stated returns the figures of a run by the times that the machine itself has signed; none of them is shorter than the
// profile's. They are for simulated GPUs alone: what a processor does in place of one, whatever else the computer has to do.
// Such a machine could state less time than it took, and has nothing to gain: a simulated GPU proves nothing.
func Stated(p Profile, e Entry) Figures {
	chain, walk := max(e.ChainMs, p.ChainMs, 1), max(e.WalkMs, p.WalkMs, 1)
	return Figures{
		Memory: p.Memory(), Operations: operations(p, float64(e.Rounds)) * 1000 / float64(chain), Bandwidth: walked(p, e) * 1000 / float64(walk),
	}
}

// operations are those of so many rounds.
func operations(p Profile, rounds float64) float64 {
	return 2 * float64(p.Rows) * float64(p.Order) * float64(p.Order) * rounds
}

// walked is the bytes that a run's walks have read.
func walked(p Profile, e Entry) float64 {
	return float64(p.Lanes) * float64(e.Walks) * WalkSteps * ItemBytes
}

// came is how long after the start a member had each root or a later one: a later root shows that the round was made, but
// not when.
func (t Timing) came(n int) []time.Duration {
	came := make([]time.Duration, n)
	next := t.Commitment.Sub(t.Start)
	for r := n - 1; r >= 0; r-- {
		if r < len(t.Roots) && !t.Roots[r].IsZero() {
			next = min(next, t.Roots[r].Sub(t.Start))
		}
		came[r] = next
	}
	return came
}

// rounds is the number of rounds that count: all, or as many as the median of eight parts of the time had, if that is
// less. A chain that several cards made from made-up roots jumps, and must jump in most parts to count.
func rounds(came []time.Duration) float64 {
	total := came[len(came)-1]
	made := make([]float64, parts)
	for i := range made {
		made[i] = progress(came, total*time.Duration(i+1)/parts) - progress(came, total*time.Duration(i)/parts)
	}
	slices.Sort(made)
	return min(float64(len(came)), parts*(made[parts/2-1]+made[parts/2])/2)
}

// progress is the number of rounds that were made at a time, the running one by the share of its time.
func progress(came []time.Duration, at time.Duration) float64 {
	r, found := slices.BinarySearch(came, at)
	for ; found && r < len(came) && came[r] == at; r++ {
	}
	if r == len(came) {
		return float64(r)
	}
	var before time.Duration
	if r > 0 {
		before = came[r-1]
	}
	return float64(r) + float64(at-before)/float64(came[r]-before)
}
