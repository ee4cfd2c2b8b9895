package measure

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/records"
)

// maxOpenings is how often a member is answered for one GPU of a run, always with the same draw: an answer may be lost.
const maxOpenings = 3

// opening answers a member's draw, or says why not. Error: ctx's, or the GPU's.
func (s *Server) opening(ctx context.Context, from solana.PublicKey, req messages.MeasureOpenRequest) ([]byte, messages.MeasureRefusal, error) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil || r.at.Period != records.Period(req.Period) {
		return nil, messages.MeasureOver, nil
	}
	i := slices.IndexFunc(r.gpus, func(g GPU) bool { return g.Index == req.GPU })
	if i < 0 {
		return nil, messages.MeasureTooMany, nil
	}
	if no := r.draws(from, req); no != 0 {
		return nil, no, nil
	}
	return r.answer(ctx, i, req.Challenge)
}

// draws counts a member's draw; 0 when it is to be answered.
func (r *run) draws(from solana.PublicKey, req messages.MeasureOpenRequest) messages.MeasureRefusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[from]
	switch {
	case r.refused != 0:
		return r.refused
	case m == nil || r.signed == nil:
		return messages.MeasureOver
	}
	d := m.drawn[req.GPU]
	if d.times > 0 && d.challenge != req.Challenge || d.times >= maxOpenings {
		return messages.MeasureTooMany
	}
	m.drawn[req.GPU] = drawn{req.Challenge, d.times + 1}
	return 0
}

// answer opens a GPU's run as soon as nobody else does, as long as the run lasts.
func (r *run) answer(ctx context.Context, i int, challenge [32]byte) ([]byte, messages.MeasureRefusal, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	stop := context.AfterFunc(r.life, cancel)
	r.mu.Unlock()
	defer stop()
	for {
		now := r.status()
		if now.refused != 0 {
			return nil, now.refused, nil
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-now.changed:
		case opened := <-r.open[i]:
			defer func() { r.open[i] <- opened }()
			gpu := r.gpus[i]
			b, err := format.Answer(ctx, opened, gpu.Profile, format.NewDraw(challenge, gpu.Index, r.commitment))
			return b, 0, err
		}
	}
}
