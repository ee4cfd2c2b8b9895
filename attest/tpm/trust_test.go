package tpm_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/tpmtest"
)

func newMaker(t *testing.T, at time.Time) *tpmtest.Maker {
	t.Helper()
	m, err := tpmtest.NewMaker(at)
	require.NoError(t, err)
	return m
}

func newTPM(t *testing.T, m *tpmtest.Maker, a tpm.EKAlgorithm) *tpmtest.TPM {
	t.Helper()
	made, err := m.NewTPM(a)
	require.NoError(t, err)
	return made
}

func quoted(t *testing.T, made *tpmtest.TPM, edit func(*tpm2.TPMSAttest)) attest.Evidence {
	t.Helper()
	e, err := made.Evidence(testBinding, edit)
	require.NoError(t, err)
	return e
}

var aTime = time.Unix(1_800_000_000, 0)

func TestSimulatedTPM(t *testing.T) {
	m := newMaker(t, aTime)
	for _, algorithm := range []tpm.EKAlgorithm{tpm.EKRSA2048, tpm.EKP256, tpm.EKP384} {
		t.Run(algorithm.String(), func(t *testing.T) {
			made := newTPM(t, m, algorithm)
			trust := m.Trust()
			trust.Algorithms = []tpm.EKAlgorithm{algorithm}
			enrolment, err := made.Enrolment(testSubject, aTime)
			require.NoError(t, err)
			own := func(tpm.Name) (tpm.Enrolment, bool) { return enrolment, true }
			v := tpm.New(tpm.Options{Trust: trust, Activation: tpm.Activation{Own: own}, RequireActivation: true})
			r, err := v.For(testSubject).Verify(quoted(t, made, nil), testBinding, aTime)
			require.NoError(t, err)
			require.Equal(t, "SIM simulated id:00010000", r.Devices[0].Model)
			_, err = tpm.NewEnroller(tpm.EnrolOptions{Trust: trust}).Challenge(testSubject, requestOf(itemsOf(quoted(t, made, nil))), aTime)
			require.NoError(t, err)
		})
	}
}

func itemsOf(e attest.Evidence) map[string][]byte {
	items := map[string][]byte{}
	for _, i := range e.Items {
		items[i.Name] = i.Data
	}
	return items
}

// What a TPM would never sign, under a signature that holds.
func TestSignedLies(t *testing.T) {
	m := newMaker(t, aTime)
	made := newTPM(t, m, tpm.EKP256)
	trust := m.Trust()
	trust.Algorithms = []tpm.EKAlgorithm{tpm.EKP256}
	v := tpm.New(tpm.Options{Trust: trust})
	for name, tc := range map[string]struct {
		edit  func(*tpm2.TPMSAttest)
		check string
		want  error
	}{
		"not by a TPM": {func(a *tpm2.TPMSAttest) { a.Magic = 0 }, tpm.CheckFormat, attest.ErrMalformed},
		"not a quote": {func(a *tpm2.TPMSAttest) {
			a.Type = tpm2.TPMSTAttestTime
			a.Attested = tpm2.NewTPMUAttest(a.Type, &tpm2.TPMSTimeAttestInfo{})
		}, tpm.CheckFormat, attest.ErrMalformed},
		"another signer": {func(a *tpm2.TPMSAttest) { a.QualifiedSigner.Buffer[9] ^= 1 }, tpm.CheckHierarchy, attest.ErrPolicy},
		"another nonce":  {func(a *tpm2.TPMSAttest) { a.ExtraData.Buffer[0] ^= 1 }, tpm.CheckFreshness, attest.ErrStale},
		"nonce cut":      {func(a *tpm2.TPMSAttest) { a.ExtraData.Buffer = a.ExtraData.Buffer[:31] }, tpm.CheckFreshness, attest.ErrStale},
		"no nonce":       {func(a *tpm2.TPMSAttest) { a.ExtraData.Buffer = nil }, tpm.CheckFreshness, attest.ErrStale},
		"clock too late": {func(a *tpm2.TPMSAttest) { a.ClockInfo.Clock = 1 << 63 }, tpm.CheckFormat, attest.ErrMalformed},
		"another digest": {quoteInfo(func(q *tpm2.TPMSQuoteInfo) { q.PCRDigest.Buffer[0] ^= 1 }), tpm.CheckDigest, attest.ErrUntrusted},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := v.Verify(quoted(t, made, tc.edit), testBinding, aTime)
			require.ErrorIs(t, err, tc.want)
			require.Equal(t, tc.check, failedCheck(t, r))
		})
	}
}

// Whoever has somebody's certificate, which is no secret, and makes an attestation key in software.
func TestStolenCertificate(t *testing.T) {
	m := newMaker(t, aTime)
	victim, thief := newTPM(t, m, tpm.EKP256), newTPM(t, m, tpm.EKP256)
	enrolment, err := victim.Enrolment(testSubject, aTime)
	require.NoError(t, err)
	statement, err := enrolment.Sign(testKeeper("one"))
	require.NoError(t, err)
	thief.EK, thief.Statements = victim.EK, []tpm.Statement{statement}
	trust := m.Trust()
	trust.Algorithms = []tpm.EKAlgorithm{tpm.EKP256}

	opts := tpm.Options{Trust: trust, Activation: recordingOptions(t).Activation}
	r, err := tpm.New(opts).Verify(quoted(t, thief, nil), testBinding, aTime)
	require.NoError(t, err)
	require.Contains(t, r.Uncovered(), tpm.CheckActivation)
	require.Empty(t, r.Devices, "not the victim's TPM")
	opts.RequireActivation = true
	r, err = tpm.New(opts).Verify(quoted(t, thief, nil), testBinding, aTime)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.Equal(t, tpm.CheckActivation, failedCheck(t, r))
}

func recordingOptions(t *testing.T) tpm.Options {
	rec, _, _, _ := recorded(t)
	return rec.options(t)
}

type collateralMap map[string][]byte

func (m collateralMap) Get(key string) ([]byte, error) {
	if data, ok := m[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

func TestRevocation(t *testing.T) {
	m, stranger := newMaker(t, aTime), newMaker(t, aTime)
	made := newTPM(t, m, tpm.EKP256)
	list := func(by *tpmtest.Maker, from time.Time, revoked ...*x509.Certificate) []byte {
		der, err := by.RevocationList(from, revoked...)
		require.NoError(t, err)
		return der
	}
	other := newTPM(t, m, tpm.EKP256)
	for name, tc := range map[string]struct {
		list []byte
		want error
	}{
		"empty":          {list(m, aTime), nil},
		"of another":     {list(m, aTime, other.EK), nil},
		"revoked":        {list(m, aTime, other.EK, made.EK), attest.ErrUntrusted},
		"out of date":    {list(m, aTime.Add(-61*time.Minute)), attest.ErrStale},
		"not yet":        {list(m, aTime.Add(time.Minute)), attest.ErrStale},
		"by a stranger":  {list(stranger, aTime), attest.ErrUntrusted},
		"not a list":     {[]byte("no"), attest.ErrMalformed},
		"nothing at all": {nil, attest.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			trust := m.Trust()
			trust.Algorithms, trust.Collateral = []tpm.EKAlgorithm{tpm.EKP256}, collateralMap{tpm.CRLKey(m.Issuer): tc.list}
			r, err := tpm.New(tpm.Options{Trust: trust}).Verify(quoted(t, made, nil), testBinding, aTime)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, tpm.CheckRevocation, failedCheck(t, r))
				return
			}
			require.NoError(t, err)
			// The list of the root, which could revoke the issuer, is not there.
			require.Contains(t, r.Uncovered(), tpm.CheckRevocation)
		})
	}
}

func TestParseEKRefuses(t *testing.T) {
	m := newMaker(t, aTime)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	rsa3072, err := rsa.GenerateKey(rand.Reader, 3072)
	require.NoError(t, err)
	altNameOf := func(value []byte) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtraExtensions[0].Value = value }
	}
	for name, tc := range map[string]struct {
		public any
		edit   func(*x509.Certificate)
	}{
		"RSA 3072":           {rsa3072.Public(), nil},
		"P-521":              {p521.Public(), nil},
		"authority":          {p256.Public(), func(c *x509.Certificate) { c.IsCA = true }},
		"signs certificates": {p256.Public(), func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCertSign }},
		"platform certificate": {p256.Public(), func(c *x509.Certificate) {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{2, 23, 133, 8, 2}}
		}},
		"web server": {p256.Public(), func(c *x509.Certificate) {
			c.UnknownExtKeyUsage, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}},
		"no name": {p256.Public(), func(c *x509.Certificate) { c.ExtraExtensions = c.ExtraExtensions[1:] }},
		"name of a host": {p256.Public(), func(c *x509.Certificate) {
			c.ExtraExtensions = c.ExtraExtensions[1:]
			c.DNSNames = []string{"a.example"}
		}},
		"broken directory":   {p256.Public(), altNameOf([]byte{0x30, 0x04, 0xa4, 0x02, 0x30, 0x05})},
		"empty directory":    {p256.Public(), altNameOf([]byte{0x30, 0x04, 0xa4, 0x02, 0x30, 0x00})},
		"broken attributes":  {p256.Public(), func(c *x509.Certificate) { c.ExtraExtensions[1].Value = []byte{0x30, 0x00} }},
		"attributes no list": {p256.Public(), func(c *x509.Certificate) { c.ExtraExtensions[1].Value = []byte{0x04, 0x00} }},
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := m.Certify(tc.public, tc.edit)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tpm.ParseEK(cert.Raw)
			require.ErrorIs(t, err, attest.ErrMalformed)
		})
	}
	// A critical extension that nobody knows is for the chain to refuse.
	cert, err := m.Certify(p256.Public(), func(c *x509.Certificate) {
		c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
	})
	require.NoError(t, err)
	ek, err := tpm.ParseEK(cert.Raw)
	require.NoError(t, err)
	trust := m.Trust()
	_, err = ek.VerifyChain(trust.Roots, trust.Intermediates, nil, aTime)
	require.ErrorIs(t, err, attest.ErrUntrusted)
	// Valid only in its time.
	for _, at := range []time.Duration{-25 * time.Hour, 25 * time.Hour} {
		cert, err = m.Certify(p256.Public(), nil)
		require.NoError(t, err)
		ek, err = tpm.ParseEK(cert.Raw)
		require.NoError(t, err)
		_, err = ek.VerifyChain(trust.Roots, trust.Intermediates, nil, aTime.Add(at))
		require.ErrorIs(t, err, attest.ErrStale)
	}
}

// Checking a signature with a key of sixty thousand bits takes a keeper's time, and anybody can send one.
func TestHugeIssuerKey(t *testing.T) {
	m := newMaker(t, aTime)
	ek, err := tpm.ParseEK(newTPM(t, m, tpm.EKP256).EK.Raw)
	require.NoError(t, err)
	huge := new(big.Int).SetBit(big.NewInt(1), 8191, 1)
	cert, err := m.Certify(&rsa.PublicKey{N: huge, E: 65537}, func(c *x509.Certificate) { c.IsCA = true })
	require.NoError(t, err)
	trust := m.Trust()
	_, err = ek.VerifyChain(trust.Roots, trust.Intermediates, [][]byte{cert.Raw}, aTime)
	require.ErrorIs(t, err, attest.ErrMalformed)
	_, err = ek.VerifyChain(trust.Roots, trust.Intermediates, [][]byte{m.Issuer.Raw}, aTime)
	require.NoError(t, err)
}

// Some manufacturers name the algorithm of RSA keys id-RSAES-OAEP. The key and its identity are the same.
func TestEKWithOAEPAlgorithm(t *testing.T) {
	m := newMaker(t, aTime)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	plain, err := m.Certify(key.Public(), nil)
	require.NoError(t, err)
	algorithm := []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00}
	der := bytes.Replace(plain.Raw, algorithm, append(append([]byte(nil), algorithm[:10]...), 0x07, 0x05, 0x00), 1)
	require.NotEqual(t, plain.Raw, der)
	want, err := tpm.ParseEK(plain.Raw)
	require.NoError(t, err)
	got, err := tpm.ParseEK(der)
	require.NoError(t, err)
	require.Nil(t, got.Cert.PublicKey, "the x509 package leaves it alone")
	require.Equal(t, want.Identity, got.Identity)
	require.Equal(t, want.Key, got.Key)
	ak, err := newTPM(t, m, tpm.EKP256).AK()
	require.NoError(t, err)
	_, err = tpm.MakeCredential(rand.Reader, got, ak.Name, make([]byte, 32))
	require.NoError(t, err)

	other := slices.Clone(der)
	at := bytes.Index(other, append(append([]byte(nil), algorithm[:10]...), 0x07))
	other[at+10] = 0x0a // RSASSA-PSS
	_, err = tpm.ParseEK(other)
	require.ErrorIs(t, err, attest.ErrMalformed)
}
