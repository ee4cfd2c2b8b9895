package daemon

import (
	"context"
	"crypto/ed25519"

	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/collect"
)

// collector collects a bundle for a challenge, with a keeper's statement about the TPM if there is one, and with more.
type collector func(context.Context, attest.Challenge, []byte, ...attest.Evidence) (*bundle.Bundle, error)

// evidenceCollector returns what collects a bundle for a challenge. The challenge server calls it once at a time.
func (a *Agent) evidenceCollector(
	t *evidence.MachineTPM,
) (func(context.Context, attest.Challenge, []byte, ...attest.Evidence) ([]byte, error), error) {
	key := ed25519.PrivateKey(a.key)
	c, err := collect.New(collect.Options{
		Sources: evidence.Standard(a.machine.Inventory, a.machine, t), Key: key, Guest: a.guest, Now: a.clock.Now,
	})
	if err != nil {
		return nil, err
	}
	collect := a.simulation().replays(key, func(ctx context.Context, challenge attest.Challenge, statement []byte, more ...attest.Evidence) (*bundle.Bundle, error) {
		if t != nil {
			t.Statement = statement
		}
		b, findings, err := c.Collect(ctx, challenge, more...)
		if err != nil {
			return nil, err
		}
		for _, f := range findings {
			if f.State == collect.Failed {
				a.log.Warn().Str("evidence", f.Name).Str("why", f.Detail).Msg("the machine cannot collect evidence that it should have")
			}
		}
		return b, nil
	})
	return func(ctx context.Context, challenge attest.Challenge, statement []byte, more ...attest.Evidence) ([]byte, error) {
		b, err := collect(ctx, challenge, statement, more...)
		if err != nil {
			return nil, err
		}
		return b.Encode()
	}, nil
}
