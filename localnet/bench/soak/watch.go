package soak

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const (
	reportsEvery    = time.Second
	invariantsEvery = 20 * time.Second
	samplesEvery    = 5 * time.Second
)

// InvariantChecks are the results of checking the invariants again and again.
type InvariantChecks struct {
	mu         sync.Mutex
	Checks     int
	Restless   int
	Violations []string

	silent int // checks in a row for which the node gave no answer
}

// mostSilent is how many checks in a row a busy node may leave without an answer.
const mostSilent = 10

// Check takes a snapshot of the whole market and checks its invariants.
func (b *InvariantChecks) Check(ctx context.Context, n *network.Network, c *invariants.Checker) error {
	s, err := invariants.Take(ctx, n.Chain, n.Mints())
	b.mu.Lock()
	defer b.mu.Unlock()
	if errors.Is(err, invariants.ErrRestless) {
		b.Restless++
		return nil
	}
	if errors.Is(err, chain.ErrUnreachable) && ctx.Err() == nil && b.silent < mostSilent {
		b.silent++
		return nil
	}
	if err != nil {
		return err
	}
	b.silent = 0
	b.Checks++
	for _, v := range c.Check(s) {
		if text := v.String(); !slices.Contains(b.Violations, text) {
			b.Violations = append(b.Violations, text)
		}
	}
	return nil
}

// Reports are the periods whose report is final.
type Reports struct {
	mu   sync.Mutex
	lags map[uint64]time.Duration
}

// NewReports knows of none yet.
func NewReports() *Reports { return &Reports{lags: map[uint64]time.Duration{}} }

// Look notes the reports that are final now.
func (r *Reports) Look(v *view.View, period time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rep := range v.Reports() {
		if _, known := r.lags[rep.Period]; !known && rep.State() == market.ReportFinal {
			end := int64(rep.Period+1) * int64(period/time.Second)
			r.lags[rep.Period] = time.Duration(rep.FinalisedAt-end) * time.Second
		}
	}
}

// Seen lists the periods between the first and the last final one that have no final report, and how long after its end
// each of the others was final.
func (r *Reports) Seen() (missed []uint64, lags []time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var first, last uint64
	for p, lag := range r.lags {
		if len(lags) == 0 || p < first {
			first = p
		}
		last = max(last, p)
		lags = append(lags, lag)
	}
	for p := first; p <= last && len(lags) > 0; p++ {
		if _, ok := r.lags[p]; !ok {
			missed = append(missed, p)
		}
	}
	return missed, lags
}

// Every calls f at a cadence until ctx ends.
func Every(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		if err := f(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
