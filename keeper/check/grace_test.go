package check

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// passing lets time pass when somebody waits, and at no other time.
type passing struct {
	schedule.System
	now *time.Time
}

func (p passing) Sleep(ctx context.Context, d time.Duration) error {
	*p.now = p.now.Add(d)
	return ctx.Err()
}

// leasing is a checker that asks one node of which the chain knows leases, at a time that passes by waiting only.
type leasing struct {
	*Checker
	got   *collected
	what  subject
	now   time.Time
	drawn instant.Instant
	// says is what the node answers questions other than liveness with; asked is when each came.
	says  func(req messages.ChallengeRequest) messages.ChallengeResponse
	asked []time.Time
}

// newLeasing is a checker whose node was drawn a moment ago, in a period of so many seconds of which a part is over.
func newLeasing(t *testing.T, secs uint32, over float64) *leasing {
	l := &leasing{now: time.Unix(3600*500_000, 0).Add(time.Duration(over * float64(secs) * float64(time.Second)))}
	l.Checker, l.got, l.what = newChecker(t, func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
		if req.Kind == messages.CheckLiveness {
			return alive(req), nil
		}
		l.asked = append(l.asked, l.now)
		return l.says(req), nil
	})
	l.o.Tasks, l.o.Now, l.o.Secs = passing{now: &l.now}, func() time.Time { return l.now }, secs
	l.o.Evidence = &judge{}
	n := *l.what.node
	n.StartAvailability(l.now.Unix() - 5000)
	l.put(&n)
	l.drawn = instant.Instant{Period: records.Period(l.now.Unix() / int64(secs)), At: l.now, Slot: 100, Seed: [32]byte{3}}
	return l
}

func (l *leasing) put(n *market.Node) {
	l.what.node = n
	l.o.View.Put(n.Address, n)
}

// live is the end of a lease that is not over.
const live = math.MinInt64

// leases puts on chain that a lease of all GPUs began, and when it ended, so many seconds ago each.
func (l *leasing) leases(began, ended int64) {
	n := *l.what.node
	n.GpuMask, n.LiveLeases = 1<<n.Spec.Gpus-1, 1
	n.NoteFree(l.now.Unix() - began)
	if ended != live {
		n.GpuMask, n.LiveLeases = 0, 0
		n.NoteFree(l.now.Unix() - ended)
	}
	l.put(&n)
}

func refusing(why string) func(messages.ChallengeRequest) messages.ChallengeResponse {
	return func(req messages.ChallengeRequest) messages.ChallengeResponse {
		return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: why}
	}
}

// until refuses as long as the machine reads the chain's past, and answers then.
func (l *leasing) until(lag time.Duration) {
	sees := l.now.Add(lag)
	l.says = func(req messages.ChallengeRequest) messages.ChallengeResponse {
		if l.now.Before(sees) {
			return refusing(messages.LeaseLive)(req)
		}
		return shows(req)
	}
}

// A machine that reads the chain behind its keepers refuses because of a lease that they know is over. It is asked again
// when it must have seen that.
func TestAnEndSeenLateFailsNoCheck(t *testing.T) {
	for _, c := range []struct {
		secs uint32
		lag  time.Duration
	}{{3600, 3 * time.Second}, {3600, 50 * time.Second}, {10, 2 * time.Second}} {
		l := newLeasing(t, c.secs, 0.2)
		l.leases(600, 1)
		l.until(c.lag)
		l.question(t.Context(), l.what, l.drawn)
		require.Len(t, l.got.all, 1)
		require.True(t, l.got.all[0].Passed, "%d s, %s", c.secs, c.lag)
		require.Len(t, l.asked, 2)
	}
}

// The same with evidence: it keeps its tier.
func TestAnEndSeenLateCostsNoTier(t *testing.T) {
	l := newLeasing(t, 3600, 0.2)
	l.leases(600, 1)
	l.until(20 * time.Second)
	l.o.View.Put(l.what.node.Address, l.what.node)
	l.evidence(t.Context(), l.what, l.drawn.Period)
	require.Len(t, l.got.all, 1)
	require.False(t, l.got.all[0].Evaded)
	require.Len(t, l.asked, 2)
}

// A keeper that reads the chain behind the machine learns of the lease after the machine has refused.
func TestABeginningThatTheKeeperSeesLateFailsNoCheck(t *testing.T) {
	for _, c := range []struct {
		secs       uint32
		lag, lasts time.Duration
	}{{3600, 10 * time.Second, 0}, {3600, 40 * time.Second, 0}, {3600, 20 * time.Second, 5 * time.Second}, {10, time.Second, 0}} {
		l := newLeasing(t, c.secs, 0.2)
		began := l.now
		l.says = refusing(messages.LeaseLive)
		l.o.Tasks = learning{passing{now: &l.now}, func() {
			if since := l.now.Sub(began); since >= c.lag && l.what.node.LiveLeases == 0 && l.what.node.Availability.Since[1] == 0 {
				ended := int64(live)
				if c.lasts > 0 {
					ended = int64((since - c.lasts) / time.Second)
				}
				l.leases(int64(since/time.Second)+1, ended)
			}
		}}
		l.question(t.Context(), l.what, l.drawn)
		require.Empty(t, l.got.all, "%v", c)
	}
}

// learning does something whenever time has passed.
type learning struct {
	passing
	then func()
}

func (p learning) Sleep(ctx context.Context, d time.Duration) error {
	err := p.passing.Sleep(ctx, d)
	p.then()
	return err
}

// A node that lies about a lease gains nothing.
func TestAFalseLeaseIsAFailedCheck(t *testing.T) {
	const never = -1
	all := []uint32{3600, 60, 10, 6, 5}
	for name, c := range map[string]struct {
		why          string
		began, ended int64    // of its last lease, seconds ago
		later        int64    // after so many seconds it has a lease from then on; 0 for none
		over         float64  // how much of the period is over when it is asked
		most         int      // questions
		secs         []uint32 // of a period
	}{
		"it never had one":                        {messages.LeaseLive, never, 0, 0, 0.2, insistTries, all},
		"it is asked when the period ends":        {messages.LeaseLive, never, 0, 0, 0.9, 1, []uint32{5}},
		"it had one long ago":                     {messages.LeaseLive, 600, 62, 0, 0.2, insistTries, all},
		"it goes on refusing":                     {messages.LeaseLive, 600, 0, 0, 0.2, insistTries + 1, all},
		"it is asked late, and goes on refusing":  {messages.LeaseLive, 600, 0, 0, 0.6, insistTries + 1, all},
		"the chain's clock is ahead":              {messages.LeaseLive, 600, -10, 0, 0.2, insistTries + 1, []uint32{3600, 60}},
		"it refuses for another reason":           {"I would rather not", 600, 1, 0, 0.2, insistTries, all},
		"it gets itself one after it has refused": {messages.LeaseLive, never, 0, 10, 0.2, insistTries, all},
	} {
		for _, secs := range c.secs {
			l := newLeasing(t, secs, c.over)
			if c.began != never {
				l.leases(c.began, c.ended)
			}
			l.says = refusing(c.why)
			start := l.now
			l.o.Tasks = learning{passing{now: &l.now}, func() {
				if c.later != 0 && l.what.node.LiveLeases == 0 && l.now.Sub(start) >= time.Duration(c.later)*time.Second {
					l.leases(0, live)
				}
			}}
			l.question(t.Context(), l.what, l.drawn)
			require.Len(t, l.got.all, 1, "%s, %d s", name, secs)
			require.False(t, l.got.all[0].Passed, name)
			require.Equal(t, records.CheckEvidence, l.got.all[0].Kind)
			require.LessOrEqual(t, len(l.asked), c.most, name)
			require.Less(t, l.now.Unix(), int64(l.drawn.Period+1)*int64(secs), "before the period's statements are complete: %s, %d s", name, secs)
		}
	}
}
