package inference

import "time"

// facts are what the number of replicas is decided by.
type facts struct {
	now                   time.Time
	min, max, concurrency int
	idle                  time.Duration
	active, waiting       int // requests that are answered, and that wait
	serving               int // replicas that take requests and have time left
	coming                int // replicas that are bought, or start, or do not answer at present
	expiring              int // replicas whose money ends soon
	notBefore             time.Time
	deleting              bool
}

// scale is what the scaler remembers: how many replicas it wants, and since when fewer would do.
type scale struct {
	target int
	low    int // the most that was needed since then
	since  time.Time
}

// decision is what is done.
type decision struct {
	start int // replicas to begin
	drain int // replicas to end that are not needed
	// replaced: those that expire are not needed any more.
	replaced bool
}

// spare is how many places are kept free while there are requests, of a replica that has so many: the next replica begins
// before requests wait for it, where it answers several at once.
func spare(concurrency int) int { return concurrency / 4 }

// decide says how many replicas begin and end. As many are wanted as requests fill, and a few free places, at once; fewer
// when as few would have done for the idle time.
func decide(s scale, f facts) (scale, decision) {
	if f.deleting {
		return scale{}, decision{drain: f.serving + f.coming, replaced: true}
	}
	places := f.active + f.waiting
	if places > 0 {
		places += spare(f.concurrency)
	}
	needed := (places + f.concurrency - 1) / f.concurrency
	needed = min(max(needed, f.min), f.max)
	switch {
	case s.since.IsZero() || needed >= s.target:
		s.target, s.low, s.since = max(needed, f.min), f.min, f.now
	case f.now.Sub(s.since) >= f.idle:
		s.target = min(max(s.low, needed, f.min), f.max)
		s.low, s.since = needed, f.now
	default:
		s.low = max(s.low, needed)
	}
	have := f.serving + f.coming
	d := decision{drain: max(0, have-s.target), replaced: f.serving >= s.target}
	if !f.now.Before(f.notBefore) {
		d.start = max(0, s.target-have)
	}
	return s, d
}
