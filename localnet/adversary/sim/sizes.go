package sim

import (
	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// sizes knows how many bytes messages have. Most are alike, so that each kind is encoded once; numbers in them are of a
// few bytes more or less.
type sizes struct {
	statement int
	manifest  int
	liveness  int
	alive     map[int]int // answers by how many leases they list
}

func newSizes() *sizes {
	s := statement.Signed{Statement: records.CheckStatement{Kind: records.CheckLiveness}}
	return &sizes{
		statement: size(s.Message()),
		manifest:  size(statement.Manifest{Count: 1000, Size: 1 << 17}.Message()),
		liveness:  size(messages.ChallengeRequest{Version: 1, Kind: messages.CheckLiveness, Period: 1 << 20}),
		alive:     map[int]int{},
	}
}

func (s *sizes) request(q messages.ChallengeRequest) int {
	if q.Kind == messages.CheckLiveness {
		return s.liveness
	}
	return size(q)
}

func (s *sizes) response(r messages.ChallengeResponse) int {
	if r.Liveness == nil {
		return size(r)
	}
	n := len(r.Liveness.Leases)
	if _, ok := s.alive[n]; !ok {
		s.alive[n] = size(r)
	}
	return s.alive[n]
}
