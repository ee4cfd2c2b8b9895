package measure

import (
	"context"
	"slices"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// maxOpenings is how often a member is answered for one GPU of a run, always with the same draw: an answer may be lost.
const maxOpenings = 3

// opening answers a draw from the period's run, which it returns, or says why not. Error: ctx's, or the GPU's.
func (s *Server) opening(ctx context.Context, from solana.PublicKey, req messages.MeasureOpenRequest) (*run, []byte, messages.MeasureRefusal, error) {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil || r.at.Period != records.Period(req.Period) {
		return nil, nil, messages.MeasureOver, nil
	}
	answer, no, err := r.opens(ctx, from, req.GPU, req.Challenge)
	return r, answer, no, err
}

// signedBytes are the commitment that the node has signed; nil where there is none.
func (r *run) signedBytes() []byte {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.signed == nil {
		return nil
	}
	return r.signed.Commitment
}

// opens answers a draw, or says why not. Error: ctx's, or the GPU's.
func (r *run) opens(ctx context.Context, from solana.PublicKey, gpu uint8, challenge [32]byte) ([]byte, messages.MeasureRefusal, error) {
	i := slices.IndexFunc(r.gpus, func(g GPU) bool { return g.Index == gpu })
	if i < 0 {
		return nil, messages.MeasureTooMany, nil
	}
	if no := r.draws(from, gpu, challenge); no != 0 {
		return nil, no, nil
	}
	return r.answer(ctx, i, challenge)
}

// draws counts a member's draw; 0 when it is to be answered.
func (r *run) draws(from solana.PublicKey, gpu uint8, challenge [32]byte) messages.MeasureRefusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[from]
	switch {
	case r.refused != 0:
		return r.refused
	case m == nil || r.signed == nil:
		return messages.MeasureOver
	}
	d := m.drawn[gpu]
	if d.times > 0 && d.challenge != challenge || d.times >= maxOpenings {
		return messages.MeasureTooMany
	}
	m.drawn[gpu] = drawn{challenge, d.times + 1}
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
