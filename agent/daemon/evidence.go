package daemon

import (
	"context"
	"crypto/ed25519"

	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/attest"
)

// evidenceCollector returns what collects a bundle for a keeper's challenge. The challenge server calls it once at a
// time.
func (a *Agent) evidenceCollector(
	t *evidence.MachineTPM,
) (func(context.Context, attest.Challenge, []byte) ([]byte, error), error) {
	c, err := evidence.New(evidence.Options{
		Sources: evidence.Standard(a.machine.Inventory, a.machine, t), Key: ed25519.PrivateKey(a.key), Guest: a.guest, Now: a.clock.Now,
	})
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
