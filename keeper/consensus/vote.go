package consensus

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/messages"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/client/txm"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/store"
)

// choose writes down that we vote for a proposal from now on, then does.
func (e *Engine) choose(ctx context.Context, r round, s *state, m messages.Proposal) error {
	raw, err := p2p.Encode(m)
	if err != nil {
		return err
	}
	// The leaves first: whoever has voted can hand them out.
	if set := s.sets[records.Hash(m.Root)]; set != nil {
		if err := e.o.Store.PutLeaves(r.period, m.Root, set.EncodeLeaves()); err != nil {
			return err
		}
	}
	err = e.o.Store.Vote(r.period, m.Root, raw)
	if errors.Is(err, store.ErrEarly) {
		// A new book: what was voted before is not known.
		s.settled = r.report != nil && r.report.State() == market.ReportFinal
		return nil
	}
	if err != nil {
		return err
	}
	s.moveAt = e.o.Now().Add(e.o.Timing.Round)
	e.vote(ctx, r, s, m.Root)
	return nil
}

// vote sends the vote that the book holds.
func (e *Engine) vote(ctx context.Context, r round, s *state, root records.Hash) {
	if s.voting || e.o.Now().Before(s.voteAt) {
		return
	}
	self := e.o.Signer.PublicKey()
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: self, Period: uint64(r.period), Root: root})
	if err != nil {
		e.o.Log.Error().Err(err).Msg("vote cannot be built")
		return
	}
	s.voting = true
	p := r.period
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		_, err := e.o.Submit(ctx, txm.Intent{
			ID: fmt.Sprintf("vote/%d/%x", p, root[:8]), Kind: "report_vote", Instructions: []solana.Instruction{instruction}, Repeatable: true,
			ReadBack: func(context.Context) (bool, error) {
				now, _, _ := e.view(p)
				return now.onChain && now.voted == root, nil
			},
		})
		if ctx.Err() != nil {
			return nil
		}
		e.o.Observe.Voted(uint64(p), err)
		switch {
		case market.Is(err, bindings.ErrorCodePeriodNotEnded):
			// The chain's clock moves in steps of slots and may be behind ours.
			e.o.Log.Info().Uint64("period", uint64(p)).Msg("the chain's clock has not reached the period's end yet; the vote is sent again")
		case market.Is(err, bindings.ErrorCodeVoteNotHeavier), market.Is(err, bindings.ErrorCodeAlreadyVoted):
			// What has votes has changed since we looked.
			e.o.Log.Info().Uint64("period", uint64(p)).Err(err).Msg("the vote did not move")
		case err != nil:
			e.o.Log.Warn().Err(err).Uint64("period", uint64(p)).Msg("vote")
		default:
			e.o.Log.Debug().Uint64("period", uint64(p)).Hex("root", root[:4]).Msg("voted")
		}
		return func(context.Context) {
			s.voting = false
			s.voteAt = e.o.Now().Add(retry)
		}
	})
}
