package challenge

import (
	"context"
	"errors"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// maxChallengeOpen is the longest that an evidence challenge may be open: what is signed for it is valid until then.
const maxChallengeOpen = 5 * time.Minute

// maxClockOff is how far a keeper's clock may be from this machine's.
const maxClockOff = 30 * time.Second

// TPM is the machine's TPM: attest/tpm/device.
type TPM interface {
	Request(ctx context.Context) (tpm.Request, error)
	Activate(ctx context.Context, credential tpm.Credential) ([]byte, error)
}

// noTPM is what a machine without one says.
const noTPM = "this machine has no TPM"

// answerTPM shows a keeper or a customer that the attestation key lives in this machine's TPM.
func (s *Server) answerTPM(ctx context.Context, from solana.PublicKey, step *messages.TPMStep) (*messages.TPMAnswer, string) {
	if s.o.TPM == nil {
		return nil, "this node shows no TPM"
	}
	out := &messages.TPMAnswer{}
	err := s.evidenceQueue.do(ctx, from, func(ctx context.Context) error {
		if len(step.IDObject) == 0 {
			keys, err := s.o.TPM.Request(ctx)
			out.AK, out.EK, out.Chain = keys.AK, keys.EK, keys.Chain
			return err
		}
		secret, err := s.o.TPM.Activate(ctx, tpm.Credential{IDObject: step.IDObject, EncryptedSeed: step.EncryptedSeed})
		out.Secret = secret
		return err
	})
	switch {
	case err == nil:
		return out, ""
	case errors.Is(err, attest.ErrAbsent):
		return nil, noTPM
	case errors.Is(err, errQueued):
		return nil, err.Error()
	}
	s.o.Log.Warn().Err(err).Str("from", from.String()).Msg("TPM enrolment failed")
	return nil, "the TPM does not answer"
}

// answerEvidence collects a bundle for a keeper, or says why not: one at a time.
func (s *Server) answerEvidence(ctx context.Context, from solana.PublicKey, req messages.ChallengeRequest) ([]byte, string) {
	if s.o.Evidence == nil {
		return nil, "this node shows no evidence"
	}
	if req.Evidence == nil {
		return nil, "the challenge is missing"
	}
	if req.Evidence.GenesisHash != s.o.Genesis || req.Evidence.Program != [32]byte(market.ProgramID) {
		return nil, "the challenge is for another market"
	}
	left := time.Unix(req.Evidence.Expiry, 0).Sub(s.o.Now())
	if left < -maxClockOff || left > maxChallengeOpen+maxClockOff {
		return nil, "the challenge is open at another time; is a clock wrong?"
	}
	if s.o.Busy() {
		return nil, errBusy.Error()
	}
	var out []byte
	err := s.evidenceQueue.do(ctx, from, func(ctx context.Context) (err error) {
		if s.o.Busy() {
			return errBusy
		}
		out, err = s.o.Evidence(ctx, req.Evidence.Of(s.o.Node, s.o.Signer.PublicKey()), req.Evidence.TPMStatement)
		return err
	})
	switch {
	case err == nil:
		return out, ""
	case errors.Is(err, errBusy), errors.Is(err, errQueued):
		return nil, err.Error()
	}
	if ctx.Err() != nil {
		return nil, "the evidence was not collected in time"
	}
	s.o.Log.Warn().Err(err).Str("keeper", from.String()).Msg("evidence collection failed")
	return nil, "the evidence could not be collected"
}
