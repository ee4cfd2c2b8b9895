package challenge

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/messages"
)

// maxSize keeps a proof below the largest message: 1024² entries are 4 MiB.
const maxSize = 1024

// keepPeriods is for how many periods the store keeps work claims.
const keepPeriods = 100

// answerWork answers a work challenge, or says why not.
func (s *Server) answerWork(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (*messages.WorkProof, string) {
	if req.Work == nil {
		return nil, "the challenge is missing"
	}
	policy, why := s.checkWork(from, req)
	if why != "" {
		return nil, why
	}
	seed := work.DeriveSeed(req.Work.SlotHash, req.Node, req.Period, req.Work.KeeperSignature)
	var out *messages.WorkProof
	asked := s.o.Now()
	err := s.workQueue.do(ctx, from, func(ctx context.Context) error {
		if s.o.Busy() {
			return errBusy
		}
		// No keeper accepts a proof that takes longer: the machine computes the next one instead.
		left := policy.Bound + policy.Bound/4 - s.o.Now().Sub(asked)
		if left <= 0 {
			return context.DeadlineExceeded
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		var err error
		out, err = s.prove(ctx, seed, int(req.Work.Size), req.Period)
		return err
	})
	switch {
	case err == nil:
		return out, ""
	case errors.Is(err, errBusy), errors.Is(err, errQueued):
		return nil, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		s.o.Log.Warn().Str("keeper", from.String()).Str("prover", s.o.Prover.Name()).Dur("bound", policy.Bound).Msg("the work proof was not finished in time")
		return nil, "the proof was not finished in time"
	}
	s.o.Log.Warn().Err(err).Str("keeper", from.String()).Msg("the work proof failed")
	return nil, "the proof could not be computed"
}

var errBusy = errors.New(messages.LeaseLive)

// checkWork checks that the keeper really opened this challenge, now, for this node, and that it asks for no more than
// the market does.
func (s *Server) checkWork(from solana.PublicKey, req messages.ChallengeRequest) (Policy, string) {
	policy, ok := s.o.Policy()
	if !ok {
		return policy, "the market's policy is not known yet"
	}
	if req.Work.Size != policy.Size || req.Work.Size > maxSize {
		return policy, fmt.Sprintf("the market asks for proofs of order %d", policy.Size)
	}
	length, ok := s.o.Period()
	if !ok {
		return policy, "the market's periods are not known yet"
	}
	current := uint64(s.o.Now().Unix()) / uint64(length/time.Second)
	if req.Period+1 < current || req.Period > current+1 {
		return policy, fmt.Sprintf("period %d is not the current one, %d", req.Period, current)
	}
	message := work.ChallengeMessage(s.o.Domain, req.Work.SlotHash, req.Node, req.Period)
	if !ed25519.Verify(from[:], message, req.Work.KeeperSignature[:]) {
		return policy, "the seed's signature is not the keeper's"
	}
	if s.o.Busy() {
		return policy, errBusy.Error()
	}
	return policy, ""
}

// prove computes a product, stores its root before it leaves the node, and signs the work claim.
func (s *Server) prove(ctx context.Context, seed work.Seed, n int, period uint64) (*messages.WorkProof, error) {
	start := time.Now()
	proof, err := s.o.Prover.Prove(ctx, seed, n)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	err = s.o.Store.PutWorkClaim(store.WorkClaim{Period: period, Seed: store.Key(seed), N: uint32(n), Root: store.Key(proof.Root), Elapsed: elapsed})
	if err != nil {
		return nil, err
	}
	if period > keepPeriods {
		if _, err := s.o.Store.PruneWorkClaims(period - keepPeriods); err != nil {
			return nil, err
		}
	}
	claim := work.Claim{
		Domain: s.o.Domain, Node: s.o.Node, Period: period, Seed: seed, N: uint32(n), Root: proof.Root,
	}.Bytes()
	signature, err := s.o.Signer.Sign(claim[:])
	if err != nil {
		return nil, fmt.Errorf("sign the proof: %w", err)
	}
	var body bytes.Buffer
	body.Grow(work.HeaderSize + int(work.BodySize(n)))
	if _, err := proof.WriteTo(&body); err != nil {
		return nil, err
	}
	s.count.tookWork(elapsed)
	return &messages.WorkProof{
		Size: uint32(n), Root: proof.Root, Product: body.Bytes(),
		ElapsedMS: uint32(min(elapsed.Milliseconds(), 1<<31)), Prover: s.o.Prover.Name(),
		Signature: signature,
	}, nil
}
