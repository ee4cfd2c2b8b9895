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

// keepPeriods is how long commitments are remembered.
const keepPeriods = 100

// work answers a work challenge, or says why not.
func (d *Desk) work(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) (*messages.WorkProof, string) {
	if req.Work == nil {
		return nil, "the challenge is missing"
	}
	policy, why := d.permitted(from, req)
	if why != "" {
		return nil, why
	}
	seed := work.DeriveSeed(req.Work.SlotHash, req.Node, req.Period, req.Work.KeeperSignature)
	var out *messages.WorkProof
	asked := d.o.Now()
	err := d.queue.do(ctx, from, func(ctx context.Context) error {
		if d.o.Busy() {
			return errBusy
		}
		// A proof that takes longer is worthless: the machine's time is better spent on the next one.
		left := policy.Bound + policy.Bound/4 - d.o.Now().Sub(asked)
		if left <= 0 {
			return context.DeadlineExceeded
		}
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		var err error
		out, err = d.prove(ctx, seed, int(req.Work.Size), req.Period)
		return err
	})
	switch {
	case err == nil:
		return out, ""
	case errors.Is(err, errBusy), errors.Is(err, errQueued):
		return nil, err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		d.o.Log.Warn().Str("keeper", from.String()).Str("prover", d.o.Prover.Name()).Dur("bound", policy.Bound).Msg("work proof not finished in time")
		return nil, "the proof was not finished in time"
	}
	d.o.Log.Warn().Err(err).Str("keeper", from.String()).Msg("work proof failed")
	return nil, "the proof could not be computed"
}

var errBusy = errors.New("a lease is live: the GPUs are the customer's")

// permitted checks that the keeper really opened this challenge, now, for this node, and that it asks for no more than
// the market does.
func (d *Desk) permitted(from solana.PublicKey, req messages.ChallengeRequest) (Policy, string) {
	policy, ok := d.o.Policy()
	if !ok {
		return policy, "the market's policy is not known yet"
	}
	if req.Work.Size != policy.Size || req.Work.Size > maxSize {
		return policy, fmt.Sprintf("the market asks for proofs of order %d", policy.Size)
	}
	length, ok := d.o.Period()
	if !ok {
		return policy, "the market's periods are not known yet"
	}
	current := uint64(d.o.Now().Unix()) / uint64(length/time.Second)
	if req.Period+1 < current || req.Period > current+1 {
		return policy, fmt.Sprintf("period %d is not the current one, %d", req.Period, current)
	}
	message := work.ChallengeMessage(d.o.Domain, req.Work.SlotHash, req.Node, req.Period)
	if !ed25519.Verify(from[:], message, req.Work.KeeperSignature[:]) {
		return policy, "the seed's signature is not the keeper's"
	}
	if d.o.Busy() {
		return policy, errBusy.Error()
	}
	return policy, ""
}

// prove computes a product, writes its root down before it is released, and signs what it commits to.
func (d *Desk) prove(ctx context.Context, seed work.Seed, n int, period uint64) (*messages.WorkProof, error) {
	start := time.Now()
	proof, err := d.o.Prover.Prove(ctx, seed, n)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	err = d.o.Store.PutWork(store.Work{Period: period, Seed: store.Key(seed), N: uint32(n), Root: store.Key(proof.Root), Elapsed: elapsed})
	if err != nil {
		return nil, err
	}
	if period > keepPeriods {
		if _, err := d.o.Store.PruneWork(period - keepPeriods); err != nil {
			return nil, err
		}
	}
	commitment := work.Commitment{
		Domain: d.o.Domain, Node: d.o.Node, Period: period, Seed: seed, N: uint32(n), Root: proof.Root,
	}.Bytes()
	signature, err := d.o.Signer.Sign(commitment[:])
	if err != nil {
		return nil, fmt.Errorf("sign the proof: %w", err)
	}
	var body bytes.Buffer
	body.Grow(work.HeaderSize + int(work.BodySize(n)))
	if _, err := proof.WriteTo(&body); err != nil {
		return nil, err
	}
	d.count.took(elapsed)
	return &messages.WorkProof{
		Size: uint32(n), Root: proof.Root, Product: body.Bytes(),
		ElapsedMS: uint32(min(elapsed.Milliseconds(), 1<<31)), Prover: d.o.Prover.Name(),
		Signature: signature,
	}, nil
}
