package runtime

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/internal/imagetest"
)

// containers is a runtime with a sandbox, and an image whose entry point is testdata/job.
func containers(t *testing.T) (*Process, string) {
	t.Helper()
	runsc, err := exec.LookPath("runsc")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: containers need root and runsc: run the tests as root after scripts/toolchain.sh sandbox")
	}
	o := options(t.TempDir())
	o.Sandbox = Sandbox{Runsc: runsc, Images: t.TempDir()}
	p, err := NewProcess(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, p) })
	return p, jobImage(t)
}

// folder is an empty one of an image.
func folder(name string) imagetest.Entry {
	return imagetest.Entry{Header: tar.Header{Name: name + "/", Mode: 0o755, Typeflag: tar.TypeDir}}
}

func jobImage(t testing.TB, more ...imagetest.Entry) string {
	t.Helper()
	home := imagetest.Entry{Header: tar.Header{Name: "home/ml/", Mode: 0o700, Uid: 1000, Gid: 1000, Typeflag: tar.TypeDir}}
	_, digested := imagetest.Serve(t, "amd64", v1.Config{
		Entrypoint: []string{"/bin/job"}, Cmd: []string{"say=of the image"}, User: "ml",
		Env: []string{"FROM=image", "LD_PRELOAD=/opt/malloc.so", "NVIDIA_VISIBLE_DEVICES=all"},
	}, imagetest.Layer(t, append(
		more, home, imagetest.File("bin/job", jobBinary(t)), imagetest.File("etc/group", "ml:x:1000:\n"),
		imagetest.File("etc/passwd", "root:x:0:0::/root:/bin/sh\nml:x:1000:1000::/home/ml:/bin/sh\n"),
	)...))
	return digested
}

// ran runs a job to its end and returns its output.
func ran(t *testing.T, p *Process, spec Spec) (Status, string) {
	t.Helper()
	_, err := p.Start(background(t), spec)
	require.NoError(t, err)
	st, err := p.Wait(background(t), spec.LeaseID)
	require.NoError(t, err)
	return st, printed(t, p, spec.LeaseID)
}

func printed(t *testing.T, p *Process, lease string) string {
	t.Helper()
	r, err := p.Logs(background(t), lease, Output, 0, false)
	require.NoError(t, err)
	defer r.Close()
	raw, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(raw)
}

func TestAContainerRunsAnImage(t *testing.T) {
	p, image := containers(t)
	st, out := ran(t, p, Spec{LeaseID: "own", Image: image})
	require.Equal(t, 0, st.Exit.Code, out)
	require.Equal(t, "of the image\n", out, "without a command the image's own runs")

	st, out = ran(t, p, Spec{
		LeaseID: "given", Image: image, GPUMask: 2, Env: map[string]string{"MINE": "yes"},
		Command: []string{"kernel", "who", "env=FROM", "env=MINE", "env=LD_PRELOAD", "env=NVIDIA_VISIBLE_DEVICES", "env=HOME", "list=/", "exit"},
	})
	require.Equal(t, 9, st.Exit.Code, out)
	require.Contains(t, out, "gvisor", "the job talks to the sandbox's kernel")
	require.Contains(t, out, "who 1 1000 1000\n")
	require.Contains(t, out, "FROM image\nMINE yes\nLD_PRELOAD /opt/malloc.so\nNVIDIA_VISIBLE_DEVICES all\nHOME /home/ml\n")
	require.NotContains(t, out, "entry usr", "nothing of the machine's files")
	removeJob(t, p, "given")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), p.root, "nothing stays mounted")
}

// The job's entry point and user are in place of the image's, as docker has it.
func TestAContainerRunsAsItsJobSays(t *testing.T) {
	p, ref := containers(t)
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"entry point":         {Spec{Entrypoint: "/opt/other", Command: []string{"who"}}, "who 1 1000 1000\n"},
		"root":                {Spec{User: "root", Command: []string{"who", "env=HOME"}}, "who 1 0 0\nHOME /root\n"},
		"numbers":             {Spec{User: "1234:100", Command: []string{"who"}}, "who 1 1234 100\n"},
		"of the image's list": {Spec{User: "ml", Command: []string{"who"}}, "who 1 1000 1000\n"},
	} {
		if c.spec.Entrypoint != "" {
			link := imagetest.Entry{Header: tar.Header{Name: "opt/other", Linkname: "/bin/job", Typeflag: tar.TypeSymlink}}
			c.spec.Image = jobImage(t, link)
		} else {
			c.spec.Image = ref
		}
		c.spec.LeaseID = strings.NewReplacer(" ", "-", "'", "").Replace(name)
		st, out := ran(t, p, c.spec)
		require.Equal(t, 0, st.Exit.Code, out)
		require.Equal(t, c.want, out, name)
	}
	_, out := ran(t, p, Spec{LeaseID: "alone", Image: ref, Entrypoint: "/bin/job"})
	require.Empty(t, out, "the image's command is the image's entry point's")
	st, _ := ran(t, p, Spec{LeaseID: "nobody", Image: ref, User: "nobody"})
	require.Equal(t, ReasonStartFailed, st.Exit.Reason)
	require.Contains(t, st.Exit.Message, `the user "nobody" cannot run the job: it is not in the image's /etc/passwd; write its number`)
}

func TestAContainerEndsAsAsked(t *testing.T) {
	p, image := containers(t)
	_, err := p.Start(background(t), Spec{LeaseID: "l", Image: image, Command: []string{"wait"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(printed(t, p, "l"), "waiting") }, time.Minute, 20*time.Millisecond)
	st, err := p.Stop(background(t), "l", 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, ReasonStopped, st.Exit.Reason)
	require.Equal(t, 5, st.Exit.Code, "its first process got the signal: %s", printed(t, p, "l"))
}

func TestAContainerReachesNoNetwork(t *testing.T) {
	p, image := containers(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, out := ran(t, p, Spec{LeaseID: "l", Image: image, Command: []string{"dial=" + l.Addr().String(), "dial=169.254.169.254:80", "dial=1.1.1.1:53"}})
	require.Equal(t, 3, strings.Count(out, "dialled dial tcp"), out)
}

func TestAContainerKeepsToItsMemory(t *testing.T) {
	p, image := containers(t)
	st, out := ran(t, p, Spec{LeaseID: "memory", Image: image, Command: []string{"grow"}, Limits: Limits{MemoryMiB: 256, Wall: 2 * time.Minute}})
	require.NotContains(t, out, "grown 17 ")
	require.Equal(t, ReasonMemory, st.Exit.Reason, "%+v %s", st.Exit, out)
	require.NotZero(t, st.Exit.Code, out)
	left, err := filepath.Glob("/sys/fs/cgroup/*/" + cgroupName("memory"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A process in a container may open as many files as servers expect, and raise that to what the sandbox knows.
func TestAContainerOpensManyFiles(t *testing.T) {
	p, image := containers(t)
	st, out := ran(t, p, Spec{LeaseID: "files", Image: image, Command: []string{"files=20000"}, Limits: Limits{MemoryMiB: 1024}})
	require.Equal(t, 0, st.Exit.Code, out)
	require.Contains(t, out, " 1048576 <nil> <nil> <nil>\n")
	_, out = ran(t, p, Spec{LeaseID: "few", Image: image, Command: []string{"files=200"}, Limits: Limits{OpenFiles: 100}})
	require.Contains(t, out, "files 100 100 <nil> too many open files")
}

// Who fills what is memory in a container hears that it is full; /tmp is no memory.
func TestAFullSharedMemoryKillsNoContainer(t *testing.T) {
	p, image := containers(t)
	st, out := ran(t, p, Spec{
		LeaseID: "shm", Image: image, Limits: Limits{MemoryMiB: 256, DiskMiB: 1024, Wall: 2 * time.Minute},
		Command: []string{"fill=/dev/shm/x", "remove=/dev/shm/x", "fill=/dev/x", "fill=/tmp/x", "say=alive"},
	})
	require.Equal(t, 0, st.Exit.Code, "%+v %s", st.Exit, out)
	require.Contains(t, out, "filled write /dev/shm/x: no space left on device\n")
	require.NotContains(t, out, "filled <nil>")
	require.Contains(t, out, "filled write /tmp/x: no space left on device\n", "that of the disk, which is larger than the memory")
	require.Contains(t, out, "alive\n")
}

// lazy is made into text when it is printed.
type lazy func() []string

func (l lazy) String() string { return strings.Join(l(), "\n") }

// A supervisor that is killed takes the whole sandbox along.
func TestAContainerDiesWithItsSupervisor(t *testing.T) {
	p, image := containers(t)
	_, err := p.Start(background(t), Spec{LeaseID: "l", Image: image, Command: []string{"wait"}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(printed(t, p, "l"), "waiting") }, time.Minute, 20*time.Millisecond)
	d, err := p.dir("l")
	require.NoError(t, err)
	var r runRecord
	_, err = readJSON(d.run(), &r)
	require.NoError(t, err)
	all, err := listProcesses()
	require.NoError(t, err)
	family := descendants(all, r.Supervisor.PID)
	require.Greater(t, len(family), 1)
	require.NoError(t, r.Supervisor.Signal(syscall.SIGKILL))
	living := func() (out []string) {
		for _, m := range family {
			if s, err := readStat(m.pid); err == nil && s.start == m.start && s.state != 'Z' {
				command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.pid))
				where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stack", m.pid))
				out = append(out, fmt.Sprintf("%d, child of %d, state %c: %q at %s", m.pid, s.parent, s.state, command, where))
			}
		}
		return out
	}
	// The last of them to end unmounts the container's disk, which may wait for the machine's.
	require.Eventually(t, func() bool { return len(living()) == 0 }, 2*time.Minute, 20*time.Millisecond, "%s", lazy(living))
	require.Eventually(t, func() bool { // its threads die one after another, and the lock goes with the last
		st, err := p.Status(background(t), "l")
		return err == nil && st.Phase == Lost
	}, time.Minute, 20*time.Millisecond)
}

func TestAnImageThatCannotBePulled(t *testing.T) {
	p, reference := containers(t)
	missing := Spec{LeaseID: "l", Image: reference[:len(reference)-1] + "0", Command: []string{"exit"}}
	if missing.Image == reference {
		missing.Image = reference[:len(reference)-1] + "1"
	}
	err := p.Prepare(background(t), missing, Pull{})
	require.ErrorIs(t, err, ErrPull)
	require.ErrorContains(t, err, "not there, or not for everyone")
	_, err = p.Status(background(t), "l")
	require.ErrorIs(t, err, ErrNotFound, "nothing ran")
	removeJob(t, p, "l")
}

// Leases that run keep their layers, and those that are over do not; what a killed pull has left goes at the next start.
func TestTheCacheOfImagesKnowsTheLeases(t *testing.T) {
	p, reference := containers(t)
	_, err := p.Start(background(t), Spec{LeaseID: "l", Image: reference, Command: []string{"wait"}})
	require.NoError(t, err)
	u, ok, err := p.Images()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 1, u.Layers)
	require.Positive(t, u.Bytes)
	require.Equal(t, u.Bytes, u.InUse)

	half := filepath.Join(p.sandbox.Images, "tmp", "half")
	require.NoError(t, os.MkdirAll(half, 0o700))
	again, err := NewProcess(t.Context(), ProcessOptions{Root: p.root, Cluster: options(p.root).Cluster, Sandbox: p.sandbox})
	require.NoError(t, err)
	require.NoError(t, again.CleanImages(t.Context()))
	require.NoDirExists(t, half)
	_, err = p.Stop(background(t), "l", 0)
	require.NoError(t, err)
	u, _, err = again.Images()
	require.NoError(t, err)
	require.Equal(t, 1, u.Layers)
	require.Zero(t, u.InUse)
}

// The process that pulls is killed with its lease's preparation; another pull then finds nothing in its way.
func TestAPullThatIsKilledIsClearedAway(t *testing.T) {
	p, _ := containers(t)
	asked := make(chan struct{}, 100)
	registry := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && strings.Contains(r.URL.Path, "team/slow") {
				asked <- struct{}{}
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	slow := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "x")))
	_, digested := registry.Push(t, "team/slow", slow)
	ctx, cancel := context.WithCancel(background(t))
	done := make(chan error, 1)
	go func() {
		done <- p.Prepare(ctx, Spec{LeaseID: "slow", Image: digested, Command: []string{"/bin/job"}}, Pull{})
	}()
	<-asked
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	left := func() int {
		entries, err := os.ReadDir(filepath.Join(p.sandbox.Images, "tmp"))
		require.NoError(t, err)
		return len(entries)
	}
	require.Positive(t, left())
	_, fast := registry.Push(t, "team/fast", slow)
	require.NoError(t, p.Prepare(background(t), Spec{LeaseID: "fast", Image: fast, Command: []string{"/bin/job"}}, Pull{}))
	require.Zero(t, left())
}

// The process that pulls tells the agent how far it is.
func TestAPullIsReported(t *testing.T) {
	p, _ := containers(t)
	layers := []v1.Layer{imagetest.Layer(t, imagetest.File("bin/job", "x")), imagetest.Layer(t, imagetest.File("bin/other", "y"))}
	_, digested := imagetest.Serve(t, "amd64", v1.Config{}, layers...)
	var whole int64
	for _, l := range layers {
		size, err := l.Size()
		require.NoError(t, err)
		whole += size
	}
	var all []image.Progress
	require.NoError(t, p.Prepare(background(t), Spec{LeaseID: "l", Image: digested, Command: []string{"/bin/job"}}, Pull{Report: func(now image.Progress) { all = append(all, now) }}))
	require.GreaterOrEqual(t, len(all), 2, "the first and the last")
	require.Equal(t, image.Progress{Phase: image.Ready, Total: whole, Done: whole, Unpacked: whole, Layers: 2, LayersDone: 2}, all[len(all)-1])
}

// A credential is not among the arguments, in the environment or in any file, neither while an image is fetched nor later.
func TestCredentialsOfRegistriesAreNotShown(t *testing.T) {
	p, _ := containers(t)
	const token = "a-token-that-is-nowhere-else"
	asked, goOn := make(chan string, 100), make(chan struct{})
	registry := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v2/" && r.Header.Get("Authorization") == "":
				w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/"):
				asked <- r.Header.Get("Authorization")
				<-goOn
			}
			next.ServeHTTP(w, r)
		})
	})
	_, digested := imagetest.Registry{Host: registry.Host}.Push(t, "team/private", imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "x"))),
		remote.WithAuth(authn.FromConfig(authn.AuthConfig{RegistryToken: "push"})))
	done := make(chan error, 1)
	go func() {
		done <- p.Prepare(background(t), Spec{LeaseID: "l", Image: digested, Command: []string{"/bin/job"}}, Pull{Credential: image.Credential{Token: token}})
	}()
	require.Equal(t, "Bearer "+token, <-asked)
	look := func() {
		all, err := listProcesses()
		require.NoError(t, err)
		for _, q := range descendants(all, os.Getpid()) {
			for _, file := range []string{"cmdline", "environ"} {
				raw, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.pid), file)) // one that is gone shows nothing
				require.NotContains(t, string(raw), token)
			}
		}
		for _, root := range []string{p.root, p.sandbox.Images} {
			require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				if err != nil || !e.Type().IsRegular() {
					return err
				}
				raw, err := os.ReadFile(path)
				require.NotContains(t, string(raw), token, path)
				return err
			}))
		}
	}
	look()
	close(goOn)
	require.NoError(t, <-done)
	look()
}
