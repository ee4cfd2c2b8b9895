package machine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/seal"
	"github.com/gantry-market/gantry/guest/machine"
	"github.com/gantry-market/gantry/sdk/messages"
)

// nothing is a runner of jobs that end at once.
func nothing(context.Context, messages.DeployRequest, *control.Network, func(string) error, io.Writer) (int, error) {
	return 0, nil
}

// newJob is a job, with a change.
func newJob(change func(*messages.DeployRequest)) messages.DeployRequest {
	d := messages.DeployRequest{Version: messages.Version, Lease: [32]byte{1}, Job: messages.JobSpec{
		Version: messages.Version, Image: "registry.test/job@sha256:" + strings.Repeat("0", 64), Command: []string{"work"},
		Env: map[string]string{"SECRET": "rosebud"}, Salt: bytes.Repeat([]byte{7}, messages.SaltBytes),
	}}
	if change != nil {
		change(&d)
	}
	return d
}

func subject(t *testing.T, d messages.DeployRequest) seal.Subject {
	digest, err := d.Job.Digest()
	require.NoError(t, err)
	return seal.Subject{Lease: d.Lease, Job: digest}
}

func encode(t *testing.T, d messages.DeployRequest) []byte {
	data, err := cbor.Marshal(d)
	require.NoError(t, err)
	return data
}

// sealerOf asks a guest for a key.
func sealerOf(t *testing.T, host *control.Client, of seal.Subject) *seal.Sealer {
	b, _, err := host.Evidence(t.Context(), attest.Challenge{NodeKey: [32]byte{1}}, of)
	require.NoError(t, err)
	s, err := seal.Read(b.OfKind(attest.KindSeal)[0], of)
	require.NoError(t, err)
	return s
}

// follow reads a job's output to its end, as its customer. The host's view is what the guest has sent.
func follow(t *testing.T, host *control.Client, reader *seal.Reader) (phases []string, output []byte, end control.End, view []byte) {
	end, err := control.Follow(t.Context(), func(ctx context.Context, from uint64) (control.OutputAnswer, error) {
		a, err := host.Output(ctx, from)
		for _, sealed := range a.Records {
			view = append(view, sealed...)
		}
		return a, err
	}, reader, func(r control.Record) error {
		if r.Phase != "" {
			phases = append(phases, r.Phase)
		}
		output = append(output, r.Output...)
		return nil
	})
	require.NoError(t, err)
	return phases, output, end, view
}

// A sealed job runs once, in its lease's guest. The host carries its output, and cannot read it.
func TestASealedJob(t *testing.T) {
	d := newJob(func(d *messages.DeployRequest) { d.Registry = &messages.RegistryCredential{Token: "a token"} })
	want := bytes.Repeat([]byte("the output is rosebud. "), 1<<19) // more than waits for the host
	host, ended := serve(t, t.TempDir(), func(_ context.Context, got messages.DeployRequest, n *control.Network, phase func(string) error, w io.Writer) (int, error) {
		if got.Job.Env["SECRET"] != "rosebud" || got.Registry.Token != "a token" || n.DNS != "192.0.2.1" {
			return 0, errors.New("another job")
		}
		_, err := w.Write(want)
		return 7, errors.Join(phase(control.PhaseRun), err)
	})
	_, err := host.Output(t.Context(), 0)
	require.ErrorContains(t, err, machine.ErrNoJob.Error())
	sealer := sealerOf(t, host, subject(t, d))
	box, reader, err := sealer.Converse(encode(t, d))
	require.NoError(t, err)
	deploy := func(box []byte) error {
		_, err := host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box, Network: &control.Network{DNS: "192.0.2.1"}})
		return err
	}
	require.NoError(t, deploy(box))
	again, err := sealer.Seal(encode(t, d))
	require.NoError(t, err)
	for _, sealed := range [][]byte{box, again} {
		require.ErrorContains(t, deploy(sealed), machine.ErrHasJob.Error())
	}
	_, _, err = host.Evidence(t.Context(), attest.Challenge{}, subject(t, d))
	require.ErrorContains(t, err, machine.ErrHasJob.Error(), "a guest with a job proves nothing to the next customer")

	phases, output, end, view := follow(t, host, reader)
	require.Equal(t, []string{control.PhaseRun}, phases)
	require.Equal(t, control.End{Code: 7}, end)
	require.True(t, bytes.Equal(want, output))
	require.False(t, bytes.Contains(view, []byte("rosebud")))
	_, err = host.Output(t.Context(), 0)
	require.ErrorContains(t, err, "are gone")
	require.NoError(t, host.Off(t.Context()))
	require.ErrorIs(t, <-ended, control.ErrOff)
}

// What is sealed for another lease, or is another job, does not run. The refusal says nothing of what was sealed.
func TestJobsThatDoNotRun(t *testing.T) {
	host, _ := serve(t, t.TempDir(), nothing)
	ordered := newJob(nil)
	for name, c := range map[string]struct {
		message []byte
		of      seal.Subject
		why     error
	}{
		"another lease in the job":   {encode(t, newJob(func(d *messages.DeployRequest) { d.Lease[0]++ })), subject(t, ordered), machine.ErrNotAJob},
		"another job than ordered":   {encode(t, newJob(func(d *messages.DeployRequest) { d.Job.Command = []string{"steal"} })), subject(t, ordered), machine.ErrOtherJob},
		"another environment":        {encode(t, newJob(func(d *messages.DeployRequest) { d.Job.Env = nil })), subject(t, ordered), machine.ErrOtherJob},
		"sealed twice":               {encode(t, newJob(func(d *messages.DeployRequest) { d.Sealed = []byte{1} })), subject(t, ordered), machine.ErrNotAJob},
		"another version":            {encode(t, newJob(func(d *messages.DeployRequest) { d.Version++ })), subject(t, ordered), machine.ErrNotAJob},
		"no job":                     {[]byte("rosebud"), subject(t, ordered), machine.ErrNotAJob},
		"nothing":                    {nil, subject(t, ordered), machine.ErrNotAJob},
		"a job with a trailing byte": {append(encode(t, ordered), 0), subject(t, ordered), machine.ErrNotAJob},
	} {
		t.Run(name, func(t *testing.T) {
			sealer := sealerOf(t, host, c.of)
			box, err := sealer.Seal(c.message)
			require.NoError(t, err)
			_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box})
			require.ErrorIs(t, err, control.ErrRefused)
			require.ErrorContains(t, err, c.why.Error())
			require.NotContains(t, err.Error(), "rosebud")
		})
	}
	t.Run("sealed for another lease", func(t *testing.T) {
		of := subject(t, ordered)
		sealer := sealerOf(t, host, of)
		elsewhere, err := seal.New(seal.Subject{Lease: [32]byte{9}, Job: of.Job})
		require.NoError(t, err)
		other, err := seal.Read(elsewhere.Evidence(), elsewhere.Subject())
		require.NoError(t, err)
		box, err := other.Seal(encode(t, ordered))
		require.NoError(t, err)
		_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box})
		require.ErrorContains(t, err, seal.ErrOther.Error())
	})
}

// What the guest cannot run, and what fails, the customer hears, and the host does not.
func TestAJobThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*messages.DeployRequest)
		why    string
	}{
		"no image":  {func(d *messages.DeployRequest) { d.Job.Image = "" }, "it names no image"},
		"a volume":  {func(d *messages.DeployRequest) { d.Job.Volume = &messages.Volume{Name: "data", MiB: 64, Path: "/data"} }, "it has a volume"},
		"bad name":  {func(d *messages.DeployRequest) { d.Job.Env = map[string]string{"rosebud=": "x"} }, "rosebud="},
		"the image": {nil, "the image of rosebud"},
	} {
		t.Run(name, func(t *testing.T) {
			host, _ := serve(t, t.TempDir(), func(context.Context, messages.DeployRequest, *control.Network, func(string) error, io.Writer) (int, error) {
				return 0, errors.New("the image of rosebud is not there")
			})
			d := newJob(c.change)
			sealer := sealerOf(t, host, subject(t, d))
			box, reader, err := sealer.Converse(encode(t, d))
			require.NoError(t, err)
			_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box})
			require.NoError(t, err)
			_, _, end, view := follow(t, host, reader)
			require.Contains(t, end.Failed, c.why)
			require.False(t, bytes.Contains(view, []byte("rosebud")))
		})
	}
}

// The end of the session ends a job whose output nobody fetches.
func TestAJobEndsWithTheSession(t *testing.T) {
	d := newJob(nil)
	failed := make(chan error, 1)
	host, ended := serve(t, t.TempDir(), func(_ context.Context, _ messages.DeployRequest, _ *control.Network, _ func(string) error, w io.Writer) (int, error) {
		_, err := w.Write(make([]byte, 1<<30))
		failed <- err
		return 0, err
	})
	sealer := sealerOf(t, host, subject(t, d))
	box, err := sealer.Seal(encode(t, d))
	require.NoError(t, err)
	_, err = host.Deploy(t.Context(), control.DeployQuestion{Key: sealer.ID(), Sealed: box})
	require.NoError(t, err)
	require.NoError(t, host.Close())
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Error(t, <-ended)
}
