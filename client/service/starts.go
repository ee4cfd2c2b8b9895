package service

import (
	"context"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// Starts says how fast machines start what they are awarded.
type Starts struct {
	Leases int    `json:"leases" doc:"Started leases of the whole market that are not closed, of which it is computed"`
	Median *int64 `json:"medianSeconds,omitempty" doc:"From the award to the start, by the chain's clock; absent without a lease"`
	At     int64  `json:"at" doc:"When the leases were read, by the cluster's clock, unix seconds"`
}

func (s *Service) readStarts(ctx context.Context) (Starts, error) {
	leases, err := query.Select[market.Lease](ctx, s.client, query.Kind(market.KindLease), s.client.Commitment())
	if err != nil {
		return Starts{}, err
	}
	now, err := s.now(ctx)
	if err != nil {
		return Starts{}, err
	}
	out := startsOf(leases)
	out.At = now
	return out, nil
}

func startsOf(leases []market.Lease) (out Starts) {
	var took []int64
	for i := range leases {
		if l := &leases[i]; l.StartedAt != 0 {
			took = append(took, max(l.StartedAt-l.AwardedAt, 0))
		}
	}
	out.Leases = len(took)
	if m, ok := median(took); ok {
		out.Median = &m
	}
	return out
}
