package check

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/gantry-market/gantry/sdk/records"
)

// A node may not choose by which questions it is judged, and nobody else may choose it for the node. Both look alike in
// one answer that does not come. They differ in what happens beside it: liveness is asked by the same protocol, from the
// same keeper, over the same connection, and a node keeps places in it for keepers that strangers cannot take. Whoever
// hinders the node hinders both; a node that answers the one at once and not the other, three times, over three
// connections, chooses. A try beside which liveness did not pass counts for nothing: it is made again, later in the
// period, and the time around it is not verified. So a node that also leaves out the liveness questions that follow such
// a question is not seen as up.

// errEvaded: the node did not give what was asked for, or not in time.
var errEvaded = errors.New("question not answered")

const (
	// insistTries is how often a question is asked of a node that is up.
	insistTries = 3
	// insistMost is how often it is asked in all.
	insistMost = 6
	// insistProbes is how many liveness questions have to pass after each.
	insistProbes = 2
	// insistPause is between the tries at a node that is up. Where it is not, an interval of the checks is.
	insistPause = 700 * time.Millisecond
)

// insistence is how a question is insisted on.
type insistence struct {
	what   string
	period records.Period
	wait   time.Duration // for one answer
	// owes says whether the node is still judged by its answer; nil where it always is. Of nodes that owe one while they
	// are free connections may be replaced: no job uses them.
	owes func() bool
}

// over reports whether the node is not judged by its answer any more.
func (q insistence) over() bool { return q.owes != nil && !q.owes() }

// insist asks until the question is answered. A finding with Evaded is one of a node that is up and has not answered;
// ok is false when nothing can be said.
func (c *Checker) insist(ctx context.Context, t subject, q insistence, ask func(context.Context) (Finding, error)) (f Finding, ok bool) {
	log := c.o.Log.With().Stringer("node", t.node.Address).Str("check", q.what).Logger()
	began, evaded := c.o.Now(), 0
	var x excuse
	for try := 1; ; try++ {
		f, err := ask(ctx)
		switch {
		case ctx.Err() != nil:
			return f, false
		case err == nil:
			return f, true
		}
		log.Debug().Err(err).Int("try", try).Msg("question is not answered")
		if !errors.Is(err, errEvaded) || q.over() {
			return f, false
		}
		if wait, ok := c.believes(t, q, &x, err, began); ok {
			if wait <= 0 || c.o.Tasks.Sleep(ctx, wait) != nil || q.over() {
				return f, false
			}
			continue
		}
		pause := c.o.Timing.Every
		if c.alive(ctx, t) {
			evaded++
			pause = insistPause
		}
		last := try >= insistMost || !c.timeForAnother(q, began, pause) || pause != insistPause && c.crowded()
		if evaded == insistTries || last && evaded > 0 && (x.freed != 0 || !c.threeFit(q)) {
			if q.over() || c.wasLeased(ctx, t, q, x, began) || ctx.Err() != nil {
				return f, false // a lease has begun: the machine works for that
			}
			log.Warn().Err(err).Int("tries", try).Msg("node is up and evades the question")
			return Finding{Evaded: true, At: c.o.Now(), Latency: f.Latency}, true
		}
		if last || c.o.Tasks.Sleep(ctx, pause) != nil || q.over() {
			return f, false
		}
		if q.owes != nil {
			c.renew(ctx, t)
		}
	}
}

// crowded reports whether so many checks are in flight that none should wait for a node that does not answer.
func (c *Checker) crowded() bool { return len(c.slots) > cap(c.slots)/4 }

// renew replaces the connection with the node.
func (c *Checker) renew(ctx context.Context, t subject) {
	r, ok := c.o.Asker.(Renewer)
	if !ok {
		return
	}
	ctx, cancel := c.o.Tasks.Timeout(ctx, c.o.Timing.Timeout)
	defer cancel()
	if err := r.Renew(ctx, t.node.NodeKey); err != nil {
		c.o.Log.Debug().Err(err).Stringer("node", t.node.Address).Msg("node is not reached over a new connection")
	}
}

// perTry is the longest that one try takes.
func (c *Checker) perTry(q insistence) time.Duration {
	return q.wait + insistPause + 2*c.o.Timing.Timeout
}

// threeFit reports whether a period is long enough for all tries. On local networks, with periods of seconds, it may
// not be, and fewer have to do.
func (c *Checker) threeFit(q insistence) bool { return insistTries*c.perTry(q) <= c.length()*3/4 }

// length is that of a period.
func (c *Checker) length() time.Duration { return time.Duration(c.o.Secs) * time.Second }

// timeForAnother reports whether one more try ends within the period.
func (c *Checker) timeForAnother(q insistence, began time.Time, pause time.Duration) bool {
	return c.left(q, began) > pause+c.perTry(q)
}

// left is how much of the period is left. began is when the question was first asked: one that was asked after the
// period's end is not bound by it.
func (c *Checker) left(q insistence, began time.Time) time.Duration {
	end := time.Unix(int64(q.period+1)*int64(c.o.Secs), 0)
	if began.After(end) {
		return math.MaxInt64
	}
	return end.Sub(c.o.Now())
}
