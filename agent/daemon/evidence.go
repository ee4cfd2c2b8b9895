package daemon

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/work"
	"github.com/gantry-market/gantry/client/market"
)

// evidenceOrder is the order of the product in a bundle of evidence.
const evidenceOrder = 256

// evidenceCollector returns what collects a bundle for a keeper's challenge. The challenge server calls it once at a
// time.
func (a *Agent) evidenceCollector(
	node market.Node, t *evidence.MachineTPM, own *guest.Key,
) (func(context.Context, attest.Challenge, []byte) ([]byte, error), error) {
	sources := evidence.Standard(a.machine.Inventory, a.machine, t)
	sources.Work = func(ctx context.Context, nonce [32]byte) (attest.Evidence, error) {
		length, known := a.period()
		if !known {
			return attest.Evidence{}, fmt.Errorf("the market's periods are not known yet: %w", attest.ErrAbsent)
		}
		var out attest.Evidence
		err := a.challenges.InTurn(ctx, func(ctx context.Context) (err error) {
			out, err = evidence.Work(ctx, nonce, evidence.WorkOptions{
				Prover: work.CPU{}, Key: ed25519.PrivateKey(a.key), Domain: a.domain, Node: node.Address, Order: evidenceOrder,
				Period: uint64(time.Now().Unix()) / uint64(length/time.Second),
			})
			return err
		})
		return out, err
	}
	c, err := evidence.New(evidence.Options{Sources: sources, Key: ed25519.PrivateKey(a.key), Guest: own})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, challenge attest.Challenge, statement []byte) ([]byte, error) {
		if t != nil {
			t.Statement = statement
		}
		b, findings, err := c.Collect(ctx, challenge)
		if err != nil {
			return nil, err
		}
		for _, f := range findings {
			if f.State == evidence.Failed {
				a.log.Warn().Str("evidence", f.Name).Str("why", f.Detail).Msg("the machine cannot collect evidence that it should have")
			}
		}
		return b.Encode()
	}, nil
}
