package runtime

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/internal/testkit/nettest"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// another is a second machine with what the first can do.
func another(t *testing.T, p *Process) *Process {
	t.Helper()
	o := options(t.TempDir())
	o.Sandbox = p.sandbox
	o.Sandbox.Images = t.TempDir()
	other, err := NewProcess(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { stopAll(t, other) })
	return other
}

var lively = regexp.MustCompile(`live ([A-Z2-7]+) (\d+)\n`)

// lives are the word and the numbers that a job has printed so far.
func lives(t *testing.T, p *Process, lease string) (words map[string]bool, numbers []int) {
	t.Helper()
	words = map[string]bool{}
	for _, m := range lively.FindAllStringSubmatch(printed(t, p, lease), -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		words[m[1]], numbers = true, append(numbers, n)
	}
	return words, numbers
}

// suspend asks until it is done.
func suspend(t *testing.T, p *Process, lease, attempt string) Suspension {
	t.Helper()
	var made Suspension
	require.Eventually(t, func() bool {
		var err error
		made, err = p.Suspend(background(t), lease, attempt)
		require.NoError(t, err)
		return made.Hash != "" || made.Error != ""
	}, 2*time.Minute, 20*time.Millisecond)
	return made
}

// goingOn is the job of a lease that goes on from a snapshot.
func goingOn(t *testing.T, from Spec, lease, hash string) Spec {
	t.Helper()
	b := *from.Backup
	b.From = hashOf(t, hash)
	from.LeaseID, from.VolumeKey, from.Backup = lease, drawKey(t), &b
	return from
}

func prepared(t *testing.T, p *Process, spec Spec) {
	t.Helper()
	require.NoError(t, p.Prepare(background(t), spec, Pull{}))
	require.NoError(t, p.Fill(background(t), spec))
	st, err := p.Status(background(t), spec.LeaseID)
	require.NoError(t, err)
	require.Equal(t, Preparing, st.Phase)
}

// alive is a job that counts, on a machine, in the bucket of its customer.
func alive(t *testing.T, p *Process, reference string, s *s3test.Server, before ...string) Spec {
	t.Helper()
	spec := withVolume(t, "first", reference, 32, append(before, "hold=24", "live=/mnt/data,/home/ml")...)
	spec.Limits.MemoryMiB = 512
	b := s.Backup(backupKey())
	spec.Backup = &b
	_, err := p.Start(background(t), spec)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, n := lives(t, p, "first"); return len(n) > 5 }, time.Minute, 20*time.Millisecond, lazy(func() []string { return []string{printed(t, p, "first")} }))
	return spec
}

// A container is suspended on one machine and goes on on another: its processes count on, its files are there and those that
// it had removed are not. Nothing runs before the lease does, also when the agent is killed meanwhile. Nothing is left, and
// nothing of its memory was ever readable.
func TestAContainerIsSuspendedAndGoesOn(t *testing.T) {
	p, _ := withVolumes(t)
	t.Parallel()
	s := s3test.Start(t, nil)
	old := imagetest.Entry{Header: imagetest.File("home/ml/old", "of the image").Header, Content: "of the image"}
	old.Header.Uid, old.Header.Gid = 1000, 1000
	reference := jobImage(t, old)
	spec := alive(t, p, reference, s, "remove=/home/ml/old", "put=/home/ml/kept,x", "list=/home/ml")
	require.Contains(t, printed(t, p, "first"), "removed /home/ml/old <nil>")
	made := suspend(t, p, "first", "one")
	require.Empty(t, made.Error)
	st, err := p.Wait(background(t), "first")
	require.NoError(t, err)
	require.Equal(t, ReasonSuspended, st.Exit.Reason)
	require.Equal(t, made.Hash, st.Snapshot.Hash, "what goes on chain")
	require.Equal(t, made, suspend(t, p, "first", "another"), "it is done")
	words, before := lives(t, p, "first")
	require.Len(t, words, 1)
	nothingAttached(t, p)
	d, err := p.dir("first")
	require.NoError(t, err)
	require.NoFileExists(t, d.stateFile())
	require.NoFileExists(t, d.volumeFile())

	other := another(t, p)
	next := goingOn(t, spec, "second", made.Hash)
	prepared(t, other, next)
	d, err = other.dir("second")
	require.NoError(t, err)
	require.NoFileExists(t, d.stateFile(), "the container has its memory")
	_, held := lives(t, other, "second")
	agent, err := NewProcess(t.Context(), ProcessOptions{Root: other.root, Cluster: options("").Cluster, Sandbox: other.sandbox})
	require.NoError(t, err)
	keyless := next
	keyless.VolumeKey, keyless.Backup = nil, nil
	require.NoError(t, agent.Fill(background(t), keyless))
	time.Sleep(300 * time.Millisecond)
	_, still := lives(t, agent, "second")
	require.Equal(t, held, still, "it is frozen")
	st, err = agent.Start(background(t), keyless)
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase)
	require.Eventually(t, func() bool { _, n := lives(t, agent, "second"); return len(n) > len(held)+5 }, time.Minute, 20*time.Millisecond, lazy(func() []string { return []string{printed(t, agent, "second")} }))
	again, after := lives(t, agent, "second")
	require.Equal(t, words, again, "its memory is what it was")
	require.LessOrEqual(t, after[0], before[len(before)-1]+2, "it has lost nothing")
	require.Greater(t, after[0], before[len(before)-1]-2, "and did not begin anew")
	for i := range after[1:] {
		require.Equal(t, after[i]+1, after[i+1])
	}

	once := suspend(t, agent, "second", "two")
	require.Empty(t, once.Error)
	_, err = agent.Wait(background(t), "second")
	require.NoError(t, err)
	var word []byte
	for w := range words {
		word = []byte(w)
	}
	for _, stream := range []Stream{Stdout, Stderr, Output} {
		for _, dir := range []leaseDir{d, leaseDir(filepath.Join(p.root, "first"))} {
			require.NoError(t, os.RemoveAll(dir.log(stream))) // there the job has written it itself
		}
	}
	require.Empty(t, plaintext(t, [][]byte{word}, p.root, other.root))
	nothingAttached(t, other)
	saved := find(t, spec, once.Hash)
	files := t.TempDir()
	root, err := os.OpenRoot(files)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, saved.Restore(t.Context(), snapshot.PartFiles, root))
	require.FileExists(t, filepath.Join(files, "home/ml/kept"))
	info, err := os.Lstat(filepath.Join(files, "home/ml/old"))
	require.NoError(t, err)
	require.Equal(t, os.ModeDevice|os.ModeCharDevice, info.Mode().Type(), "it stays removed")
}

func find(t *testing.T, spec Spec, hash string) *snapshot.Saved {
	t.Helper()
	bucket, err := snapshot.Open(*spec.Backup, nil)
	require.NoError(t, err)
	saved, err := bucket.Find(t.Context(), hashOf(t, hash))
	require.NoError(t, err)
	return saved
}

// A bucket that fails, and a machine or job that cannot be suspended, leave the container as it was; it is suspended later.
func TestSuspendingThatFails(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	var broken atomic.Bool
	s := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if broken.Load() && strings.Contains(r.URL.Path, "/chunks/") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	alive(t, p, reference, s)
	d, err := p.dir("first")
	require.NoError(t, err)
	var c container
	_, err = readJSON(d.container(), &c)
	require.NoError(t, err)
	st, err := p.Status(background(t), "first")
	require.NoError(t, err)
	c.GPUs, st.Spec.GPUMask = gpus.Driver{Version: "570.1"}, 1
	kept := leaseDir(t.TempDir())
	require.NoError(t, kept.write(kept.container(), c))
	require.ErrorContains(t, maySuspend(kept, st.Spec), "it has GPUs")

	broken.Store(true)
	made := suspend(t, p, "first", "one")
	require.Contains(t, made.Error, "the bucket cannot be used")
	_, before := lives(t, p, "first")
	require.Eventually(t, func() bool { _, n := lives(t, p, "first"); return len(n) > len(before)+3 }, time.Minute, 20*time.Millisecond, "it runs on")
	require.NoFileExists(t, d.stateFile())
	broken.Store(false)
	made = suspend(t, p, "first", "two")
	require.Empty(t, made.Error)

	plain := withVolume(t, "plain", reference, 32, "live=/mnt/data")
	_, err = p.Start(background(t), plain)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, n := lives(t, p, "plain"); return len(n) > 0 }, time.Minute, 20*time.Millisecond, "the sandbox has mounted the volume")
	require.Contains(t, suspend(t, p, "plain", "one").Error, "has no bucket", "though it has a volume")
	without := Spec{LeaseID: "without", Image: reference, Command: []string{"wait"}}
	_, err = p.Start(background(t), without)
	require.NoError(t, err)
	_, err = p.Suspend(background(t), "without", "one")
	require.ErrorIs(t, err, ErrSuspend)
	_, err = p.Suspend(background(t), "nobody", "one")
	require.ErrorIs(t, err, ErrNotFound)
	stopAll(t, p)
	_, err = p.Suspend(background(t), "plain", "two")
	require.ErrorIs(t, err, ErrNotRunning)
	nothingAttached(t, p)
}

// A job that is stopped while it is suspended ends as asked, and its volume is kept.
func TestSuspendingIsGivenUp(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	asked := make(chan struct{}, 1)
	var silent atomic.Bool
	s := s3test.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if silent.CompareAndSwap(true, false) {
				_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client has gone
				asked <- struct{}{}
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	alive(t, p, reference, s)
	silent.Store(true)
	made, err := p.Suspend(background(t), "first", "one")
	require.NoError(t, err)
	require.Empty(t, made.Hash+made.Error)
	<-asked
	st, err := p.Stop(background(t), "first", 0)
	require.NoError(t, err)
	require.Equal(t, ReasonStopped, st.Exit.Reason)
	require.NotEmpty(t, st.Suspension.Error)
	require.NotEmpty(t, st.Snapshot.Hash)
	require.Empty(t, st.Snapshot.Error)
	nothingAttached(t, p)
}

// What cannot go on is found before the lease starts, nothing is left of it, and it may be tried again. The state may be a
// stranger's: it gets neither more memory nor more disk than its lease has.
func TestContainersThatCannotGoOn(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	s := s3test.Start(t, nil)
	b := s.Backup(backupKey())
	spec := withVolume(t, "l", reference, 32, "live=/mnt/data")
	spec.Limits.MemoryMiB = 64
	spec.Backup = &b
	version, err := RunscVersion(p.sandbox.Runsc)
	require.NoError(t, err)
	require.NotEmpty(t, version)
	own := snapshot.Container{Image: reference, Command: spec.Command, Volume: *spec.Volume, Runsc: version}
	save := func(change func(*snapshot.Container), files map[string][]byte) string {
		c := own
		change(&c)
		bucket, err := snapshot.Open(b, nil)
		require.NoError(t, err)
		var parts []snapshot.Part
		for _, name := range []string{snapshot.PartState, snapshot.PartFiles, snapshot.PartVolume} {
			dir := t.TempDir()
			for path, content := range files {
				if in, file, _ := strings.Cut(path, "/"); in == name {
					require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
				}
			}
			root, err := os.OpenRoot(dir)
			require.NoError(t, err)
			defer root.Close()
			parts = append(parts, snapshot.Part{Name: name, Root: root, Most: 1 << 40})
		}
		hash, err := bucket.SaveContainer(t.Context(), c, parts...)
		require.NoError(t, err)
		return hash.String()
	}
	none := func(*snapshot.Container) {}
	for want, hash := range map[string]string{
		"suspended by runsc old":         save(func(c *snapshot.Container) { c.Runsc = "old" }, nil),
		"suspended with the image":       save(func(c *snapshot.Container) { c.Image = strings.Replace(c.Image, "sha256:", "sha256:0", 1) }, nil),
		"another command":                save(func(c *snapshot.Container) { c.Command = []string{"who"} }, nil),
		"path of the volume":             save(func(c *snapshot.Container) { c.Volume.Path = "/elsewhere" }, nil),
		"more than the 64 MiB of memory": save(none, map[string][]byte{"state/pages.img": make([]byte, 65<<20)}),
		"runsc: ":                        save(none, map[string][]byte{"state/checkpoint.img": []byte("no state")}),
		"opening state file":             save(none, nil),
		"no space left on device":        save(none, map[string][]byte{"files/x": noise(t, 80<<20)}),
		"restore \"x\"":                  save(none, map[string][]byte{"volume/x": noise(t, 40<<20)}),
		"damaged, or of another key":     "damaged",
	} {
		if hash == "damaged" {
			hash = save(none, map[string][]byte{"state/checkpoint.img": []byte("other")})
			for name, content := range s.Objects(t) {
				if strings.HasSuffix(name, hash) {
					content[len(content)/2] ^= 1
					s.Put(t, name, content)
				}
			}
		}
		next := goingOn(t, spec, "l", hash)
		require.NoError(t, p.Prepare(background(t), next, Pull{}))
		err := p.Fill(background(t), next)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, ErrState, want)
		_, err = p.Status(background(t), "l")
		require.ErrorIs(t, err, ErrNotFound)
		nothingAttached(t, p)
		d, err := p.dir("l")
		require.NoError(t, err)
		require.NoFileExists(t, d.volumeFile())
		require.NoFileExists(t, d.stateFile())
	}
	next := goingOn(t, spec, "l", strings.Repeat("00", 31)+"01")
	err = p.Fill(background(t), next)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrState, "a bucket may be mended")
}

func noise(t *testing.T, n int) []byte {
	t.Helper()
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i*i>>8) | 1
	}
	return out
}

// Supervisors that are killed while they restore, or hold what they have restored, leave nothing, and the next tries again.
// A lease that never starts leaves nothing either.
func TestPreparedJobsThatNeverRun(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	s := s3test.Start(t, nil)
	spec := alive(t, p, reference, s)
	made := suspend(t, p, "first", "one")
	require.Empty(t, made.Error)
	next := goingOn(t, spec, "second", made.Hash)
	slow := s3test.Stall(t)
	stalled := next
	stalled.Backup = &messages.Backup{}
	*stalled.Backup = *next.Backup
	stalled.Backup.Endpoint = slow.URL
	ctx, cancel := context.WithCancel(t.Context())
	filled := make(chan error, 1)
	require.NoError(t, p.Prepare(background(t), stalled, Pull{}))
	go func() { filled <- p.Fill(ctx, stalled) }()
	<-slow.Asked
	cancel()
	require.ErrorIs(t, <-filled, context.Canceled)
	kill := func() {
		d, err := p.dir("second")
		require.NoError(t, err)
		var r runRecord
		_, err = readJSON(d.run(), &r)
		require.NoError(t, err)
		require.NoError(t, r.Supervisor.Signal(syscall.SIGKILL))
		require.Eventually(t, func() bool { return !Locked(d.lock()) }, time.Minute, 10*time.Millisecond)
		st, err := p.Status(background(t), "second")
		require.NoError(t, err)
		require.Equal(t, Created, st.Phase, "nothing of it ran")
	}
	kill()
	prepared(t, p, next)
	kill()
	prepared(t, p, next)
	st, err := p.Start(background(t), next)
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase)
	require.Eventually(t, func() bool { _, n := lives(t, p, "second"); return len(n) > 5 }, time.Minute, 20*time.Millisecond)
	stopAll(t, p)

	third := goingOn(t, spec, "third", made.Hash)
	prepared(t, p, third)
	_, err = p.Stop(background(t), "third", 0)
	require.NoError(t, err)
	_, err = p.Status(background(t), "third")
	require.ErrorIs(t, err, ErrNotFound)
	prepared(t, p, third)
	removeJob(t, p, "third")
	nothingAttached(t, p)
	require.NoDirExists(t, filepath.Join(p.root, "third"))
}

// A container that goes on has the network of its new lease: another address where its own is taken, and the same internet.
func TestAContainerGoesOnWithItsLeasesNetwork(t *testing.T) {
	if !nettest.Enter(t) {
		return
	}
	nettest.Internet(t, nettest.Web)
	p, reference := withVolumes(t)
	p = restarted(t, p, network.Options{})
	s := s3test.Start(t, nil)
	spec := withVolume(t, "first", reference, 32, "look="+nettest.Web+":80", "live=/mnt/data")
	spec.Network = NetworkInternet
	b := s.Backup(backupKey())
	spec.Backup = &b
	_, err := p.Start(background(t), spec)
	require.NoError(t, err)
	looked := regexp.MustCompile(`looked \[.*?(198\.19\.\d+\.\d+).*\] <nil> you are`)
	address := func(lease string) (found string) {
		require.Eventually(t, func() bool {
			m := looked.FindAllStringSubmatch(printed(t, p, lease), -1)
			if len(m) > 0 {
				found = m[len(m)-1][1]
			}
			return len(m) > 0
		}, 2*time.Minute, 50*time.Millisecond, lazy(func() []string { return []string{printed(t, p, lease)} }))
		return found
	}
	before := address("first")
	made := suspend(t, p, "first", "one")
	require.Empty(t, made.Error)
	other := waiting(t, p, "other", reference, "addresses")
	require.Equal(t, before, ownAddress.FindString(other), "another lease has the address now")
	next := goingOn(t, spec, "second", made.Hash)
	prepared(t, p, next)
	st, err := p.Start(background(t), next)
	require.NoError(t, err)
	require.Equal(t, Running, st.Phase)
	require.Eventually(t, func() bool { a := address("second"); return a != before }, time.Minute, 100*time.Millisecond)
	stopAll(t, p)
	requireNothingLeft(t)
}

// The volume alone is restored before the lease starts too.
func TestVolumesAreFilledBeforeTheStart(t *testing.T) {
	p, reference := withVolumes(t)
	t.Parallel()
	s := s3test.Start(t, nil)
	spec := withVolume(t, "first", reference, 32, "put=/mnt/data/x,kept ", "exit")
	b := s.Backup(backupKey())
	spec.Backup = &b
	st, _ := ran(t, p, spec)
	next := goingOn(t, spec, "second", st.Snapshot.Hash)
	next.Command = []string{"get=/mnt/data/x", "exit"}
	prepared(t, p, next)
	require.Empty(t, printed(t, p, "second"), "the job does not run")
	st, out := ran(t, p, next)
	require.Equal(t, 9, st.Exit.Code, out)
	require.Contains(t, out, `got /mnt/data/x "kept kept " <nil>`)
	nothingAttached(t, p)
}
