package policy

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/tpmtest"
)

// tpms are made once: RSA keys cost time.
var tpms = sync.OnceValues(func() (out struct {
	at         time.Time
	maker      *tpmtest.Maker
	mine, next *tpmtest.TPM
}, err error,
) {
	out.at = time.Now().UTC().Truncate(time.Second)
	if out.maker, err = tpmtest.NewMaker(out.at); err != nil {
		return out, err
	}
	if out.mine, err = out.maker.NewTPM(tpm.EKRSA2048); err != nil {
		return out, err
	}
	out.next, err = out.maker.NewTPM(tpm.EKRSA2048)
	return out, err
})

// tpmLab is a machine with a TPM, without GPU reports.
type tpmLab struct {
	*lab
	mine, next tpmtest.TPM
	keeper     ed25519.PrivateKey
}

func newTPMLab(t testing.TB) *tpmLab {
	made, err := tpms()
	require.NoError(t, err)
	l := &tpmLab{lab: newLab(t), mine: *made.mine, next: *made.next, keeper: ed25519.NewKeyFromSeed(make([]byte, 32))}
	l.policy.Roots.TPM = l.collateral.root(made.maker.Root)
	return l
}

func (l *tpmLab) subject() tpm.Subject {
	return tpm.Subject{GenesisHash: l.challenge.GenesisHash, Program: l.challenge.Program, Node: l.challenge.NodeKey}
}

func (l *tpmLab) statement(made *tpmtest.TPM, subject tpm.Subject) tpm.Statement {
	enrolment, err := made.Enrolment(subject, l.now)
	require.NoError(l.t, err)
	s, err := enrolment.Sign(l.keeper)
	require.NoError(l.t, err)
	return s
}

// with adds a quote over what the bundle has, and signs it.
func (l *tpmLab) with(made *tpmtest.TPM, b *bundle.Bundle) *bundle.Bundle {
	b.Sort()
	binding := b.Challenge.Binding()
	others, err := bundle.Others(b.Evidence)
	require.NoError(l.t, err)
	binding.Others = others
	e, err := made.Evidence(binding, nil)
	require.NoError(l.t, err)
	b.Evidence = append(b.Evidence, e)
	require.NoError(l.t, b.Sign(l.key))
	return b
}

// plain is an inventory.
func (l *tpmLab) plain() *bundle.Bundle {
	b := &bundle.Bundle{Challenge: l.challenge, Created: l.now.Unix()}
	inv, err := l.inv.Evidence()
	require.NoError(l.t, err)
	b.Evidence = append(b.Evidence, inv)
	return b
}

func (l *tpmLab) judge(b *bundle.Bundle) (Claims, error) {
	s := Subject{Challenge: l.challenge, Keepers: []ed25519.PublicKey{l.keeper.Public().(ed25519.PublicKey)}}
	c, _, err := Judge(b, l.policy, s, l.now, l.collateral)
	return c, err
}

func TestTierTwoByKeepersStatement(t *testing.T) {
	l := newTPMLab(t)
	l.mine.Statements = []tpm.Statement{l.statement(&l.mine, l.subject())}
	c, err := l.judge(l.with(&l.mine, l.plain()))
	require.NoError(t, err)
	require.Equal(t, uint8(2), c.Tier, c.Why)
	require.Len(t, hashesOf(c.Devices, attest.KindTPM), 1)
}

// A certificate is public, and an attestation key can be made in software: only the activation tells them from a TPM.
func TestStolenCertificateHasNoTier(t *testing.T) {
	for name, spoil := range map[string]func(*tpmLab){
		"as it is":                      func(*tpmLab) {},
		"with the victim's statement":   func(l *tpmLab) { l.next.Statements = []tpm.Statement{l.statement(&l.mine, l.subject())} },
		"with another node's statement": func(l *tpmLab) { l.next.Statements = []tpm.Statement{l.statement(&l.next, tpm.Subject{})} },
	} {
		t.Run(name, func(t *testing.T) {
			l := newTPMLab(t)
			spoil(l)
			l.next.EK = l.mine.EK
			c, _ := l.judge(l.with(&l.next, l.plain()))
			require.Less(t, c.Tier, uint8(2), "any key could have signed this quote")
			require.Empty(t, hashesOf(c.Devices, attest.KindTPM), "the victim's TPM was not here")
		})
	}
}

// The TPM signs what the rest of the bundle was: parts of two machines, and of two times, do not go together.
func TestQuoteOverOtherEvidence(t *testing.T) {
	l := newTPMLab(t)
	l.mine.Statements = []tpm.Statement{l.statement(&l.mine, l.subject())}
	here := l.with(&l.mine, l.plain())
	l.inv.GPUs = l.inv.GPUs[:1]
	there := l.with(&l.mine, l.plain())
	drop(there, attest.KindTPM)
	there.Evidence = append(there.Evidence, here.OfKind(attest.KindTPM)...)
	require.NoError(t, there.Sign(l.key))
	c, err := l.judge(there)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, False, c.Verdict)
	require.Zero(t, c.Tier)

	l.challenge.ID[1]++
	fresh := l.plain()
	fresh.Evidence = append(fresh.Evidence, here.OfKind(attest.KindTPM)...)
	require.NoError(t, fresh.Sign(l.key))
	c, err = l.judge(fresh)
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, False, c.Verdict)
}

func TestTwoTPMs(t *testing.T) {
	l := newTPMLab(t)
	b := l.with(&l.mine, l.plain())
	second := l.with(&l.next, l.plain()).OfKind(attest.KindTPM)[0]
	second.Instance = 1
	b.Evidence = append(b.Evidence, second)
	require.NoError(t, b.Sign(l.key))
	c, err := l.judge(b)
	require.Error(t, err)
	require.Zero(t, c.Tier)
}

// A confidential machine that vouches for the key of one TPM does not go with the quote of another.
func TestTEEOfAnotherTPM(t *testing.T) {
	l := newTPMLab(t)
	b := l.plain()
	binding := b.Challenge.Binding()
	ak, err := l.mine.AK()
	require.NoError(t, err)
	binding.Keys = [][32]byte{ak.Name.Digest()}
	l.vouch(b, binding, l.tee(attest.KindSNP))
	own, other := *b, *b
	own.Evidence, other.Evidence = slices.Clone(b.Evidence), slices.Clone(b.Evidence)
	_, err = l.judge(l.with(&l.mine, &own))
	require.NoError(t, err)
	c, err := l.judge(l.with(&l.next, &other))
	require.ErrorIs(t, err, attest.ErrStale)
	require.Equal(t, False, c.Verdict)
}

// Who cannot check a TPM must not blame the node for the TEE's report, which binds the TPM's key.
func TestKeysThatNobodyLookedAt(t *testing.T) {
	for _, kind := range []attest.Kind{attest.KindTPM, attest.KindNVGPU} {
		w := newTestbed(t)
		delete(w.verifiers, kind)
		c, err := w.evaluate(w.bundle(everything...))
		require.NotEqual(t, False, c.Verdict, "%s: %v", kind, err)
	}
	l := newTPMLab(t)
	l.policy.Roots.TPM = nil
	b := l.plain()
	binding := b.Challenge.Binding()
	ak, err := l.mine.AK()
	require.NoError(t, err)
	binding.Keys = [][32]byte{ak.Name.Digest()}
	l.vouch(b, binding, l.tee(attest.KindSNP))
	c, _ := l.judge(l.with(&l.mine, b))
	require.NotEqual(t, False, c.Verdict)
}

// Tiers mean what they are documented to mean: a policy that forgets to ask is none.
func TestPolicyThatForgets(t *testing.T) {
	for kind, names := range floor() {
		for _, name := range names {
			p := Default()
			p.Require[kind] = slices.DeleteFunc(p.Require[kind], func(s string) bool { return s == name })
			_, err := Standard(p, nil, Subject{})
			require.ErrorIs(t, err, ErrDocument, "%s: %s", kind, name)
			require.ErrorContains(t, err, name)
		}
	}
	p := Default()
	p.Require = nil
	_, _, err := Judge(&bundle.Bundle{}, p, Subject{}, time.Now())
	require.ErrorIs(t, err, ErrDocument)
}

// A PCR that no quote covers cannot be asked for.
func TestPCRThatIsNotQuoted(t *testing.T) {
	l := newTPMLab(t)
	l.policy.TPM.PCRs = []PCR{{Index: 10, Values: []string{strings.Repeat("00", 32)}}}
	_, err := Standard(l.policy, l.collateral, Subject{})
	require.ErrorIs(t, err, ErrDocument)
}
