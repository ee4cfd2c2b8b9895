package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ErrRefused means that a transaction landed and failed, or was refused by the node's simulation.
var ErrRefused = errors.New("transaction refused")

const (
	sendTimeout = 30 * time.Second
	sendAgain   = time.Second
	pollEvery   = 15 * time.Millisecond

	clockPollEvery = 200 * time.Millisecond
)

// Sender sends the transactions of a local network's setup and waits for them. It keeps nothing: what needs to survive
// a crash goes through the transaction manager.
type Sender struct{ Chain *chain.Client }

// Send signs the instructions with the payer and the other signers, sends them as one transaction, and returns when it
// is confirmed. It fails with ErrRefused when the program says no.
func (s Sender) Send(ctx context.Context, payer solana.PrivateKey, others []solana.PrivateKey, instructions ...solana.Instruction) (solana.Signature, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	hash, err := s.Chain.LatestBlockhash(ctx, chain.Confirmed)
	if err != nil {
		return solana.Signature{}, fmt.Errorf("blockhash: %w", err)
	}
	tx, err := solana.NewTransaction(instructions, hash.Hash, solana.TransactionPayer(payer.PublicKey()))
	if err != nil {
		return solana.Signature{}, fmt.Errorf("build transaction: %w", err)
	}
	signers := append([]solana.PrivateKey{payer}, others...)
	_, err = tx.Sign(func(key solana.PublicKey) *solana.PrivateKey {
		for i := range signers {
			if signers[i].PublicKey() == key {
				return &signers[i]
			}
		}
		return nil
	})
	if err != nil {
		return solana.Signature{}, fmt.Errorf("sign transaction: %w", err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return solana.Signature{}, fmt.Errorf("encode transaction: %w", err)
	}
	sig := tx.Signatures[0]
	if err := s.Chain.Send(ctx, raw, chain.SendOptions{PreflightCommitment: chain.Confirmed}); err != nil {
		return sig, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return sig, s.confirm(ctx, sig, raw)
}

// Airdrop gives lamports to a wallet and waits for them.
func (s Sender) Airdrop(ctx context.Context, to solana.PublicKey, amount chain.Lamports) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	sig, err := s.Chain.Airdrop(ctx, to, amount)
	if err != nil {
		return fmt.Errorf("airdrop: %w", err)
	}
	return s.confirm(ctx, sig, nil)
}

// pass waits until the chain's clock has moved on by d.
func (s Sender) pass(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d+sendTimeout)
	defer cancel()
	var end time.Time
	poll := time.NewTicker(clockPollEvery)
	defer poll.Stop()
	for {
		now, err := s.Chain.ClusterTime(ctx, chain.Confirmed)
		if err != nil {
			return fmt.Errorf("the chain's clock: %w", err)
		}
		if end.IsZero() {
			end = now.Add(d)
		}
		if !now.Before(end) {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("the chain's clock stands at %s: %w", now, ctx.Err())
		}
	}
}

// confirm waits for a signature and sends the transaction again now and then, if it is given.
func (s Sender) confirm(ctx context.Context, sig solana.Signature, raw []byte) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	sent := time.Now()
	for {
		statuses, err := s.Chain.Statuses(ctx, []solana.Signature{sig}, false)
		switch {
		case err != nil:
			return fmt.Errorf("transaction %s: %w", sig, err)
		case statuses[0].Found && statuses[0].Err != nil:
			return fmt.Errorf("transaction %s: %w: %s", sig, ErrRefused, statuses[0].Err)
		case statuses[0].Found && statuses[0].Commitment.Reaches(chain.Confirmed):
			return nil
		}
		if raw != nil && time.Since(sent) >= sendAgain {
			sent = time.Now()
			// A repeat is refused when the first has landed meanwhile; the status above tells.
			_ = s.Chain.Send(ctx, raw, chain.SendOptions{SkipPreflight: true})
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("transaction %s is not confirmed: %w", sig, ctx.Err())
		}
	}
}
