package challenge

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/messages"
)

// ErrBoots: the guest does not answer yet.
var ErrBoots = errors.New("the measured guest boots; ask again")

// Measured is a measured guest: control.Client is one.
type Measured interface {
	Keys(ctx context.Context) (tpm.Request, error)
	Activate(ctx context.Context, credential tpm.Credential) ([]byte, error)
	Evidence(ctx context.Context, challenge attest.Challenge, of seal.Subject) (*bundle.Bundle, []string, error)
}

// measured has the guest of a lease answer its customer. The guest has a TPM of its own, so that nobody waits for another's turn. The node
// adds the time and its signature to evidence, and cannot change what the guest's TPM has signed.
func (s *Server) measured(ctx context.Context, req messages.AttestRequest, job [32]byte) (messages.AttestAnswer, error) {
	out := messages.AttestAnswer{Version: messages.Version}
	if s.o.Measured == nil {
		out.Refused = "this node starts no measured guest"
		return out, nil
	}
	g, err := s.o.Measured(ctx, req.Lease)
	var refused *RefusedError
	switch {
	case errors.Is(err, ErrBoots):
		out.Refused, out.Again = err.Error(), true
		return out, nil
	case errors.As(err, &refused):
		out.Refused = printable.Text(refused.Why)
		return out, nil
	case err != nil:
		return out, err
	case !s.customers.may(req.Lease, s.o.Now()):
		out.Refused, out.Again = "this lease has asked often; its guest answers again in a few seconds", true
		return out, nil
	}
	if err = s.askMeasured(ctx, g, req, job, &out); err != nil && ctx.Err() == nil {
		s.o.Log.Warn().Err(err).Msg("a measured guest does not answer its customer")
		out.Refused, err = "the guest does not answer: "+printable.Text(err.Error()), nil
	}
	s.count.add(messages.CheckEvidence, len(out.Evidence) > 0)
	return out, err
}

// askMeasured does one step.
func (s *Server) askMeasured(ctx context.Context, g Measured, req messages.AttestRequest, job [32]byte, out *messages.AttestAnswer) error {
	switch {
	case req.TPM != nil && len(req.TPM.IDObject) == 0:
		keys, err := g.Keys(ctx)
		out.TPM = &messages.TPMAnswer{AK: keys.AK, EK: keys.EK, Chain: keys.Chain}
		return err
	case req.TPM != nil:
		secret, err := g.Activate(ctx, tpm.Credential{IDObject: req.TPM.IDObject, EncryptedSeed: req.TPM.EncryptedSeed})
		out.TPM = &messages.TPMAnswer{Secret: secret}
		return err
	}
	challenge, open := s.question(req)
	if !open {
		out.Refused = otherTime
		return nil
	}
	b, findings, err := g.Evidence(ctx, challenge, seal.Subject{Lease: req.Lease, Job: job})
	if err != nil {
		return err
	}
	s.o.Log.Debug().Strs("findings", findings).Msg("a measured guest has given evidence")
	b.Created = s.o.Now().Unix()
	b.Sort()
	statement, err := b.Statement()
	if err != nil {
		return err
	}
	if b.Signature, err = s.o.Signer.Sign(statement); err != nil {
		return err
	}
	out.Evidence, err = b.Encode()
	return err
}
