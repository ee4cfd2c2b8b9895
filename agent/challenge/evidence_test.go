package challenge

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func TestEvidence(t *testing.T) {
	f := newFixture(t, 2)
	f.o.Genesis = [32]byte{8}
	now := time.Unix(1_800_000_000, 0)
	f.o.Now = func() time.Time { return now }
	var asked attest.Challenge
	var fails, most, running atomic.Int32
	f.o.Evidence = func(_ context.Context, c attest.Challenge, _ []byte, _ ...attest.Evidence) ([]byte, error) {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		asked = c
		if fails.Load() > 0 {
			return nil, errors.New("secret detail")
		}
		return []byte("bundle"), nil
	}
	good := messages.EvidenceChallenge{
		GenesisHash: [32]byte{8}, Program: [32]byte(market.ProgramID), ID: [32]byte{1}, SlotHash: [32]byte{2}, Expiry: now.Unix() + 20,
	}
	ask := func(change func(*messages.EvidenceChallenge)) (messages.ChallengeResponse, error) {
		c := good
		if change != nil {
			change(&c)
		}
		return f.Answer(context.Background(), f.keepers[0].PublicKey(), messages.ChallengeRequest{
			Version: messages.Version, Kind: messages.CheckEvidence, Node: node, Evidence: &c,
		})
	}
	resp, err := ask(nil)
	require.NoError(t, err)
	require.Equal(t, "bundle", string(resp.Evidence))
	require.Empty(t, resp.Refused)
	require.Equal(t, good.Of(node, f.key.PublicKey()), asked)
	require.EqualValues(t, 1, f.Counts().Evidence)

	for name, c := range map[string]struct {
		change func(*messages.EvidenceChallenge)
		want   string
	}{
		"another cluster": {func(c *messages.EvidenceChallenge) { c.GenesisHash[0]++ }, "another market"},
		"another program": {func(c *messages.EvidenceChallenge) { c.Program[0]++ }, "another market"},
		"long over":       {func(c *messages.EvidenceChallenge) { c.Expiry = now.Unix() - 60 }, "another time"},
		"open too long":   {func(c *messages.EvidenceChallenge) { c.Expiry = now.Unix() + 3600 }, "another time"},
		"beyond all time": {func(c *messages.EvidenceChallenge) { c.Expiry = 1<<63 - 1 }, "another time"},
	} {
		resp, err := ask(c.change)
		require.NoError(t, err)
		require.Contains(t, resp.Refused, c.want, name)
		require.Empty(t, resp.Evidence)
	}
	f.busy.Store(true)
	resp, err = ask(nil)
	require.NoError(t, err)
	require.Equal(t, messages.LeaseLive, resp.Refused)
	f.busy.Store(false)
	fails.Store(1)
	resp, err = ask(nil)
	require.NoError(t, err)
	require.Equal(t, "the evidence could not be collected", resp.Refused, "trouble of the node's own stays its own")
	fails.Store(0)

	_, err = f.Answer(context.Background(), [32]byte{99}, messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckEvidence, Node: node, Evidence: &good})
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	resp, err = f.Answer(context.Background(), f.keepers[0].PublicKey(), messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckEvidence, Node: node})
	require.NoError(t, err)
	require.Contains(t, resp.Refused, "missing")
	f.o.Evidence = nil
	resp, err = ask(nil)
	require.NoError(t, err)
	require.Contains(t, resp.Refused, "shows no evidence")
	require.EqualValues(t, 1, most.Load())
}

// chip is a TPM that knows one credential.
type chip struct{ err error }

func (c chip) Request(context.Context) (tpm.Request, error) {
	return tpm.Request{AK: []byte("ak"), EK: []byte("ek")}, c.err
}

func (c chip) Activate(_ context.Context, credential tpm.Credential) ([]byte, error) {
	if string(credential.IDObject) != "for me" {
		return nil, errors.New("integrity")
	}
	return []byte("opened " + string(credential.EncryptedSeed)), c.err
}

func TestEnrolTPM(t *testing.T) {
	f := newFixture(t, 1)
	ask := func(step messages.TPMStep) messages.ChallengeResponse {
		resp, err := f.Answer(context.Background(), f.keepers[0].PublicKey(), messages.ChallengeRequest{
			Version: messages.Version, Kind: messages.CheckEvidence, Node: node, TPM: &step,
		})
		require.NoError(t, err)
		return resp
	}
	require.Contains(t, ask(messages.TPMStep{}).Refused, "shows no TPM")
	f.o.TPM = chip{}
	require.Equal(t, &messages.TPMAnswer{AK: []byte("ak"), EK: []byte("ek")}, ask(messages.TPMStep{}).TPM)
	require.Equal(t, &messages.TPMAnswer{Secret: []byte("opened seed")}, ask(messages.TPMStep{IDObject: []byte("for me"), EncryptedSeed: []byte("seed")}).TPM)
	resp := ask(messages.TPMStep{IDObject: []byte("for another")})
	require.Nil(t, resp.TPM)
	require.Equal(t, "the TPM does not answer", resp.Refused, "why is the node's own business")
	f.o.TPM = chip{err: attest.ErrAbsent}
	require.Contains(t, ask(messages.TPMStep{}).Refused, "has no TPM")
	require.Zero(t, f.Counts().Evidence)
}
