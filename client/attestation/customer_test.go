package attestation

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/inventory"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// rack has software TPMs of two makers.
type rack struct {
	t      *testing.T
	dir    string
	makers [2]*swtpm.CA
}

func newRack(t *testing.T) *rack {
	t.Helper()
	if err := swtpm.Available(); err != nil {
		t.Skipf("needs a software TPM: %v", err)
	}
	dir, err := os.MkdirTemp("", "gt") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	r := &rack{t: t, dir: dir}
	for i, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		r.makers[i], err = swtpm.NewCA(filepath.Join(dir, name))
		require.NoError(t, err)
	}
	return r
}

// chip is a TPM of a maker, in a machine that has started a kernel.
func (r *rack) chip(name string, maker int, kernel string) *device.Device {
	r.t.Helper()
	require.NoError(r.t, os.Mkdir(filepath.Join(r.dir, name), 0o700))
	chip, err := swtpm.Start(r.t.Context(), r.makers[maker], filepath.Join(r.dir, name))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, chip.Close()) })
	conn, err := chip.Open()
	require.NoError(r.t, err)
	digest := sha256.Sum256([]byte(kernel))
	_, err = tpm2.PCRExtend{
		PCRHandle: tpm2.AuthHandle{Handle: 4, Auth: tpm2.PasswordAuth(nil)},
		Digests:   tpm2.TPMLDigestValues{Digests: []tpm2.TPMTHA{{HashAlg: tpm2.TPMAlgSHA256, Digest: digest[:]}}},
	}.Execute(conn)
	require.NoError(r.t, err)
	require.NoError(r.t, conn.Close())
	return device.New(device.Options{Path: chip.Socket(), LogPath: os.DevNull})
}

// document trusts the first maker's TPMs, of which one was started, in machines that have started a kernel.
func (r *rack) document(kernel string) Document {
	r.t.Helper()
	maker, err := r.makers[0].Issuer()
	require.NoError(r.t, err)
	p := policy.Default()
	p.Name = "test"
	p.Roots.TPM, p.TPM.Algorithms = []string{fingerprint(maker)}, []string{"rsa2048", "p256", "p384"}
	measured := sha256.Sum256([]byte(kernel))
	value := sha256.Sum256(append(make([]byte, 32), measured[:]...))
	p.TPM.PCRs = []policy.PCR{{Index: 4, Values: []string{hex.EncodeToString(value[:])}}}
	return Document{Policy: p, Collateral: Collateral{policy.RootKey(fingerprint(maker)): maker.Raw}}
}

func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// machine answers a customer, honestly unless a test spoils it.
type machine struct {
	t       *testing.T
	lease   Lease
	key     ed25519.PrivateKey
	enrols  *device.Device // opens secrets; nil for a machine without a TPM
	quotes  *device.Device
	simul   bool
	changed func(*attest.Challenge) // what it answers in place of the question
	signed  func(*bundle.Bundle)    // after it was signed
	asked   []messages.AttestRequest
}

func newMachine(t *testing.T, d Document, chip *device.Device) *machine {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	m := &machine{t: t, key: key, enrols: chip, quotes: chip}
	m.lease = Lease{
		Address: solana.PublicKey{1}, Node: solana.PublicKey{2}, Key: solana.PublicKey(key.Public().(ed25519.PublicKey)), Genesis: [32]byte{3}, SlotHash: [32]byte{4},
		Document: d, Now: time.Now,
	}
	return m
}

func (m *machine) answer(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error) {
	m.asked = append(m.asked, req)
	out := messages.AttestAnswer{Version: messages.Version}
	switch {
	case req.TPM != nil && m.enrols == nil:
		out.NoTPM, out.Refused = true, "none"
	case req.TPM != nil && len(req.TPM.IDObject) == 0:
		keys, err := m.enrols.Request(ctx)
		require.NoError(m.t, err)
		out.TPM = &messages.TPMAnswer{AK: keys.AK, EK: keys.EK, Chain: keys.Chain}
	case req.TPM != nil:
		secret, err := m.enrols.Activate(ctx, tpm.Credential{IDObject: req.TPM.IDObject, EncryptedSeed: req.TPM.EncryptedSeed})
		require.NoError(m.t, err)
		out.TPM = &messages.TPMAnswer{Secret: secret}
	default:
		out.Evidence = m.evidence(ctx, req)
	}
	return out, nil
}

// evidence is a bundle that answers a question.
func (m *machine) evidence(ctx context.Context, req messages.AttestRequest) []byte {
	b := &bundle.Bundle{Created: time.Now().Unix(), Challenge: attest.Challenge{
		GenesisHash: m.lease.Genesis, Program: market.ProgramID, ID: attest.LeaseID(req.Lease, req.Nonce), Node: m.lease.Node,
		NodeKey: [32]byte(m.key.Public().(ed25519.PublicKey)), SlotHash: req.SlotHash, Expiry: req.Expiry,
	}}
	if m.changed != nil {
		m.changed(&b.Challenge)
	}
	inv := inventory.Inventory{Version: inventory.Version, Simulated: m.simul, Cores: 4, RAMMiB: 1024, GPUs: []inventory.GPU{{Model: "NVIDIA A100", UUID: "GPU-00000000-0000-4000-8000-000000000001"}}}
	e, err := inv.Evidence()
	require.NoError(m.t, err)
	b.Evidence = []attest.Evidence{e}
	if m.quotes != nil {
		binding := b.Challenge.Binding()
		binding.Others, err = bundle.Others(b.Evidence)
		require.NoError(m.t, err)
		quote, err := (&device.Collector{Device: m.quotes}).Collect(ctx, binding.Qualifying())
		require.NoError(m.t, err)
		b.Evidence = append(b.Evidence, quote...)
	}
	require.NoError(m.t, b.Sign(m.key))
	if m.signed != nil {
		m.signed(b)
	}
	raw, err := b.Encode()
	require.NoError(m.t, err)
	return raw
}

func (m *machine) proves() Proof {
	m.t.Helper()
	p, err := m.lease.Ask(m.t.Context(), m.answer)
	require.NoError(m.t, err)
	return p
}

func TestAMachineProvesItself(t *testing.T) {
	r := newRack(t)
	chip := r.chip("1", 0, "kernel")
	d := r.document("kernel")
	m := newMachine(t, d, chip)
	p := m.proves()
	require.NoError(t, p.Err())
	require.NoError(t, p.Failure())
	require.EqualValues(t, 2, p.Summary.Tier)
	require.Empty(t, p.Summary.Failed)
	require.Contains(t, p.Summary.Verified, "What the machine started with has values that the policy accepts.")
	require.Contains(t, p.Summary.NotCovered, "That the machine's owner cannot read the job: a TPM shows how the machine started, and hides nothing from its owner.")
	require.Len(t, m.asked, 3)
	for _, q := range m.asked {
		require.Equal(t, m.asked[0].Nonce, q.Nonce)
	}

	// What is kept says the same to an auditor, but for what only the customer saw.
	b, err := bundle.Parse(p.Bundle)
	require.NoError(t, err)
	hash, err := policy.EvidenceHash(b)
	require.NoError(t, err)
	require.Equal(t, p.Summary.Hash, hex.EncodeToString(hash[:]))
	again, err := Verify(&Request{Bundle: b, Policy: d.Policy, At: time.Unix(b.Created, 0)})
	require.NoError(t, err)
	require.True(t, again.OK, again.Problem)

	first := m.asked[0].Nonce
	m.proves()
	require.NotEqual(t, first, m.asked[3].Nonce, "each question is drawn")
}

// Whoever answers in place of the machine, or with what was not made for this question, is refused, and says why.
func TestAnswersOfOthersAreRefused(t *testing.T) {
	r := newRack(t)
	good, wrong, stranger, twin := r.chip("1", 0, "kernel"), r.chip("2", 0, "another kernel"), r.chip("3", 1, "kernel"), r.chip("4", 0, "kernel")
	d := r.document("kernel")
	old := newMachine(t, d, good)
	old.proves()
	replayed := old.evidence(t.Context(), old.asked[0])
	oldQuote, err := bundle.Parse(replayed)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		spoil func(*machine)
		why   string
	}{
		"another kernel":         {func(m *machine) { m.enrols, m.quotes = wrong, wrong }, "is not what the policy accepts"},
		"a TPM of a stranger's":  {func(m *machine) { m.enrols, m.quotes = stranger, stranger }, "its TPM is none that the policy trusts"},
		"another TPM signs":      {func(m *machine) { m.quotes = twin }, "credential activation"},
		"no TPM":                 {func(m *machine) { m.enrols, m.quotes = nil, nil }, "the machine shows no TPM"},
		"no quote":               {func(m *machine) { m.quotes = nil }, "no TPM quote"},
		"another machine's":      {func(m *machine) { m.changed = func(c *attest.Challenge) { c.Node[0]++ } }, "of another machine"},
		"another market's":       {func(m *machine) { m.changed = func(c *attest.Challenge) { c.GenesisHash[0]++ } }, "for another market"},
		"of another time":        {func(m *machine) { m.changed = func(c *attest.Challenge) { c.ID[0]++ } }, "answers another question"},
		"of another block":       {func(m *machine) { m.changed = func(c *attest.Challenge) { c.SlotHash[0]++ } }, "answers another question"},
		"simulated GPUs":         {func(m *machine) { m.simul = true }, "its GPUs are simulated"},
		"signed by a stranger":   {func(m *machine) { m.signed = func(b *bundle.Bundle) { b.Signature[0]++ } }, "is not signed by the key that this machine has on chain"},
		"changed after the sign": {func(m *machine) { m.signed = func(b *bundle.Bundle) { b.Created++ } }, "is not signed by the key that this machine has on chain"},
		"a quote of another time": {func(m *machine) {
			m.signed = func(b *bundle.Bundle) {
				b.Evidence = append(b.OfKind(attest.KindInventory), oldQuote.OfKind(attest.KindTPM)...)
				require.NoError(m.t, b.Sign(m.key))
			}
		}, "a replayed quote"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, d, good)
			c.spoil(m)
			p := m.proves()
			require.Equal(t, service.AttestationRefused, p.Summary.State)
			require.ErrorIs(t, p.Err(), ErrRefused)
			require.Contains(t, p.Summary.Why, c.why)
			require.Equal(t, service.CodeRefused, service.Classify(p.Failure()).Code)
		})
	}
	t.Run("a whole answer of another time", func(t *testing.T) {
		p, err := old.lease.Ask(t.Context(), func(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error) {
			if req.TPM != nil {
				return old.answer(ctx, req)
			}
			return messages.AttestAnswer{Evidence: replayed}, nil
		})
		require.NoError(t, err)
		require.Contains(t, p.Summary.Why, "answers another question than yours")
	})
	t.Run("no evidence", func(t *testing.T) {
		p, err := old.lease.Ask(t.Context(), func(ctx context.Context, req messages.AttestRequest) (messages.AttestAnswer, error) {
			if req.TPM != nil {
				return old.answer(ctx, req)
			}
			return messages.AttestAnswer{Evidence: []byte("junk")}, nil
		})
		require.NoError(t, err)
		require.Contains(t, p.Summary.Why, "is no evidence")
	})
}

// A machine that answers others is asked again; one that says no is refused; a broken line is an error.
func TestAMachineThatIsBusyIsAskedAgain(t *testing.T) {
	lease := Lease{Document: Document{Policy: policy.Default()}, Now: time.Now}
	calls := 0
	p, err := lease.Ask(t.Context(), func(context.Context, messages.AttestRequest) (messages.AttestAnswer, error) {
		if calls++; calls == 1 {
			return messages.AttestAnswer{Again: true, Refused: "others first"}, nil
		}
		return messages.AttestAnswer{Refused: "this node shows no evidence"}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.Contains(t, p.Summary.Why, "this node shows no evidence")
	broken := errors.New("broken")
	_, err = lease.Ask(t.Context(), func(context.Context, messages.AttestRequest) (messages.AttestAnswer, error) {
		return messages.AttestAnswer{}, broken
	})
	require.ErrorIs(t, err, broken)
}

func TestADocumentIsCompleteInItself(t *testing.T) {
	p := policy.Default()
	plain, err := p.Encode()
	require.NoError(t, err)
	d, err := ParseDocument(plain)
	require.NoError(t, err)
	require.Empty(t, d.Collateral)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, policy.FileName("snp/crl/Milan")), []byte("list"), 0o600))
	d, err = ReadDocument(write(t, plain), folder, nil)
	require.NoError(t, err)
	raw, err := d.Encode()
	require.NoError(t, err)
	again, err := ParseDocument(raw)
	require.NoError(t, err)
	require.Equal(t, Collateral{"snp/crl/Milan": []byte("list")}, again.Collateral)
	_, err = again.Collateral.Get("other")
	require.ErrorIs(t, err, attest.ErrNoCollateral)
	for _, wrong := range []string{"", "[]", `{"policy":{}}`, `{"policy":` + string(plain) + `,"more":1}`, `{"version":1}`, `{"policy":` + string(plain) + `,"collateral":{"a":"!"}}`} {
		_, err := ParseDocument([]byte(wrong))
		require.Equal(t, service.CodeUsage, service.Classify(err).Code, wrong)
		require.Error(t, err, wrong)
	}
}
