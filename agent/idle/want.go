package idle

import (
	"math/bits"
	"time"
)

// look is what the job is to have, and why.
type look struct {
	mask  uint64
	why   Reason
	text  string
	until time.Time
	// pull: GPUs are free, and only time is not.
	pull bool
}

// judge stays away for a day when the machine was measured to be slow after the job had run.
func (j *Job) judge() {
	period, share, ok := j.o.Share()
	first := !j.looked
	j.looked = true
	if !ok || period == j.judged {
		return
	}
	j.judged = period
	j.mu.Lock()
	ran := j.state.Starts > 0
	j.mu.Unlock()
	if first || !ran || share >= SlowShare {
		return
	}
	j.slow = time.Now().Add(SlowPause)
	j.o.Log.Warn().Float64("share", share).Msg("the machine was measured below its class while its owner's idle job ran; the job stays away for a day")
}

// wants says which GPUs the job is to have. The caller holds mu.
func (j *Job) wants(now time.Time) (look, error) {
	leased, err := j.o.Leased()
	if err != nil {
		return look{why: Leased}, err
	}
	secs := j.o.Period()
	if secs == 0 {
		return look{why: Starting}, nil
	}
	if j.held && j.holds == 0 {
		j.held = false
		j.moments.measured()
		j.rest(secs)
	}
	from, until := j.moments.window(now, secs)
	free := j.choose(leased)
	switch why := j.o.Withheld(); {
	case why != "":
		return look{why: Withdrawn, text: why}, nil
	case free == 0:
		return look{why: Leased}, nil
	case time.Now().Before(j.slow):
		return look{why: Slow, until: j.slow}, nil
	case j.holds > 0:
		return look{why: Measured, pull: true}, nil
	case !now.Before(from), j.mask == 0 && from.Sub(now) < min(worth, j.moments.part(leadShare)):
		return look{why: Measured, until: until, pull: true}, nil
	}
	return look{mask: free, until: from, pull: true}, nil
}

// choose picks GPUs that no lease has, the last ones first: leases get the first ones. 0 where there are not enough.
func (j *Job) choose(leased uint64) (mask uint64) {
	for i := len(j.o.UUIDs) - 1; i >= 0; i-- {
		if leased>>i&1 == 0 && (j.o.Count == 0 || bits.OnesCount64(mask) < j.o.Count) {
			mask |= 1 << i
		}
	}
	if bits.OnesCount64(mask) < j.o.Count {
		return 0
	}
	return mask
}

// rest leaves the GPUs alone for a moment.
func (j *Job) rest(secs uint32) {
	pause := min(restTime, time.Duration(secs)*time.Second/restShare)
	if at := time.Now().Add(pause); at.After(j.next) {
		j.next = at
	}
}
