package tpm_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-tpm/tpm2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
)

// lab is what the live tests share: two TPMs of one manufacturer and one of another, started when first asked for.
type lab struct {
	dir    string
	mu     sync.Mutex
	makers map[string]*swtpm.CA
	tpms   map[string]*swtpm.TPM
}

var theLab = &lab{makers: map[string]*swtpm.CA{}, tpms: map[string]*swtpm.TPM{}}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := theLab.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (l *lab) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.tpms {
		if err := t.Close(); err != nil {
			return err
		}
	}
	if l.dir != "" {
		return os.RemoveAll(l.dir)
	}
	return nil
}

// machine returns a running TPM of a maker. Tests that change its PCRs take one of their own name.
func (l *lab) machine(tb testing.TB, maker, name string) (*swtpm.TPM, *swtpm.CA) {
	tb.Helper()
	if err := swtpm.Available(); err != nil {
		tb.Skipf("needs a software TPM: %v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == "" {
		// Not the test's folder: its path is too long for a socket.
		dir, err := os.MkdirTemp("", "gantry-tpm")
		require.NoError(tb, err)
		l.dir = dir
	}
	if l.makers[maker] == nil {
		dir := filepath.Join(l.dir, maker)
		require.NoError(tb, os.Mkdir(dir, 0o700))
		ca, err := swtpm.NewCA(dir)
		require.NoError(tb, err)
		l.makers[maker] = ca
	}
	key := maker + "-" + name
	if l.tpms[key] == nil {
		dir := filepath.Join(l.dir, key)
		require.NoError(tb, os.Mkdir(dir, 0o700))
		ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
		defer cancel()
		started, err := swtpm.Start(ctx, l.makers[maker], dir)
		require.NoError(tb, err)
		l.tpms[key] = started
	}
	return l.tpms[key], l.makers[maker]
}

func trustOf(tb testing.TB, ca *swtpm.CA) tpm.Trust {
	tb.Helper()
	roots, err := ca.Roots()
	require.NoError(tb, err)
	intermediates, err := ca.Intermediates()
	require.NoError(tb, err)
	return tpm.Trust{Roots: roots, Intermediates: intermediates}
}

func newDevice(machine *swtpm.TPM, edit func(*device.Options)) *device.Device {
	opts := device.Options{Path: machine.Socket(), LogPath: "/nonexistent/log"}
	if edit != nil {
		edit(&opts)
	}
	return device.New(opts)
}

func collect(tb testing.TB, d *device.Device, b attest.Binding) attest.Evidence {
	tb.Helper()
	list, err := (&device.Collector{Device: d}).Collect(tb.Context(), b.Qualifying())
	require.NoError(tb, err)
	require.Len(tb, list, 1)
	return list[0]
}

// enrol runs the whole of credential activation.
func enrol(tb testing.TB, e *tpm.Enroller, d *device.Device, subject tpm.Subject) tpm.Enrolment {
	tb.Helper()
	now := time.Now()
	request, err := d.Request(tb.Context())
	require.NoError(tb, err)
	challenge, err := e.Challenge(subject, request, now)
	require.NoError(tb, err)
	secret, err := d.Activate(tb.Context(), challenge.Credential)
	require.NoError(tb, err)
	enrolment, err := e.Finish(subject, challenge.ID, secret, now)
	require.NoError(tb, err)
	return enrolment
}

func hash(text string) [32]byte { return sha256.Sum256([]byte(text)) }

var (
	testSubject = tpm.Subject{GenesisHash: hash("genesis"), Program: hash("program"), Node: hash("node")}
	testBinding = attest.Binding{Nonce: hash("nonce"), Others: hash("others")}
)

func testKeeper(name string) ed25519.PrivateKey {
	seed := hash("keeper " + name)
	return ed25519.NewKeyFromSeed(seed[:])
}

func TestLiveEnrolQuoteVerify(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "a")
	d := newDevice(machine, nil)
	trust := trustOf(t, ca)
	enrolment := enrol(t, tpm.NewEnroller(tpm.EnrolOptions{Trust: trust}), d, testSubject)
	statement, err := enrolment.Sign(testKeeper("one"))
	require.NoError(t, err)

	c := &device.Collector{Device: d, Statements: func() []tpm.Statement { return []tpm.Statement{statement} }}
	list, err := c.Collect(t.Context(), testBinding.Qualifying())
	require.NoError(t, err)
	evidence := list[0]

	t.Run("by the keeper's own record", func(t *testing.T) {
		own := func(ak tpm.Name) (tpm.Enrolment, bool) { return enrolment, ak == enrolment.AK }
		v := tpm.New(tpm.Options{Trust: trust, Activation: tpm.Activation{Own: own}, RequireActivation: true}).For(testSubject)
		r, err := v.Verify(evidence, testBinding, time.Now())
		require.NoError(t, err)
		require.True(t, r.Ok())
		require.Equal(t, "this verifier", r.Claims["activated by"])
		require.Equal(t, enrolment.EK[:], r.Devices[0].Identity)
		require.Equal(t, "id:00001014 swtpm id:20191023", r.Devices[0].Model)
		require.Equal(t, [][32]byte{enrolment.AK.Digest()}, r.Keys)
		require.False(t, r.Confidential)
		// No revocation list, no accepted PCR values, no log: said so, not passed over.
		require.Equal(t, "endorsement key revocation, clock and boot counters, PCR policy, event log, secure boot state", r.Uncovered())
	})
	t.Run("by a keeper's statement", func(t *testing.T) {
		v := tpm.New(tpm.Options{
			Trust: trust, RequireActivation: true,
			Activation: tpm.Activation{Keepers: []ed25519.PublicKey{testKeeper("one").Public().(ed25519.PublicKey)}, MaxAge: time.Hour},
		})
		r, err := v.For(testSubject).Verify(evidence, testBinding, time.Now())
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%x", testKeeper("one").Public()), r.Claims["activated by"])
	})
	t.Run("without either it is not covered and names no device", func(t *testing.T) {
		r, err := tpm.New(tpm.Options{Trust: trust}).Verify(evidence, testBinding, time.Now())
		require.NoError(t, err)
		require.Contains(t, r.Uncovered(), tpm.CheckActivation)
		require.Empty(t, r.Devices)
		require.Empty(t, r.Claims["tpm"])
	})
}

// The attestation key comes out the same after a reboot; the boot counter goes up.
func TestLiveReboot(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "reboot")
	d := newDevice(machine, nil)
	v := tpm.New(tpm.Options{Trust: trustOf(t, ca)})
	first, err := v.Verify(collect(t, d, testBinding), testBinding, time.Now())
	require.NoError(t, err)
	require.NoError(t, machine.Restart(t.Context()))
	second, err := v.Verify(collect(t, d, testBinding), testBinding, time.Now())
	require.NoError(t, err)
	require.Equal(t, first.Keys, second.Keys)
	require.NotEqual(t, first.Claims["boots"], second.Claims["boots"])
}

// Every kind of endorsement key that the software TPM has, found as a persistent key and made from its template.
func TestLiveEndorsementKeys(t *testing.T) {
	for _, algorithm := range []tpm.EKAlgorithm{tpm.EKRSA2048, tpm.EKP384} {
		t.Run(algorithm.String(), func(t *testing.T) {
			machine, ca := theLab.machine(t, "maker", "keys")
			d := newDevice(machine, func(o *device.Options) { o.Algorithms = []tpm.EKAlgorithm{algorithm} })
			trust := trustOf(t, ca)
			e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
			if algorithm != tpm.EKRSA2048 {
				request, err := d.Request(t.Context())
				require.NoError(t, err)
				_, err = e.Challenge(testSubject, request, time.Now())
				require.ErrorIs(t, err, attest.ErrPolicy, "one identity per TPM unless the policy says otherwise")
			}
			trust.Algorithms = []tpm.EKAlgorithm{algorithm}
			e = tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
			persistent := enrol(t, e, d, testSubject)
			evictEndorsementKeys(t, machine)
			require.Equal(t, persistent.EK, enrol(t, e, d, testSubject).EK)
		})
	}
}

func evictEndorsementKeys(t *testing.T, machine *swtpm.TPM) {
	t.Helper()
	c, err := machine.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for _, handle := range []tpm2.TPMHandle{0x81010001, 0x81010016} {
		public, err := tpm2.ReadPublic{ObjectHandle: handle}.Execute(c)
		if err != nil {
			continue // evicted by an earlier subtest
		}
		_, err = tpm2.EvictControl{
			Auth:         tpm2.TPMRHOwner,
			ObjectHandle: &tpm2.NamedHandle{Handle: handle, Name: public.Name}, PersistentHandle: handle,
		}.Execute(c)
		require.NoError(t, err)
	}
}

// What the TPM holds beside the keys must not stay behind: it has room for three.
func TestLiveLeavesNothingBehind(t *testing.T) {
	machine, ca := theLab.machine(t, "maker", "a")
	d := newDevice(machine, nil)
	e := tpm.NewEnroller(tpm.EnrolOptions{Trust: trustOf(t, ca)})
	for range 8 {
		enrol(t, e, d, testSubject)
		collect(t, d, testBinding)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.AK(ctx)
	require.ErrorIs(t, err, context.Canceled)
	c, err := machine.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	reply, err := tpm2.GetCapability{Capability: tpm2.TPMCapHandles, Property: 0x80000000, PropertyCount: 16}.Execute(c)
	require.NoError(t, err)
	handles, err := reply.CapabilityData.Data.Handles()
	require.NoError(t, err)
	require.Empty(t, handles.Handle)
}

func writeFile(tb testing.TB, data []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "data")
	require.NoError(tb, os.WriteFile(path, data, 0o600))
	return path
}
