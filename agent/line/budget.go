package line

import (
	"maps"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/line"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Counts are figures since the agent started.
type Counts struct {
	// Begun counts directions of checks that were begun, Bytes what they moved in blocks.
	Begun, Bytes uint64
	// Refused counts answers to keepers, by why they refuse.
	Refused map[messages.LineRefusal]uint64
}

// Declined is how many answers refuse.
func (c Counts) Declined() (n uint64) {
	for _, of := range c.Refused {
		n += of
	}
	return n
}

// Counts returns the figures so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Refused = maps.Clone(c.Refused)
	return c
}

func (s *Server) count(no messages.LineRefusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if no == 0 {
		s.counts.Begun++
	} else {
		s.counts.Refused[no]++
	}
}

// ended counts the blocks of a direction, and keeps the turn for the keeper's other one.
func (s *Server) ended(from solana.PublicKey, blocks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Bytes += uint64(blocks) * line.Block
	if had := s.served[from]; !had[messages.LineDown] || !had[messages.LineUp] {
		s.keeps, s.keptTo = from, time.Now().Add(turnKept)
	}
}

// begin takes a direction out of what a keeper may have; a refusal when it has had it meanwhile.
func (s *Server) begin(from solana.PublicKey, req messages.LineRequest) messages.LineRefusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := records.Period(req.Period)
	if secs, ok := s.o.PeriodSecs(); !ok || s.isSpent(from, p, secs, req.Direction) {
		return messages.LineSpent
	}
	if from != s.keeps && time.Now().Before(s.keptTo) {
		return messages.LineBusy
	}
	s.keptTo = time.Time{}
	if s.in != p {
		s.in, s.served = p, map[solana.PublicKey][3]bool{}
	}
	had := s.served[from]
	had[req.Direction] = true
	s.served[from] = had
	return 0
}

// spent reports whether a keeper has had a direction of the period, or the node has moved what it moves: it answers as
// many keepers as a committee has, in one period of a window.
func (s *Server) spent(from solana.PublicKey, p records.Period, secs uint32, d messages.LineDirection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isSpent(from, p, secs, d)
}

// isSpent is spent for callers that hold mu.
func (s *Server) isSpent(from solana.PublicKey, p records.Period, secs uint32, d messages.LineDirection) bool {
	if len(s.served) == 0 {
		return false
	}
	if s.in != p {
		return instant.WindowOf(s.in, secs) >= instant.WindowOf(p, secs)
	}
	had, came := s.served[from]
	return had[d] || !came && len(s.served) >= committee.Size
}

// mutes reports whether a keeper is not listened to in a period.
func (s *Server) mutes(key solana.PublicKey, p records.Period) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok := s.muted[key]
	return ok && of == p
}

// mute has the node not listen to a keeper for the rest of a period.
func (s *Server) mute(key solana.PublicKey, p records.Period) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, of := range s.muted {
		if of < p {
			delete(s.muted, k)
		}
	}
	s.muted[key] = p
	s.o.Log.Warn().Stringer("keeper", key).Uint64("period", uint64(p)).Msg("keeper has named a block that is not the period's instant; it checks no line for the rest of the period")
}
