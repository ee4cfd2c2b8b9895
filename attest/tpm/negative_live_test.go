package tpm_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
)

// with returns a copy of the evidence with an item replaced, or taken out when data is nil.
func with(e attest.Evidence, name string, data []byte) attest.Evidence {
	items := make([]attest.Item, 0, len(e.Items))
	for _, i := range e.Items {
		if i.Name == name {
			if data == nil {
				continue
			}
			i.Data = data
		}
		items = append(items, i)
	}
	e.Items = items
	return e
}

func item(tb testing.TB, e attest.Evidence, name string) []byte {
	tb.Helper()
	data, ok := e.Item(name)
	require.True(tb, ok, name)
	return data
}

// failedCheck is the name of the one check that failed.
func failedCheck(tb testing.TB, r attest.Result) string {
	tb.Helper()
	var failed []string
	for _, c := range r.Checks {
		if c.Outcome == attest.Failed {
			failed = append(failed, c.Name)
		}
	}
	require.Len(tb, failed, 1)
	require.False(tb, r.Ok())
	require.Empty(tb, r.Devices)
	require.Empty(tb, r.Keys)
	return failed[0]
}

// refused wants a verifier to refuse evidence at a check, with an error of a kind.
func refused(tb testing.TB, v *tpm.Verifier, e attest.Evidence, b attest.Binding, check string, sentinel error) {
	tb.Helper()
	r, err := v.Verify(e, b, time.Now())
	require.ErrorIs(tb, err, sentinel)
	require.Equal(tb, check, failedCheck(tb, r))
}

func extend(tb testing.TB, machine *swtpm.TPM, pcr int, digest [32]byte) {
	tb.Helper()
	c, err := machine.Open()
	require.NoError(tb, err)
	defer func() { require.NoError(tb, c.Close()) }()
	_, err = tpm2.PCRExtend{
		PCRHandle: tpm2.AuthHandle{Handle: tpm2.TPMHandle(pcr), Auth: tpm2.PasswordAuth(nil)},
		Digests:   tpm2.TPMLDigestValues{Digests: []tpm2.TPMTHA{{HashAlg: tpm2.TPMAlgSHA256, Digest: digest[:]}}},
	}.Execute(c)
	require.NoError(tb, err)
}

func TestLiveRefused(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "a")
	other, _ := theLab.machine(t, "maker", "b")
	foreign, foreignCA := theLab.machine(t, "stranger", "a")
	d, trust := newDevice(machine, nil), trustOf(t, ca)
	e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
	records := map[tpm.Name]tpm.Enrolment{}
	for _, m := range []*swtpm.TPM{machine, other} {
		enrolment := enrol(t, e, newDevice(m, nil), testSubject)
		records[enrolment.AK] = enrolment
	}
	own := func(ak tpm.Name) (tpm.Enrolment, bool) {
		enrolment, ok := records[ak]
		return enrolment, ok
	}
	v := tpm.New(tpm.Options{Trust: trust, Activation: tpm.Activation{Own: own}, RequireActivation: true}).For(testSubject)
	good, theirs := collect(t, d, testBinding), collect(t, newDevice(other, nil), testBinding)
	_, err := v.Verify(good, testBinding, time.Now())
	require.NoError(t, err)
	_, err = v.Verify(theirs, testBinding, time.Now())
	require.NoError(t, err)

	t.Run("wrong nonce, replayed quote", func(t *testing.T) {
		later := attest.Binding{Nonce: hash("another nonce"), Others: testBinding.Others}
		refused(t, v, good, later, tpm.CheckFreshness, attest.ErrStale)
		mixed := attest.Binding{Nonce: testBinding.Nonce, Others: hash("evidence of another machine")}
		refused(t, v, good, mixed, tpm.CheckFreshness, attest.ErrStale)
	})
	t.Run("another manufacturer", func(t *testing.T) {
		refused(t, v, collect(t, newDevice(foreign, nil), testBinding), testBinding, tpm.CheckEKChain, attest.ErrUntrusted)
		issuer, err := foreignCA.Issuer()
		require.NoError(t, err)
		root, err := foreignCA.Root()
		require.NoError(t, err)
		chained := newDevice(foreign, func(o *device.Options) { o.Chain = append(issuer.Raw, root.Raw...) })
		refused(t, v, collect(t, chained, testBinding), testBinding, tpm.CheckEKChain, attest.ErrUntrusted)
		nobody := tpm.New(tpm.Options{})
		refused(t, nobody, good, testBinding, tpm.CheckEKChain, attest.ErrUntrusted)
	})
	t.Run("endorsement key of another TPM", func(t *testing.T) {
		stolen := with(good, tpm.ItemEK, item(t, theirs, tpm.ItemEK))
		refused(t, v, stolen, testBinding, tpm.CheckActivation, attest.ErrUntrusted)
	})
	t.Run("attestation key of another TPM", func(t *testing.T) {
		swapped := with(good, tpm.ItemAK, item(t, theirs, tpm.ItemAK))
		refused(t, v, swapped, testBinding, tpm.CheckActivation, attest.ErrUntrusted)
		// With the other's endorsement key as well, it is the signature that does not fit.
		swapped = with(swapped, tpm.ItemEK, item(t, theirs, tpm.ItemEK))
		refused(t, v, swapped, testBinding, tpm.CheckSignature, attest.ErrUntrusted)
	})
	t.Run("enrolled for another node", func(t *testing.T) {
		subject := testSubject
		subject.Node = hash("another node")
		refused(t, v.For(subject), good, testBinding, tpm.CheckActivation, attest.ErrUntrusted)
	})
	t.Run("other PCRs", func(t *testing.T) {
		fewer := newDevice(machine, func(o *device.Options) { o.Selection = tpm.Select(0, 1, 2) })
		refused(t, v, collect(t, fewer, testBinding), testBinding, tpm.CheckSelection, attest.ErrPolicy)
		more := newDevice(machine, func(o *device.Options) { o.Selection = tpm.DefaultSelection | tpm.Select(16) })
		refused(t, v, collect(t, more, testBinding), testBinding, tpm.CheckSelection, attest.ErrPolicy)
	})
	t.Run("no revocation list", func(t *testing.T) {
		strict := trust
		strict.RequireRevocation = true
		refused(t, tpm.New(tpm.Options{Trust: strict}), good, testBinding, tpm.CheckRevocation, attest.ErrNoCollateral)
	})
	t.Run("at another time", func(t *testing.T) {
		r, err := v.Verify(good, testBinding, time.Now().Add(-24*time.Hour))
		require.ErrorIs(t, err, attest.ErrStale)
		require.Equal(t, tpm.CheckEKChain, failedCheck(t, r))
	})
	t.Run("intermediates from the evidence", func(t *testing.T) {
		issuer, err := ca.Issuer()
		require.NoError(t, err)
		chained := newDevice(machine, func(o *device.Options) { o.Chain = issuer.Raw })
		rootsOnly := tpm.New(tpm.Options{Trust: tpm.Trust{Roots: trust.Roots}})
		_, err = rootsOnly.Verify(collect(t, chained, testBinding), testBinding, time.Now())
		require.NoError(t, err)
		refused(t, rootsOnly, good, testBinding, tpm.CheckEKChain, attest.ErrUntrusted)
		self := x509.NewCertPool()
		self.AddCert(issuer)
		_, err = tpm.New(tpm.Options{Trust: tpm.Trust{Roots: self}}).Verify(good, testBinding, time.Now())
		require.NoError(t, err)
	})
}

func TestLivePCRPolicy(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "pcrs")
	d := newDevice(machine, nil)
	before := collect(t, d, testBinding)
	parts, err := tpm.Parse(before)
	require.NoError(t, err)
	v := tpm.New(tpm.Options{Trust: trustOf(t, ca), PCRs: tpm.Allowed{9: {hash("other"), parts.PCRs[9]}, 4: {parts.PCRs[4]}}})
	r, err := v.Verify(before, testBinding, time.Now())
	require.NoError(t, err)
	require.NotContains(t, r.Uncovered(), tpm.CheckPCRPolicy)

	extend(t, machine, 9, hash("a kernel"))
	after := collect(t, d, testBinding)
	refused(t, v, after, testBinding, tpm.CheckPCRPolicy, attest.ErrPolicy)
	// The new quote with the old values, and the old quote with the new values.
	refused(t, v, with(after, tpm.ItemPCRs, item(t, before, tpm.ItemPCRs)), testBinding, tpm.CheckDigest, attest.ErrUntrusted)
	refused(t, v, with(before, tpm.ItemPCRs, item(t, after, tpm.ItemPCRs)), testBinding, tpm.CheckDigest, attest.ErrUntrusted)
	notQuoted := tpm.New(tpm.Options{Trust: trustOf(t, ca), PCRs: tpm.Allowed{10: {{}}}})
	refused(t, notQuoted, before, testBinding, tpm.CheckPCRPolicy, attest.ErrPolicy)
}

// quoteWith quotes with a key of the test's making, and returns the evidence with it.
func quoteWith(t *testing.T, machine *swtpm.TPM, hierarchy tpm2.TPMHandle, template tpm2.TPMTPublic, e attest.Evidence) attest.Evidence {
	t.Helper()
	c, err := machine.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	ak, err := tpm2.CreatePrimary{PrimaryHandle: hierarchy, InPublic: tpm2.New2B(template)}.Execute(c)
	require.NoError(t, err)
	defer func() {
		_, err := tpm2.FlushContext{FlushHandle: ak.ObjectHandle}.Execute(c)
		require.NoError(t, err)
	}()
	q := testBinding.Qualifying()
	reply, err := tpm2.Quote{
		SignHandle:     tpm2.AuthHandle{Handle: ak.ObjectHandle, Name: ak.Name, Auth: tpm2.PasswordAuth(nil)},
		QualifyingData: tpm2.TPM2BData{Buffer: q[:]}, InScheme: tpm2.TPMTSigScheme{Scheme: tpm2.TPMAlgNull},
		PCRSelect: tpm2.TPMLPCRSelection{PCRSelections: []tpm2.TPMSPCRSelection{{
			Hash: tpm2.TPMAlgSHA256, PCRSelect: []byte{0xff, 0x7b, 0},
		}}},
	}.Execute(c)
	require.NoError(t, err)
	e = with(e, tpm.ItemAK, ak.OutPublic.Bytes())
	e = with(e, tpm.ItemQuote, reply.Quoted.Bytes())
	return with(e, tpm.ItemSignature, tpm2.Marshal(reply.Signature))
}

func TestLiveOtherKeys(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "a")
	good := collect(t, newDevice(machine, nil), testBinding)
	v := tpm.New(tpm.Options{Trust: trustOf(t, ca)})
	_, err := v.Verify(quoteWith(t, machine, tpm2.TPMRHEndorsement, tpm.AKTemplate(), good), testBinding, time.Now())
	require.NoError(t, err)

	for name, hierarchy := range map[string]tpm2.TPMHandle{"owner": tpm2.TPMRHOwner, "null": tpm2.TPMRHNull} {
		t.Run(name+" hierarchy", func(t *testing.T) {
			refused(t, v, quoteWith(t, machine, hierarchy, tpm.AKTemplate(), good), testBinding, tpm.CheckHierarchy, attest.ErrPolicy)
		})
	}
	for name, edit := range map[string]func(*tpm2.TPMTPublic){
		"not restricted":  func(p *tpm2.TPMTPublic) { p.ObjectAttributes.Restricted = false },
		"can be locked":   func(p *tpm2.TPMTPublic) { p.ObjectAttributes.NoDA = false },
		"with a policy":   func(p *tpm2.TPMTPublic) { p.AuthPolicy.Buffer = make([]byte, 32) },
		"cleared at boot": func(p *tpm2.TPMTPublic) { p.ObjectAttributes.STClear = true },
		"P-384": func(p *tpm2.TPMTPublic) {
			p.Parameters = tpm2.NewTPMUPublicParms(tpm2.TPMAlgECC, &tpm2.TPMSECCParms{
				Scheme: tpm2.TPMTECCScheme{
					Scheme:  tpm2.TPMAlgECDSA,
					Details: tpm2.NewTPMUAsymScheme(tpm2.TPMAlgECDSA, &tpm2.TPMSSigSchemeECDSA{HashAlg: tpm2.TPMAlgSHA256}),
				},
				CurveID: tpm2.TPMECCNistP384,
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := tpm.AKTemplate()
			edit(&template)
			r, err := v.Verify(quoteWith(t, machine, tpm2.TPMRHEndorsement, template, good), testBinding, time.Now())
			require.Error(t, err)
			require.Equal(t, tpm.CheckFormat, failedCheck(t, r))
		})
	}
}

// A credential for one TPM opens in no other, and for one attestation key with no other.
func TestLiveCredentialOpensOnlyInItsTPM(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "a")
	other, _ := theLab.machine(t, "maker", "b")
	e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trustOf(t, ca)})
	mine, err := newDevice(machine, nil).Request(t.Context())
	require.NoError(t, err)
	theirs, err := newDevice(other, nil).Request(t.Context())
	require.NoError(t, err)

	challenge, err := e.Challenge(testSubject, mine, time.Now())
	require.NoError(t, err)
	_, err = newDevice(other, nil).Activate(t.Context(), challenge.Credential)
	require.Error(t, err, "another TPM")

	// The certificate of one with the attestation key of the other.
	mixed := tpm.Request{EK: mine.EK, AK: theirs.AK}
	challenge, err = e.Challenge(testSubject, mixed, time.Now())
	require.NoError(t, err)
	for _, m := range []*swtpm.TPM{machine, other} {
		_, err = newDevice(m, nil).Activate(t.Context(), challenge.Credential)
		require.Error(t, err)
	}

	challenge, err = e.Challenge(testSubject, mine, time.Now())
	require.NoError(t, err)
	for i := range challenge.Credential.IDObject {
		if i%7 != 0 {
			continue
		}
		damaged := challenge.Credential
		damaged.IDObject = append([]byte(nil), damaged.IDObject...)
		damaged.IDObject[i] ^= 1
		_, err = newDevice(machine, nil).Activate(t.Context(), damaged)
		require.Error(t, err)
	}
}
