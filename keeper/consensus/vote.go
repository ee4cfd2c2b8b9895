package consensus

import (
	"context"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
	"github.com/gantry-market/gantry/sdk/txm"
)

// cast writes down that we vote for a proposal from now on, then sends the vote.
func (e *Engine) cast(ctx context.Context, c chainFacts, s *periodState, m messages.Proposal) error {
	raw, err := p2p.Encode(m)
	if err != nil {
		return err
	}
	// The leaves first: a keeper that has voted can hand them out.
	if set := s.proposals.of(m.Root).set; set != nil {
		if err := e.o.Store.PutLeaves(c.period, m.Root, set.EncodeLeaves()); err != nil {
			return err
		}
	}
	err = e.o.Store.Vote(c.period, m.Root, raw)
	if errors.Is(err, store.ErrEarly) {
		// A new store: what was voted before is not known.
		if c.isFinal() {
			s.progress = finished
		}
		return nil
	}
	if err != nil {
		return err
	}
	now := e.o.Now()
	s.tasks.delay(taskMoveVote, now.Add(e.o.Timing.Round))
	if s.tasks.ready(taskSendVote, now) {
		e.sendVote(ctx, c.period, s, m.Root)
	}
	return nil
}

// sendVote sends the vote that the store holds.
func (e *Engine) sendVote(ctx context.Context, p records.Period, s *periodState, root records.Hash) {
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: e.o.Signer.PublicKey(), Signer: e.o.Key, Period: uint64(p), Root: root})
	if err != nil {
		e.o.Log.Error().Err(err).Uint64("period", uint64(p)).Msg("vote cannot be built")
		return
	}
	s.tasks.start(taskSendVote)
	e.later(ctx, func(ctx context.Context) func(context.Context) {
		_, err := e.o.Submit(ctx, txm.Intent{
			ID: fmt.Sprintf("vote/%d/%x", p, root[:8]), Kind: "report_vote", Instructions: []solana.Instruction{instruction}, Repeatable: true,
			ReadBack: func(context.Context) (bool, error) {
				now, _, _ := e.chain(p)
				return now.counted && now.voted == root, nil
			},
		})
		if ctx.Err() != nil {
			return nil
		}
		e.o.Observe.Voted(uint64(p), err)
		e.logVote(p, root, err)
		return func(context.Context) {
			s.tasks.finish(taskSendVote)
			s.tasks.delay(taskSendVote, e.o.Now().Add(retryDelay))
		}
	})
}

func (e *Engine) logVote(p records.Period, root records.Hash, err error) {
	switch {
	case market.Is(err, bindings.ErrorCodePeriodNotEnded):
		// The chain's clock moves in steps of slots and may be behind ours.
		e.o.Log.Info().Uint64("period", uint64(p)).Msg("the chain's clock has not reached the period's end yet; the vote is sent again")
	case market.Is(err, bindings.ErrorCodeVoteNotHeavier), market.Is(err, bindings.ErrorCodeAlreadyVoted):
		// What has votes has changed since we looked.
		e.o.Log.Info().Uint64("period", uint64(p)).Err(err).Msg("the vote did not move")
	case err != nil:
		e.o.Log.Warn().Err(err).Uint64("period", uint64(p)).Msg("the vote was not confirmed; it is sent again")
	default:
		e.o.Log.Debug().Uint64("period", uint64(p)).Hex("root", root[:4]).Msg("the vote is confirmed")
	}
}

// storedProposal reads a proposal that we voted for.
func (e *Engine) storedProposal(p records.Period, root records.Hash) (m messages.Proposal, err error) {
	raw, err := e.o.Store.Proposal(p, root)
	if err == nil {
		err = p2p.Decode(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("proposal that was voted for: %w", err)
	}
	return m, nil
}
