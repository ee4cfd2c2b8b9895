package container

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/messages"
)

func TestMain(m *testing.M) {
	if IsStage() {
		os.Exit(Stage())
	}
	os.Exit(m.Run())
}

// prepared is a container with the probe as its image, where this process may make containers.
func prepared(t *testing.T) Spec {
	t.Helper()
	dir := t.TempDir()
	if os.Getuid() != 0 || unix.Mount("tmpfs", dir, "tmpfs", 0, "") != nil {
		t.Skip("needs root and the right to mount")
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	layer := filepath.Join(dir, "layers", "one")
	require.NoError(t, os.MkdirAll(filepath.Join(layer, "bin"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(layer, "etc"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "layers", "two", "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(layer, "etc", "passwd"), []byte("root:x:0:0::/root:/x\nworker:x:1234:1235::/data:/x\n"), 0o644))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(layer, "bin", "probe"), "./testdata/probe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	return Spec{
		Store: filepath.Join(dir, "layers"), Layers: []string{"one", "two"}, Dir: work, Resolv: "nameserver 192.0.2.1\n",
		Config: v1.Config{Entrypoint: []string{"probe"}, Cmd: []string{"of", "the", "image"}, Env: []string{"FROM=image", "BOTH=image", "GANTRY_X=image"}, WorkingDir: "/data/new"},
		Job:    messages.JobSpec{Env: map[string]string{"BOTH": "job", "SECRET": "rosebud"}},
		Env:    map[string]string{"GANTRY_MEMORY_MIB": "64"},
	}
}

// seen is what the probe says: see testdata/probe.
type seen struct {
	UID, GID, PID int
	Host, Dir     string
	Args, Env     []string
	Status        map[string]string
	Processes     int
	Interfaces    []string
	Devices       []string
	Resolv        string
	Allowed       []string
}

func probe(t *testing.T, s Spec) seen {
	t.Helper()
	var out bytes.Buffer
	code, err := Run(t.Context(), s, nil, &out)
	require.NoError(t, err, "%s", out.String())
	require.Equal(t, 7, code, "%s", out.String())
	require.Contains(t, out.String(), "a word on the other output")
	_, text, ok := strings.Cut(out.String(), "{")
	require.True(t, ok, out.String())
	var r seen
	require.NoError(t, json.NewDecoder(strings.NewReader("{"+text)).Decode(&r), out.String())
	// The guest's kernel refuses these (guest/machine), and this one may not.
	r.Allowed = slices.DeleteFunc(r.Allowed, func(deed string) bool { return deed == "user namespace" || deed == "io_uring" })
	return r
}

// A container has the image's configuration below the job's, a world of its own, and little power.
func TestAContainer(t *testing.T) {
	s := prepared(t)
	r := probe(t, s)
	require.Equal(t, []string{"probe", "of", "the", "image"}, r.Args)
	require.Equal(t, "/data/new", r.Dir)
	require.Equal(t, "gantry", r.Host)
	require.Zero(t, r.UID)
	require.Equal(t, 1, r.PID)
	require.Equal(t, 1, r.Processes, "it sees its own processes alone")
	require.Equal(t, []string{"lo"}, r.Interfaces, "its network is its own")
	require.Equal(t, s.Resolv, r.Resolv)
	for _, pair := range []string{"FROM=image", "BOTH=job", "SECRET=rosebud", "GANTRY_MEMORY_MIB=64", "HOME=/root"} {
		require.Contains(t, r.Env, pair)
	}
	require.NotContains(t, r.Env, "GANTRY_X=image")
	require.ElementsMatch(t, []string{"fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}, r.Devices)
	require.Equal(t, "1", r.Status["NoNewPrivs"])
	require.Equal(t, "00000000a00405fb", maskOf(kept))
	require.Equal(t, maskOf(kept), r.Status["CapEff"])
	require.Equal(t, maskOf(kept), r.Status["CapBnd"])
	require.ElementsMatch(t, []string{"write /tmp", "write a log"}, r.Allowed)

	t.Run("as a user of the image", func(t *testing.T) {
		s := s
		s.Job.User, s.Job.Entrypoint, s.Job.Command = "worker", "/bin/probe", []string{"of the job"}
		r := probe(t, s)
		require.Equal(t, []int{1234, 1235}, []int{r.UID, r.GID})
		require.Equal(t, []string{"/bin/probe", "of the job"}, r.Args)
		require.Contains(t, r.Env, "HOME=/data")
		require.Equal(t, "0000000000000000", r.Status["CapEff"])
		require.Equal(t, "1234\t1234\t1234\t1234", r.Status["Uid"])
	})
	t.Run("it leaves nothing in the image", func(t *testing.T) {
		require.NoFileExists(t, filepath.Join(s.Store, "one", "tmp", "file"))
		files, err := os.ReadDir(s.Dir)
		require.NoError(t, err)
		require.Empty(t, files)
	})
}

func maskOf(caps []uintptr) string {
	var mask uint64
	for _, c := range caps {
		mask |= 1 << c
	}
	const digits = "0123456789abcdef"
	out := make([]byte, 16)
	for i := range out {
		out[i] = digits[mask>>(60-4*i)&15]
	}
	return string(out)
}

// What cannot run says why, and is told from a program that has failed.
func TestAContainerThatDoesNotStart(t *testing.T) {
	s := prepared(t)
	for name, c := range map[string]struct {
		change func(*Spec)
		why    string
	}{
		"no such program":   {func(s *Spec) { s.Job.Entrypoint = "absent" }, "absent"},
		"no such user":      {func(s *Spec) { s.Job.User = "nobody-here" }, "nobody-here"},
		"no command":        {func(s *Spec) { s.Config.Entrypoint, s.Config.Cmd = nil, nil }, "no command"},
		"a layer is gone":   {func(s *Spec) { s.Layers = []string{"one", "three"} }, "mount the image"},
		"a link in a place": {func(s *Spec) { s.Layers = []string{"one", "linked"} }, "/proc: it is not a folder"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			require.NoError(t, os.MkdirAll(filepath.Join(s.Store, "linked"), 0o755))
			_ = os.Symlink("/etc", filepath.Join(s.Store, "linked", "proc")) // it is there the second time
			c.change(&s)
			_, err := Run(t.Context(), s, nil, &bytes.Buffer{})
			require.ErrorIs(t, err, ErrNotRun)
			require.ErrorContains(t, err, c.why)
		})
	}
}

// The end of the context ends the container.
func TestAContainerEndsWithItsContext(t *testing.T) {
	s := prepared(t)
	s.Job.Command = []string{"wait"}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, s, nil, runs(func(b []byte) {
		require.Contains(t, string(b), "waiting")
		cancel()
	}))
	require.ErrorIs(t, err, context.Canceled)
}

// runs is called with what is written.
type runs func([]byte)

func (f runs) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
