package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Machines and keepers read the chain through endpoints of their own, and none of them reads it at the same moment as
// another. So a machine may say that a lease is live of which its keeper knows the end already, or does not know the
// beginning yet. Both pass, and both are on chain: in the node's account, which says since when how many GPUs were free.
// A machine is believed only where that shows a lease, and never for the rest of the period: after a lease's end it is
// asked again.

const (
	// leaseLag is how far a machine and a keeper are taken to be apart at most. An endpoint that is 150 slots behind hands
	// out blockhashes that have expired, so that nothing can be sent through it; that is a minute. Within it lie three
	// seconds until a lost connection is made again, and five that a job is given to stop when its lease is over.
	leaseLag = time.Minute
	// lagShare is the part of a short period, 1/n, that is allowed in place of leaseLag: local networks, where periods are
	// of seconds, lag by less, and what is asked then must be answered within the period.
	lagShare = 4
	// chainSkew is how much later than this keeper's clock the chain's may be; a keeper's operator is warned beyond it.
	chainSkew = 3 * time.Second
)

// errLeased: the node says that its GPUs are a customer's, and this keeper knows of no lease.
var errLeased = errors.New("the node says that a lease is live")

// unanswered is the error of an answer without what was asked for.
func unanswered(r messages.ChallengeResponse) error {
	if r.Refused == messages.LeaseLive {
		return fmt.Errorf("%w: %w", errEvaded, errLeased)
	}
	return fmt.Errorf("%w: %q", errEvaded, r.Refused)
}

// excuse is what a node has said of leases while it was asked one question.
type excuse struct {
	freed int64     // the lease's end for which it was believed; 0 for none
	since time.Time // when it first said so and was not believed
	// patient: the question takes no place of the checks in flight, so that it may wait however many there are.
	patient bool
}

// lag is leaseLag, where periods are long.
func (c *Checker) lag() time.Duration { return min(leaseLag, c.length()/lagShare) }

// believes reports whether the node need not have seen yet that its last lease is over, and when to ask it again: once
// for each lease. There may be no time left for that: then wait is not above zero.
func (c *Checker) believes(t subject, q insistence, x *excuse, err error, began time.Time) (wait time.Duration, ok bool) {
	if !errors.Is(err, errLeased) {
		return 0, false
	}
	freed, now := c.freedAt(t.node.Address), c.o.Now()
	end := time.Unix(freed+1, 0).Add(c.lag()) // the chain's times are cut to seconds
	if freed == 0 || freed == x.freed || !now.Before(end) {
		if x.since.IsZero() {
			x.since = now
		}
		return 0, false
	}
	x.freed, x.since = freed, time.Time{}
	return min(end.Sub(now), c.lag()+time.Second, c.left(q, began)-q.wait-c.o.Timing.Timeout), true
}

// wasLeased reports whether a lease had begun when the node first said so. This keeper may learn of it later; until it
// must have, nothing is said. What began after the node's answer does not count.
func (c *Checker) wasLeased(ctx context.Context, t subject, q insistence, x excuse, began time.Time) bool {
	if x.since.IsZero() {
		return false
	}
	until := c.o.Now().Add(min(c.lag(), c.left(q, began)-c.o.Timing.Timeout))
	for {
		var n *market.Node
		c.o.View.Read(func(v *view.Accounts) { n = v.Nodes[t.node.Address] })
		if n != nil && n.LeasedWithin(x.since.Unix(), x.since.Add(chainSkew).Unix()) {
			return true
		}
		if c.crowded() && !x.patient || !c.o.Now().Add(insistPause).Before(until) || c.o.Tasks.Sleep(ctx, insistPause) != nil {
			return false
		}
	}
}
