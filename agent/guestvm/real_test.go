package guestvm

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/attest/tpm"
	"github.com/gantry-market/gantry/attest/tpm/swtpm"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/guestfiles"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
)

// none is a runtime that has no jobs.
type none struct{ runtime.Runtime }

func (none) Status(context.Context, string) (runtime.Status, error) {
	return runtime.Status{}, runtime.ErrNotFound
}

// bootFor is how long a guest on an emulated processor may take.
const bootFor = 30 * time.Minute

// built are the settings of an agent that starts the image of these sources on an emulated processor, and what the image shows.
func built(t *testing.T, commandLine string) (Settings, image.Expected) {
	t.Helper()
	files, e := guestfiles.Build(t, commandLine)
	return Settings{Image: files.Image, Firmware: files.Firmware, Accelerator: TCG}, e
}

// customer is that of a lease, with the key of the node that signs what the guest has collected.
type customer struct {
	t       *testing.T
	r       *Runtime
	node    ed25519.PrivateKey
	lease   string
	subject seal.Subject
}

func random() (out [32]byte) {
	_, _ = rand.Read(out[:]) // never fails
	return out
}

// guest waits until the lease's guest answers.
func (c *customer) guest(share Share) *control.Client {
	ctx, cancel := context.WithTimeout(c.t.Context(), bootFor)
	defer cancel()
	for {
		g, err := c.r.Of(c.lease, share)
		if err == nil {
			return g
		}
		require.ErrorIs(c.t, err, ErrBoots)
		require.NoError(c.t, wait.For(ctx, 200*time.Millisecond))
	}
}

// proved has the guest prove itself under a policy with an image's part. The error is that of the first check that failed.
func (c *customer) proved(g *control.Client, maker *swtpm.CA, e image.Expected) (*seal.Sealer, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), bootFor)
	defer cancel()
	issuer, err := maker.Issuer()
	require.NoError(c.t, err)
	sum := sha256.Sum256(issuer.Raw)
	name := hex.EncodeToString(sum[:])
	roots := roots{policy.RootKey(name): issuer.Raw}
	p := policy.Default()
	p.Roots.TPM, p.WindowSecs = []string{name}, int64(2*bootFor/time.Second)
	trust, why, err := policy.TPMTrust(p, roots)
	require.NoError(c.t, err)
	require.Empty(c.t, why)
	keys, err := g.Keys(ctx)
	require.NoError(c.t, err)
	x := attest.Challenge{
		GenesisHash: [32]byte{1}, Program: [32]byte{2}, ID: attest.LeaseID(c.subject.Lease, random()), Node: [32]byte{3},
		NodeKey: [32]byte(c.node.Public().(ed25519.PublicKey)), SlotHash: [32]byte{4}, Expiry: time.Now().Add(bootFor).Unix(),
	}
	of := tpm.Subject{GenesisHash: x.GenesisHash, Program: x.Program, Node: x.NodeKey}
	enroller := tpm.NewEnroller(tpm.EnrolOptions{Trust: trust, TTL: bootFor})
	question, err := enroller.Challenge(of, keys, time.Now())
	require.NoError(c.t, err)
	secret, err := g.Activate(ctx, question.Credential)
	require.NoError(c.t, err)
	seen, err := enroller.Finish(of, question.ID, secret, time.Now())
	require.NoError(c.t, err)
	b, _, err := g.Evidence(ctx, x, c.subject)
	require.NoError(c.t, err)
	b.Created = time.Now().Unix()
	require.NoError(c.t, b.Sign(c.node))
	claims, _, err := policy.Judge(b, e.Policy.Apply(p), policy.Subject{Challenge: x, Enrolled: func(ak tpm.Name) (tpm.Enrolment, bool) {
		return seen, seen.AK == ak
	}}, time.Now(), roots)
	if err != nil {
		return nil, err
	}
	require.Equal(c.t, policy.Sound, claims.Verdict)
	return seal.Read(b.OfKind(attest.KindSeal)[0], c.subject)
}

// roots are certificates by their key in policies.
type roots map[string][]byte

func (r roots) Get(key string) ([]byte, error) {
	if data, ok := r[key]; ok {
		return data, nil
	}
	return nil, attest.ErrNoCollateral
}

// job is an image in a registry of this process, as the guest reaches it.
func job(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "probe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../guest/container/testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	registry := imagetest.Start(t, nil)
	_, ref := registry.Push(t, "job", imagetest.Image(t, "amd64", v1.Config{Entrypoint: []string{"/probe"}}, imagetest.Layer(t, imagetest.File("probe", string(data)))))
	_, rest, ok := strings.Cut(ref, ":")
	require.True(t, ok, ref)
	return inside.Gateway + ":" + rest
}

// endAtLast ends the guest of a test that fails.
func endAtLast(t *testing.T, r *Runtime, lease string) {
	t.Cleanup(func() {
		if err := (&remote{lease: lease, dir: r.dir(lease)}).stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// An agent's runtime boots the genuine image with QEMU and a TPM of its own. The guest proves itself to a customer and runs its job, while
// one agent follows the other. The last has the sealed records. Neither its folder nor its log has the job's words.
func TestARealGuest(t *testing.T) {
	long.Test(t, "it boots a machine on an emulated processor")
	settings, e := built(t, "")
	var log strings.Builder
	folder := t.TempDir()
	agent := func() *Runtime {
		r, err := New(none{}, Options{Settings: settings, Folder: folder, Log: zerolog.New(&log)})
		require.NoError(t, err)
		t.Cleanup(r.Close)
		return r
	}
	r := agent()
	endAtLast(t, r, "lease")
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	c := &customer{t: t, r: r, node: node, lease: "lease", subject: seal.Subject{Lease: random()}}
	const secret = "rosebud-4711"
	d := messages.DeployRequest{Version: messages.Version, Lease: c.subject.Lease, Job: messages.JobSpec{
		Version: messages.Version, Image: job(t), Command: []string{"words of the job"}, Env: map[string]string{"SECRET": secret}, Salt: []byte("salt"),
		Network: messages.NetworkInternet,
	}}
	c.subject.Job, err = d.Job.Digest()
	require.NoError(t, err)

	share := Share{CPUs: 1, MemoryMiB: 1024 + overheadMiB}
	began := time.Now()
	g := c.guest(share)
	t.Logf("the guest has answered after %s", time.Since(began).Round(time.Second))
	st, err := r.Status(t.Context(), c.lease)
	require.NoError(t, err)
	require.Equal(t, runtime.Preparing, st.Phase)
	maker, err := swtpm.NewCA(filepath.Join(folder, makerFolder))
	require.NoError(t, err)
	sealer, err := c.proved(g, maker, e)
	require.NoError(t, err)
	plain, err := cbor.Marshal(d)
	require.NoError(t, err)
	box, reader, err := sealer.Converse(plain)
	require.NoError(t, err)
	r = agent() // the one before was killed
	require.NoError(t, r.Bring(c.lease, sealer.ID(), box))
	spec := runtime.Spec{LeaseID: c.lease, Guest: true}
	_, err = r.Start(t.Context(), spec)
	require.NoError(t, err)
	_, err = r.Start(t.Context(), spec)
	require.ErrorIs(t, err, runtime.ErrExists)
	_, err = r.Of(c.lease, share)
	require.ErrorIs(t, err, ErrHasJob)
	p := processesOf(t, r.guestOf(c.lease))

	r = agent()
	stream, err := r.Logs(t.Context(), c.lease, runtime.Output, 0, true)
	require.NoError(t, err)
	kept, err := io.ReadAll(stream)
	require.NoError(t, err)
	var frames control.Frames
	records, err := frames.Add(kept)
	require.NoError(t, err)
	output := ""
	end, err := control.Follow(t.Context(), func(context.Context, uint64) (control.OutputAnswer, error) {
		return control.OutputAnswer{Records: records, Over: true}, nil
	}, reader, func(said control.Record) error {
		output += string(said.Output)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, control.End{Code: 7}, end, output)
	require.Contains(t, output, "SECRET="+secret)
	st, err = r.Status(t.Context(), c.lease)
	require.NoError(t, err)
	require.Equal(t, runtime.Exited, st.Phase)
	require.Equal(t, ReasonSealed, st.Exit.Reason)
	nothingLeft(t, p)

	for _, text := range []string{secret, "words of the job", "a word on the other output"} {
		require.NotContains(t, log.String(), text)
		read := 0
		require.NoError(t, filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			require.NotContains(t, string(data), text, path)
			read++
			return err
		}))
		require.Positive(t, read)
	}
	require.NoError(t, r.Remove(t.Context(), c.lease))
	_, err = r.Status(t.Context(), c.lease)
	require.ErrorIs(t, err, runtime.ErrNotFound)
}

// A guest that was started with another command line shows it, and the customer seals nothing to it.
func TestARealGuestWithAnotherCommandLine(t *testing.T) {
	long.Test(t, "it boots a machine on an emulated processor")
	_, genuine := built(t, "")
	settings, _ := built(t, image.CommandLine+" debug")
	folder := t.TempDir()
	r, err := New(none{}, Options{Settings: settings, Folder: folder, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	endAtLast(t, r, "lease")
	_, node, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	c := &customer{t: t, r: r, node: node, lease: "lease", subject: seal.Subject{Lease: random(), Job: random()}}
	g := c.guest(Share{CPUs: 1, MemoryMiB: 1024 + overheadMiB})
	maker, err := swtpm.NewCA(filepath.Join(folder, makerFolder))
	require.NoError(t, err)
	_, err = c.proved(g, maker, genuine)
	require.ErrorIs(t, err, attest.ErrPolicy)
	require.ErrorContains(t, err, "PCR 4")
	require.ErrorIs(t, func() error { _, err := r.Start(t.Context(), runtime.Spec{LeaseID: c.lease, Guest: true}); return err }(), runtime.ErrSpec)
}
