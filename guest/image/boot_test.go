package image_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/testkit/long"
)

// customer is who asks a guest, with the key of the node that signs what the guest has collected.
type customer struct {
	t        *testing.T
	node     ed25519.PrivateKey
	policy   policy.Policy
	roots    roots
	enrolled *tpm.Enrolment
	subject  seal.Subject
}

// roots are certificates by their key in policies.
type roots map[string][]byte

func (r roots) Get(key string) ([]byte, error) {
	if data, ok := r[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

func (l *lab) customer() *customer {
	issuer, err := l.maker.Issuer()
	require.NoError(l.t, err)
	sum := sha256.Sum256(issuer.Raw)
	name := hex.EncodeToString(sum[:])
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(l.t, err)
	c := &customer{t: l.t, node: node, policy: policy.Default(), roots: roots{policy.RootKey(name): issuer.Raw}, subject: seal.Subject{Lease: random(), Job: random()}}
	c.policy.Roots.TPM, c.policy.WindowSecs = []string{name}, int64(2*bootFor/time.Second)
	return c
}

func random() (out [32]byte) {
	_, _ = rand.Read(out[:]) // never fails
	return out
}

func (c *customer) challenge() attest.Challenge {
	return attest.Challenge{
		GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: attest.LeaseID(c.subject.Lease, random()), Node: [32]byte{3},
		NodeKey: [32]byte(c.node.Public().(ed25519.PublicKey)), SlotHash: [32]byte{4}, Expiry: time.Now().Add(bootFor).Unix(),
	}
}

// enrol has the guest's TPM open a secret of the customer's.
func (c *customer) enrol(ctx context.Context, r *running) {
	trust, why, err := policy.TPMTrust(c.policy, c.roots)
	require.NoError(c.t, err)
	require.Empty(c.t, why)
	keys, err := r.Keys(ctx)
	require.NoError(c.t, err)
	x := c.challenge()
	subject := tpm.Subject{GenesisHash: x.GenesisHash, Program: x.Program, Node: x.NodeKey}
	enroller := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust, TTL: bootFor})
	question, err := enroller.Challenge(subject, keys, time.Now())
	require.NoError(c.t, err)
	secret, err := r.Activate(ctx, question.Credential)
	require.NoError(c.t, err)
	seen, err := enroller.Finish(subject, question.ID, secret, time.Now())
	require.NoError(c.t, err)
	c.enrolled = &seen
}

// ask returns the guest's evidence, signed by the node.
func (c *customer) ask(ctx context.Context, r *running, x attest.Challenge) *bundle.Bundle {
	b, findings, err := r.Evidence(ctx, x, c.subject)
	require.NoError(c.t, err)
	c.t.Log(findings)
	return c.signed(b)
}

func (c *customer) signed(b *bundle.Bundle) *bundle.Bundle {
	b.Created = time.Now().Unix()
	require.NoError(c.t, b.Sign(c.node))
	return b
}

// judge verifies evidence under the policy with an image's part. The error is that of the first check that failed.
func (c *customer) judge(b *bundle.Bundle, x attest.Challenge, e image.Expected) (policy.Claims, error) {
	claims, _, err := policy.Judge(b, e.Policy.Apply(c.policy), policy.Subject{Challenge: x, Enrolled: func(ak tpm.Name) (tpm.Enrolment, bool) {
		return *c.enrolled, c.enrolled.AK == ak
	}}, time.Now(), c.roots)
	return claims, err
}

// accepted: every check of the TPM that the policy asks for has passed, that of the image's registers among them.
func (c *customer) accepted(claims policy.Claims, err error, e image.Expected) {
	require.NoError(c.t, err)
	require.Equal(c.t, policy.Sound, claims.Verdict)
	pieces := claims.Of(attest.KindTPM)
	require.Len(c.t, pieces, 1)
	for _, name := range e.Policy.Require["tpm"] {
		require.True(c.t, slices.ContainsFunc(pieces[0].Checks, func(check attest.Check) bool {
			return check.Name == name && check.Outcome == attest.Passed
		}), "%s has not passed: %v", name, pieces[0].Checks)
	}
	c.t.Log(pieces[0].Checks)
}

// The values that were computed before the boot are those that a TPM shows after it. What the host could change is refused.
func TestMeasuredBoot(t *testing.T) {
	long.Test(t, "it boots a machine on an emulated processor")
	l := newLab(t)
	data, e := build(t, "")
	r := l.boot(data)
	ctx, cancel := context.WithTimeout(t.Context(), bootFor)
	defer cancel()
	c := l.customer()
	c.enrol(ctx, r)
	x := c.challenge()
	b := c.ask(ctx, r, x)
	claims, err := c.judge(b, x, e)
	c.accepted(claims, err, e)

	t.Run("another nonce", func(t *testing.T) {
		next := c.challenge()
		_, err := c.judge(b, next, e)
		require.ErrorIs(t, err, attest.ErrStale)
		replayed := *b
		replayed.Challenge = next
		_, err = c.judge(c.signed(&replayed), next, e)
		require.ErrorIs(t, err, attest.ErrStale)
	})
	t.Run("another recipient", func(t *testing.T) {
		own, err := seal.New(c.subject)
		require.NoError(t, err)
		swapped := *b
		swapped.Evidence = slices.Clone(b.Evidence)
		for i, piece := range swapped.Evidence {
			if piece.Kind == attest.KindSeal {
				swapped.Evidence[i] = own.Evidence()
			}
		}
		_, err = c.judge(c.signed(&swapped), x, e)
		require.ErrorIs(t, err, attest.ErrStale)
	})
	t.Run("another guest's key", func(t *testing.T) {
		own, err := guest.NewKey()
		require.NoError(t, err)
		swapped := *b
		swapped.Evidence = slices.Clone(b.Evidence)
		for i, piece := range swapped.Evidence {
			if piece.Kind == attest.KindGuest {
				swapped.Evidence[i], err = own.Evidence(b.Evidence, x.Binding())
				require.NoError(t, err)
			}
		}
		_, err = c.judge(c.signed(&swapped), x, e)
		require.ErrorIs(t, err, attest.ErrStale)
		require.ErrorContains(t, err, "other evidence")
	})
	require.NoError(t, r.Off(ctx))
	r.end(t)
}

// Another image and another command line boot, and their TPM says so: the policy of the genuine image refuses them, and one
// with the values that are computed for them accepts them.
func TestOtherImages(t *testing.T) {
	long.Test(t, "it boots three machines on an emulated processor")
	l := newLab(t)
	_, genuine := build(t, "")
	for name, other := range map[string]struct {
		more, commandLine string
		extra             []string
		register          string
	}{
		"one byte more":                {more: "x", register: "PCR 4"},
		"another command line":         {commandLine: image.CommandLine + " debug", register: "PCR 4"},
		"a command line from the host": {extra: []string{"-append", image.CommandLine + " debug"}, register: "PCR 12"},
	} {
		t.Run(name, func(t *testing.T) {
			l := *l
			l.t = t
			data, own := buildWith(t, other.more, other.commandLine)
			r := l.boot(data, other.extra...)
			ctx, cancel := context.WithTimeout(t.Context(), bootFor)
			defer cancel()
			c := l.customer()
			c.enrol(ctx, r)
			x := c.challenge()
			b := c.ask(ctx, r, x)
			_, err := c.judge(b, x, genuine)
			require.ErrorIs(t, err, attest.ErrPolicy)
			require.ErrorContains(t, err, other.register)
			t.Log(err)
			if other.extra == nil {
				claims, err := c.judge(b, x, own)
				c.accepted(claims, err, own)
			}
			require.NoError(t, r.Close(), "the guest switches itself off when the port closes")
			r.end(t)
		})
	}
}
