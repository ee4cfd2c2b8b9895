//go:build e2e

package scenario

import (
	"context"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// killMoment is a moment that the killer waits for, and whom it kills then.
type killMoment struct {
	name  string
	await func(ctx context.Context, k *killRun, rng *rand.Rand) (victim string, hit bool)
}

const anyMoment = "any"

var killMoments = []killMoment{
	{anyMoment, func(_ context.Context, k *killRun, rng *rand.Rand) (string, bool) { return k.anyone(rng), true }},
	{"between award and start", ofLease("award", 0, byNode, func(l market.Lease) bool { return l.State() == market.LeaseAwarded })},
	{"between start and first receipt", ofLease("start", 3*time.Second, byNode, func(l market.Lease) bool {
		return l.State() == market.LeaseRunning && l.PaidSecs == 0
	})},
	{"when the job ends", whenJobEnds},
	{"while a lease is settled", ofLease("settle", 500*time.Millisecond, byEither, func(l market.Lease) bool {
		return l.State() == market.LeaseEnded && l.PaidSecs < l.BillableSecs(l.EndedAt)
	})},
	{"while a lease is closed", ofLease("close", time.Second, byKeeper, func(l market.Lease) bool {
		return l.State() == market.LeaseEnded && l.PaidSecs == l.BillableSecs(l.EndedAt)
	})},
	{"while a report is signed and voted", whenReporting},
	{"while a store is written", whenStoring},
	{"while a customer's command runs", func(ctx context.Context, k *killRun, rng *rand.Rand) (string, bool) {
		return k.customer(rng), pause(ctx, time.Duration(rng.IntN(2000))*time.Millisecond) == nil
	}},
}

type victimOf func(k *killRun, rng *rand.Rand, l market.Lease) string

func byNode(k *killRun, _ *rand.Rand, l market.Lease) string     { return k.agentOf(l.Node) }
func byKeeper(k *killRun, rng *rand.Rand, _ market.Lease) string { return k.keeper(rng) }

func byEither(k *killRun, rng *rand.Rand, l market.Lease) string {
	return []string{k.agentOf(l.Node), k.keeper(rng)}[rng.IntN(2)]
}

// ofLease waits until a lease is as wanted, each lease once, and then up to most.
func ofLease(name string, most time.Duration, victim victimOf, cond func(market.Lease) bool) func(context.Context, *killRun, *rand.Rand) (string, bool) {
	return func(ctx context.Context, k *killRun, rng *rand.Rand) (string, bool) {
		var found market.Lease
		err := k.view.WaitFor(ctx, func(v *view.View) bool {
			for _, l := range v.Leases() {
				if cond(l) && k.once(name, l.Address) {
					found = l
					return true
				}
			}
			return false
		})
		if err != nil {
			return "", false
		}
		return victim(k, rng, found), upTo(ctx, rng, most)
	}
}

func upTo(ctx context.Context, rng *rand.Rand, most time.Duration) bool {
	if most == 0 {
		return true
	}
	return pause(ctx, time.Duration(rng.Int64N(int64(most)))) == nil
}

// whenJobEnds waits for a job to say that it is over; its agent has the last receipt and the end before it.
func whenJobEnds(ctx context.Context, k *killRun, rng *rand.Rand) (string, bool) {
	for {
		k.mu.Lock()
		all := k.purchases
		k.mu.Unlock()
		for _, p := range all {
			lease, over := p.over()
			if l, live := k.view.Lease(lease); over && live && k.once("over", lease) {
				return k.agentOf(l.Node), upTo(ctx, rng, 300*time.Millisecond)
			}
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return "", false
		}
	}
}

// whenReporting waits for the end of a period: keepers close their sets then, agree and vote.
func whenReporting(ctx context.Context, k *killRun, rng *rand.Rand) (string, bool) {
	period := time.Duration(k.n.Params().PeriodSecs) * time.Second
	now := time.Now()
	ok := pause(ctx, now.Truncate(period).Add(period).Sub(now)) == nil && upTo(ctx, rng, 2*time.Second)
	return k.keeper(rng), ok
}

// whenStoring waits until a database of a process changes: other writes of the same step are still to come.
func whenStoring(ctx context.Context, k *killRun, rng *rand.Rand) (string, bool) {
	victim := []string{k.keeper(rng), k.agent(rng)}[rng.IntN(2)]
	path := k.stores(victim)[rng.IntN(2)]
	written := func() time.Time {
		info, err := os.Stat(path)
		if err != nil {
			return time.Time{} // not made yet
		}
		return info.ModTime()
	}
	for was := written(); written().Equal(was); {
		if pause(ctx, time.Millisecond) != nil {
			return "", false
		}
	}
	return victim, true
}
