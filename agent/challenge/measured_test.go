package challenge

import (
	"context"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/sdk/messages"
)

// fakeGuest answers with its own words, and keeps what it was asked.
type fakeGuest struct {
	challenge attest.Challenge
	subject   seal.Subject
	err       error
}

func (g *fakeGuest) Keys(context.Context) (tpm.Request, error) {
	return tpm.Request{AK: []byte("guest's ak")}, g.err
}

func (g *fakeGuest) Activate(_ context.Context, c tpm.Credential) ([]byte, error) {
	return append([]byte("opened "), c.IDObject...), g.err
}

func (g *fakeGuest) Evidence(_ context.Context, c attest.Challenge, of seal.Subject) (*bundle.Bundle, []string, error) {
	g.challenge, g.subject = c, of
	key, err := seal.New(of)
	if err != nil {
		return nil, nil, err
	}
	return &bundle.Bundle{Challenge: c, Evidence: []attest.Evidence{key.Evidence()}}, nil, g.err
}

// A customer who asks for the guest of its lease is answered by that, and never by the machine. The node adds the time and its signature.
func TestTheGuestAnswersItsCustomer(t *testing.T) {
	f, now, asked := proving(t)
	f.o.TPM = chip{}
	ask := func(from solana.PublicKey, step *messages.TPMStep) (messages.AttestAnswer, error) {
		q := question(now)
		q.Guest, q.TPM = true, step
		return f.Attest(t.Context(), from, q)
	}
	none, err := ask(customerKey, nil)
	require.NoError(t, err)
	require.Contains(t, none.Refused, "starts no measured guest")
	require.Empty(t, none.Evidence)

	var guest fakeGuest
	boots := true
	f.o.Measured = func(_ context.Context, lease solana.PublicKey) (Measured, error) {
		require.Equal(t, leased, lease)
		if boots {
			return nil, ErrBoots
		}
		return &guest, nil
	}
	again, err := ask(customerKey, &messages.TPMStep{})
	require.NoError(t, err)
	require.True(t, again.Again)
	boots = false
	keys, err := ask(customerKey, &messages.TPMStep{})
	require.NoError(t, err)
	require.Equal(t, "guest's ak", string(keys.TPM.AK))
	opened, err := ask(customerKey, &messages.TPMStep{IDObject: []byte("x")})
	require.NoError(t, err)
	require.Equal(t, "opened x", string(opened.TPM.Secret))
	answer, err := ask(customerKey, nil)
	require.NoError(t, err)
	b, err := bundle.Parse(answer.Evidence)
	require.NoError(t, err)
	require.NoError(t, b.VerifySignature())
	require.Equal(t, now.Unix(), b.Created)
	require.Equal(t, guest.challenge, b.Challenge)
	require.Equal(t, seal.Subject{Lease: leased, Job: ordered}, guest.subject)
	require.Equal(t, [ed25519.PublicKeySize]byte(f.key.PublicKey()), b.Challenge.NodeKey)
	require.Zero(t, *asked, "the machine was not asked")

	_, err = ask(solana.PublicKey{78}, nil)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	guest.err = errors.New("this guest has a job")
	late, err := ask(customerKey, nil)
	require.NoError(t, err)
	require.Contains(t, late.Refused, "has a job")
	require.Empty(t, late.Evidence)
}
