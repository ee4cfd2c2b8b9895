package image_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/guest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/guest/image"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/sdk/messages"
)

// The network that QEMU makes for a guest's card. Its host has the gateway's address.
const hostInGuest = "10.0.2.2"

var userNetwork = control.Network{Address: "10.0.2.15/24", Gateway: hostInGuest, DNS: "10.0.2.3"}

// user opens the registry.
var user = messages.RegistryCredential{User: "reader", Password: "open-sesame"}

// closed is a registry that wants its user's password.
func closed() http.Handler {
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != user.User || password != user.Password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// pushed is an image with the probe of guest/container in a registry of this process. The reference is the guest's.
func pushed(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "probe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../container/testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	var layers []v1.Layer
	for _, files := range []map[string][]byte{{"probe": data, "removed": nil}, {".wh.removed": nil}} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for name, data := range files {
			require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}))
			_, err = w.Write(data)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
		require.NoError(t, err)
		layers = append(layers, layer)
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	require.NoError(t, err)
	config, err := img.ConfigFile()
	require.NoError(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", "amd64"
	config.Config = v1.Config{Entrypoint: []string{"/probe"}, Env: []string{"FROM=image"}, User: "1234:1235", WorkingDir: "/data"}
	img, err = mutate.ConfigFile(img, config)
	require.NoError(t, err)
	server := httptest.NewServer(closed())
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	ref, err := name.NewTag(at.Host + "/job:latest")
	require.NoError(t, err)
	require.NoError(t, remote.Write(ref, img, remote.WithAuth(&authn.Basic{Username: user.User, Password: user.Password})))
	digest, err := img.Digest()
	require.NoError(t, err)
	return hostInGuest + ":" + at.Port() + "/job@" + digest.String()
}

// sealed is a job that the customer has sealed to a guest.
func sealed(t *testing.T, sealer *seal.Sealer, d messages.DeployRequest) ([]byte, *seal.Reader) {
	plain, err := cbor.Marshal(d)
	require.NoError(t, err)
	box, reader, err := sealer.Converse(plain)
	require.NoError(t, err)
	return box, reader
}

// A guest that has proved what it is runs the customer's container. What its host carries has neither secret nor output.
func TestTheCustomersContainer(t *testing.T) {
	long.Test(t, "it boots a machine on an emulated processor")
	l := newLab(t)
	data, e := build(t, "")
	const secret = "rosebud-4711"
	job := messages.JobSpec{
		Version: messages.Version, Image: pushed(t), Command: []string{"words of the job"}, Env: map[string]string{"SECRET": secret}, Salt: []byte("salt"),
		MemoryMiB: 128, CPUs: 1, Network: messages.NetworkInternet,
	}
	ctx, cancel := context.WithTimeout(t.Context(), bootFor)
	defer cancel()
	r, c, b := l.proved(ctx, data, e, job)
	sealer, err := seal.Read(b.OfKind(attest.KindSeal)[0], c.subject)
	require.NoError(t, err)
	d := messages.DeployRequest{Version: messages.Version, Lease: c.subject.Lease, Job: job, Registry: &user}
	deploy := func(box []byte) (control.Receipt, error) {
		return r.Deploy(ctx, control.DeployQuestion{Key: sealer.ID(), Sealed: box, Network: &userNetwork})
	}

	other := d
	other.Lease = random()
	box, _ := sealed(t, sealer, other)
	_, err = deploy(box)
	require.ErrorContains(t, err, "no job for this lease")
	other = d
	other.Job.Command = []string{"other words"}
	box, _ = sealed(t, sealer, other)
	_, err = deploy(box)
	require.ErrorContains(t, err, "not the one that the order names")
	strange, err := seal.New(c.subject)
	require.NoError(t, err)
	stranger, err := seal.Read(strange.Evidence(), c.subject)
	require.NoError(t, err)
	box, _ = sealed(t, stranger, d)
	_, err = deploy(box)
	require.ErrorContains(t, err, seal.ErrOther.Error())

	box, reader := sealed(t, sealer, d)
	receipt, err := deploy(box)
	require.NoError(t, err)
	key, ok := b.OfKind(attest.KindGuest)[0].Item(guest.ItemKey)
	require.True(t, ok)
	require.Equal(t, control.Opened(sealer.ID(), box), receipt.Digest)
	require.True(t, guest.VerifyAnswer([32]byte(key), sealer.ID(), receipt.Digest, receipt.Signature))
	_, err = deploy(box)
	require.ErrorContains(t, err, seal.ErrUsed.Error())
	again, _ := sealed(t, sealer, d)
	_, err = deploy(again)
	require.ErrorContains(t, err, "this guest has a job")

	output, end := follow(ctx, t, r, reader)
	t.Log(output)
	require.Empty(t, end.Failed)
	require.Equal(t, 7, end.Code)
	c.probed(output, secret)
	for _, text := range []string{secret, user.Password, "words of the job", "a word on the other output"} {
		require.False(t, r.wire.has(text), "the host has seen %q", text)
		console, err := os.ReadFile(r.console)
		require.NoError(t, err)
		require.NotContains(t, string(console), text)
	}
	require.True(t, r.wire.has(control.Greeting), "the wire was read")
	require.NoError(t, r.Off(ctx))
	r.end(t)
}

// proved boots a guest that proves to a customer what it is.
func (l *lab) proved(ctx context.Context, data []byte, e image.Expected, job messages.JobSpec) (*running, *customer, *bundle.Bundle) {
	r := l.boot(data, "-netdev", "user,id=n", "-device", "virtio-net-pci,netdev=n")
	c := l.customer()
	digest, err := job.Digest()
	require.NoError(l.t, err)
	c.subject.Job = digest
	c.enrol(ctx, r)
	x := c.challenge()
	b := c.ask(ctx, r, x)
	claims, err := c.judge(b, x, e)
	c.accepted(claims, err, e)
	return r, c, b
}

// A container that needs more memory than its job says ends, and the guest does not. Without a network it has none.
func TestAContainerThatNeedsTooMuch(t *testing.T) {
	long.Test(t, "it boots a machine on an emulated processor")
	l := newLab(t)
	data, e := build(t, "")
	job := messages.JobSpec{Version: messages.Version, Image: pushed(t), Command: []string{"eat", "256"}, Salt: []byte("salt"), MemoryMiB: 64}
	ctx, cancel := context.WithTimeout(t.Context(), bootFor)
	defer cancel()
	r, c, b := l.proved(ctx, data, e, job)
	sealer, err := seal.Read(b.OfKind(attest.KindSeal)[0], c.subject)
	require.NoError(t, err)
	box, reader := sealed(t, sealer, messages.DeployRequest{Version: messages.Version, Lease: c.subject.Lease, Job: job, Registry: &user})
	_, err = r.Deploy(ctx, control.DeployQuestion{Key: sealer.ID(), Sealed: box, Network: &userNetwork})
	require.NoError(t, err)
	output, end := follow(ctx, t, r, reader)
	require.Equal(t, control.End{Code: 128 + 9}, end, "killed: %s", output)
	require.Equal(t, "cards: [lo]\n", output)
	require.NoError(t, r.Off(ctx))
	r.end(t)
}

// follow reads a job's output to its end.
func follow(ctx context.Context, t *testing.T, r *running, reader *seal.Reader) (output string, end control.End) {
	end, err := control.Follow(ctx, r.Output, reader, func(said control.Record) error {
		output += string(said.Output)
		return nil
	})
	require.NoError(t, err)
	return output, end
}

// probed checks what the probe has seen: see guest/container/testdata/probe.
func (c *customer) probed(output, secret string) {
	t := c.t
	require.Contains(t, output, "a word on the other output")
	_, text, ok := strings.Cut(output, "{")
	require.True(t, ok)
	var seen struct {
		UID, GID, PID, Processes       int
		Dir, Resolv                    string
		Args, Env, Interfaces, Allowed []string
		Status                         map[string]string
	}
	require.NoError(t, json.NewDecoder(strings.NewReader("{"+text)).Decode(&seen))
	require.Equal(t, []int{1234, 1235, 1, 1}, []int{seen.UID, seen.GID, seen.PID, seen.Processes})
	require.Equal(t, []string{"/probe", "words of the job"}, seen.Args)
	require.Equal(t, "/data", seen.Dir)
	require.Contains(t, seen.Env, "SECRET="+secret)
	require.Contains(t, seen.Env, "FROM=image")
	require.Contains(t, seen.Env, "GANTRY_MEMORY_MIB=128")
	require.Len(t, seen.Interfaces, 2, "the guest's network")
	require.Equal(t, "nameserver "+userNetwork.DNS+"\n", seen.Resolv)
	require.Equal(t, "1", seen.Status["NoNewPrivs"])
	require.Equal(t, "0000000000000000", seen.Status["CapEff"])
	require.ElementsMatch(t, []string{"write /tmp", "write a log"}, seen.Allowed)
}
