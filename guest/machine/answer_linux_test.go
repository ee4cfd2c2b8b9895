package machine_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/device"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/guest/machine"
)

type chip struct{ *device.Device }

func (c chip) Collect(ctx context.Context, nonce [32]byte) ([]attest.Evidence, error) {
	return (&device.Collector{Device: c.Device}).Collect(ctx, nonce)
}

type certificates map[string][]byte

func (c certificates) Get(key string) ([]byte, error) {
	if data, ok := c[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

// serve runs a guest's side in this process, over a TPM at a path.
func serve(t *testing.T, path string, runner machine.Runner) (host *control.Client, ended <-chan error) {
	a, err := machine.NewAnswerer(chip{device.New(device.Options{Path: path, LogPath: os.DevNull})}, collect.Sources{
		Inventory: machine.Inventory, TEE: collect.TSM{Path: t.TempDir() + "/none"}.Report,
	}, runner)
	require.NoError(t, err)
	here, there := net.Pipe()
	done := make(chan error, 1)
	go func() {
		err := control.Serve(t.Context(), there, a.Answer)
		a.Wait()
		done <- err
	}()
	host, err = control.NewClient(t.Context(), here)
	require.NoError(t, err)
	t.Cleanup(func() { _ = host.Close() })
	return host, done
}

func TestEvidence(t *testing.T) {
	if err := swtpm.Available(); err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "gantry-guest") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	maker, err := swtpm.NewCA(dir)
	require.NoError(t, err)
	software, err := swtpm.Start(t.Context(), maker, dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, software.Close()) })
	issuer, err := maker.Issuer()
	require.NoError(t, err)
	sum := sha256.Sum256(issuer.Raw)
	root := hex.EncodeToString(sum[:])
	known := certificates{policy.RootKey(root): issuer.Raw}
	p := policy.Default()
	p.Roots.TPM = []string{root}

	host, ended := serve(t, software.Socket(), nothing)
	public, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	job := newJob(nil)
	of := subject(t, job)
	x := attest.Challenge{GenesisHash: [32]byte{3}, Program: [32]byte{4}, ID: [32]byte{5}, Node: [32]byte{6}, NodeKey: [32]byte(public), Expiry: time.Now().Add(time.Minute).Unix()}

	trust, _, err := policy.TPMTrust(p, known)
	require.NoError(t, err)
	keys, err := host.Keys(t.Context())
	require.NoError(t, err)
	subject := tpm.Subject{GenesisHash: x.GenesisHash, Program: x.Program, Node: x.NodeKey}
	enroller := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust})
	question, err := enroller.Challenge(subject, keys, time.Now())
	require.NoError(t, err)
	secret, err := host.Activate(t.Context(), question.Credential)
	require.NoError(t, err)
	seen, err := enroller.Finish(subject, question.ID, secret, time.Now())
	require.NoError(t, err)

	b, findings, err := host.Evidence(t.Context(), x, of)
	require.NoError(t, err)
	require.Len(t, findings, 6, "each kind of evidence has a finding: %q", findings)
	b.Created = time.Now().Unix()
	require.NoError(t, b.Sign(node))
	claims, _, err := policy.Judge(b, p, policy.Subject{Challenge: x, Enrolled: func(ak tpm.Name) (tpm.Enrolment, bool) { return seen, seen.AK == ak }}, time.Now(), known)
	require.NoError(t, err)
	require.Equal(t, policy.Sound, claims.Verdict)
	for _, kind := range []attest.Kind{attest.KindInventory, attest.KindSeal, attest.KindGuest, attest.KindTPM} {
		require.Len(t, claims.Of(kind), 1, kind)
		require.True(t, claims.Of(kind)[0].Ok(), kind)
	}

	sealer, err := seal.Read(b.OfKind(attest.KindSeal)[0], of)
	require.NoError(t, err)
	box, err := sealer.Seal(encode(t, job))
	require.NoError(t, err)
	receipt, err := host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box})
	require.NoError(t, err)
	key, _ := b.OfKind(attest.KindGuest)[0].Item(guest.ItemKey)
	require.Equal(t, control.Opened(sealer.ID(), box), receipt.Digest)
	require.True(t, guest.VerifyAnswer([32]byte(key), sealer.ID(), receipt.Digest, receipt.Signature))

	require.NoError(t, host.Off(t.Context()))
	require.ErrorIs(t, <-ended, control.ErrOff)
}

// The guest names what it lacks, and forgets old keys.
func TestRefusals(t *testing.T) {
	host, ended := serve(t, t.TempDir()+"/no-tpm", nothing)
	_, err := host.Keys(t.Context())
	require.ErrorIs(t, err, control.ErrRefused)
	require.ErrorContains(t, err, "there is no TPM 2.0")
	of := seal.Subject{Lease: [32]byte{1}}
	x := attest.Challenge{NodeKey: [32]byte{1}}
	b, findings, err := host.Evidence(t.Context(), x, of)
	require.NoError(t, err)
	require.Empty(t, b.OfKind(attest.KindTPM))
	require.NotEmpty(t, findings)
	old, err := seal.Read(b.OfKind(attest.KindSeal)[0], of)
	require.NoError(t, err)
	box, err := old.Seal(nil)
	require.NoError(t, err)
	_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: [32]byte{1}, Sealed: box})
	require.ErrorContains(t, err, machine.ErrNoKey.Error())
	for range 4 {
		_, _, err = host.Evidence(t.Context(), x, of)
		require.NoError(t, err)
	}
	_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: old.ID(), Sealed: box})
	require.ErrorContains(t, err, machine.ErrNoKey.Error())

	require.NoError(t, host.Close())
	err = <-ended
	require.Error(t, err, "the guest ends with the session")
	require.NotErrorIs(t, err, control.ErrOff)
}
