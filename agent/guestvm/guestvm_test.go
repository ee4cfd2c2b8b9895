package guestvm

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/attest/guest/control"
)

var small = Share{CPUs: 1, MemoryMiB: leastMiB + overheadMiB}

// fake has supervisors in this process, whose guest is a function. They end with the test.
func fake(t *testing.T, r *Runtime, handle control.Handler) {
	supervised(t, r, func(ctx context.Context, _ Options, _ string, _ Share) (*machine, error) {
		ours, theirs := net.Pipe()
		m := &machine{folder: t.TempDir(), network: inside, over: make(chan struct{}), detach: func() error { return nil }}
		go func() {
			_ = control.Serve(context.Background(), theirs, handle)
			close(m.over)
		}()
		var err error
		m.Client, err = control.NewClient(ctx, ours)
		return m, err
	})
}

// supervised has supervisors in this process, which boot in another way.
func supervised(t *testing.T, r *Runtime, boot bootFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	r.spawn = func(dir string, lock *os.File) error {
		fd, err := unix.FcntlInt(lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := supervise(ctx, dir, os.NewFile(uintptr(fd), "lock"), boot, zerolog.Nop()); err != nil {
				t.Error(err)
			}
		})
		return nil
	}
}

// newRuntime has settings that pass every check.
func newRuntime(t *testing.T, folder string) *Runtime {
	bin, files := t.TempDir(), t.TempDir()
	for _, name := range []string{qemu, "swtpm", "swtpm_setup", "swtpm_localca", "certtool"} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755))
	}
	t.Setenv("PATH", bin)
	s := Settings{Image: filepath.Join(files, "guest.efi"), Firmware: filepath.Join(files, "CODE.fd"), Accelerator: TCG}
	for _, path := range []string{s.Image, s.Firmware, s.vars()} {
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	r, err := New(none{}, Options{Settings: s, Folder: folder, Log: zerolog.Nop()})
	require.NoError(t, err)
	return r
}

func (none) Check(runtime.Spec) error { return runtime.ErrImage }

// answers waits for the guest of a lease.
func answers(t *testing.T, r *Runtime, lease string) {
	require.Eventually(t, func() bool {
		_, err := r.Of(lease, small)
		if !errors.Is(err, ErrBoots) {
			require.NoError(t, err)
		}
		return err == nil
	}, time.Minute, time.Millisecond)
}

// What a machine lacks is named, with what to do about it.
func TestCheck(t *testing.T) {
	r := newRuntime(t, t.TempDir())
	require.NoError(t, r.Available(small))
	good := r.o.Settings
	for name, c := range map[string]struct {
		change func(*Settings)
		why    string
	}{
		"no image":           {func(s *Settings) { s.Image = "" }, "make guest"},
		"a missing image":    {func(s *Settings) { s.Image += "x" }, "no such file"},
		"a folder":           {func(s *Settings) { s.Image = filepath.Dir(s.Image) }, "is not a file"},
		"no firmware":        {func(s *Settings) { s.Firmware += "x" }, "ovmf"},
		"no variables":       {func(s *Settings) { require.NoError(t, os.Rename(s.vars(), s.vars()+"-away")) }, "variables"},
		"not a firmware":     {func(s *Settings) { s.Firmware = s.Image }, "no CODE"},
		"an accelerator":     {func(s *Settings) { s.Accelerator = "hax" }, "hax"},
		"no QEMU":            {func(*Settings) { t.Setenv("PATH", t.TempDir()) }, "qemu-system-x86"},
		"no accelerator set": {func(s *Settings) { s.Accelerator = "" }, "accelerator"},
	} {
		t.Run(name, func(t *testing.T) {
			path := os.Getenv("PATH")
			s := good
			c.change(&s)
			err := s.Check()
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, c.why)
			require.NoError(t, os.Setenv("PATH", path))
			if _, err := os.Stat(good.vars()); err != nil {
				require.NoError(t, os.Rename(good.vars()+"-away", good.vars()))
			}
		})
	}
	require.ErrorContains(t, checkKVM(filepath.Join(t.TempDir(), "kvm")), "accelerator: tcg")
	private := filepath.Join(t.TempDir(), "kvm")
	require.NoError(t, os.WriteFile(private, nil, 0o600))
	if os.Geteuid() == 0 {
		require.ErrorContains(t, checkKVM(private), "chmod 660")
	}
	require.ErrorIs(t, r.Available(Share{CPUs: 1, MemoryMiB: 512}), ErrUnavailable)
	_, err := r.Of("lease", Share{CPUs: 1, MemoryMiB: 512})
	require.ErrorIs(t, err, ErrUnavailable)
}

// A job is given to its guest when it is started, once. Its sealed records are kept as they come, and read again after the guest's end.
func TestAJobOfAGuest(t *testing.T) {
	r := newRuntime(t, t.TempDir())
	var got []control.DeployQuestion
	fake(t, r, func(_ context.Context, q control.Question) (a control.Answer, err error) {
		switch {
		case q.Deploy != nil:
			got = append(got, *q.Deploy)
			a.Receipt = &control.Receipt{}
		case q.Output != nil && q.Output.From == 0:
			a.Output = &control.OutputAnswer{Records: [][]byte{[]byte("sealed one"), []byte("sealed two")}}
		case q.Output != nil:
			a.Output = &control.OutputAnswer{Records: [][]byte{[]byte("sealed end")}, Over: true}
		}
		return a, err
	})
	spec := runtime.Spec{LeaseID: "lease", Guest: true}
	require.NoError(t, r.Check(spec))
	require.ErrorIs(t, r.Check(runtime.Spec{LeaseID: "other"}), runtime.ErrImage, "jobs without a guest are the other runtime's")
	require.ErrorIs(t, r.Bring("lease", [32]byte{1}, []byte("x")), ErrNoGuest)
	_, err := r.Start(t.Context(), spec)
	require.ErrorIs(t, err, runtime.ErrSpec)
	answers(t, r, "lease")
	_, err = r.Start(t.Context(), spec)
	require.ErrorIs(t, err, runtime.ErrSpec, "nothing was brought")
	require.NoError(t, r.Bring("lease", [32]byte{1}, []byte("first")))
	require.NoError(t, r.Bring("lease", [32]byte{2}, []byte("again")))
	require.Empty(t, got, "before its start the guest gets nothing")
	_, err = r.Start(t.Context(), spec)
	require.NoError(t, err)
	require.ErrorIs(t, r.Bring("lease", [32]byte{3}, []byte("late")), ErrHasJob)
	require.ErrorIs(t, r.Remove(t.Context(), "none"), runtime.ErrNotFound)
	_, err = r.Logs(t.Context(), "lease", runtime.Stderr, 0, false)
	require.ErrorIs(t, err, runtime.ErrNotFound)
	require.NotContains(t, err.Error(), "%!w")
	stream, err := r.Logs(t.Context(), "lease", runtime.Output, 0, true)
	require.NoError(t, err)
	kept, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, control.DeployQuestion{Key: [32]byte{2}, Sealed: []byte("again"), Network: &inside}, got[0])
	var frames control.Frames
	var records [][]byte
	for _, b := range kept { // in the smallest pieces
		more, err := frames.Add([]byte{b})
		require.NoError(t, err)
		records = append(records, more...)
	}
	require.Equal(t, [][]byte{[]byte("sealed one"), []byte("sealed two"), []byte("sealed end")}, records)
	st, err := r.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, runtime.Exited, st.Phase)
	require.Equal(t, ReasonSealed, st.Exit.Reason)
	require.Equal(t, int64(len(kept)), st.StdoutBytes)
	require.ErrorIs(t, r.Extend(t.Context(), "lease", time.Minute), runtime.ErrOver)

	next := newRuntime(t, r.o.Folder)
	again, err := next.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, ReasonSealed, again.Exit.Reason)
	stream, err = next.Logs(t.Context(), "lease", runtime.Output, int64(len(control.SealedOutput)), false)
	require.NoError(t, err)
	rest, err := io.ReadAll(stream)
	require.NoError(t, err)
	require.Equal(t, kept[len(control.SealedOutput):], rest)
	require.NoError(t, next.Remove(t.Context(), "lease"))
	require.NoDirExists(t, next.dir("lease"))
}

// running has a job in a guest that never ends it.
func running(t *testing.T) (r *Runtime, off func()) {
	r = newRuntime(t, t.TempDir())
	end := make(chan struct{})
	t.Cleanup(r.Close)
	fake(t, r, func(ctx context.Context, q control.Question) (a control.Answer, err error) {
		if q.Deploy != nil {
			return control.Answer{Receipt: &control.Receipt{}}, nil
		}
		select {
		case <-ctx.Done():
		case <-end:
		}
		return a, errors.New("over")
	})
	answers(t, r, "lease")
	require.NoError(t, r.Bring("lease", [32]byte{}, []byte("x")))
	_, err := r.Start(t.Context(), runtime.Spec{LeaseID: "lease", Guest: true})
	require.NoError(t, err)
	return r, func() { close(end) }
}

// A guest may end too early: its customer stops it, its time is over, or it fails. The job is over for that reason.
func TestGuestsThatEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end func(*Runtime, func())
		why runtime.Reason
	}{
		"stopped": {func(r *Runtime, _ func()) {
			_, err := r.Stop(t.Context(), "lease", 0)
			require.NoError(t, err)
		}, runtime.ReasonStopped},
		"too long": {func(r *Runtime, _ func()) { require.NoError(t, r.Extend(t.Context(), "lease", time.Millisecond)) }, runtime.ReasonWall},
		"it fails": {func(_ *Runtime, off func()) { off() }, ReasonGuestEnded},
	} {
		t.Run(name, func(t *testing.T) {
			r, off := running(t)
			t.Cleanup(r.Close)
			require.ErrorIs(t, r.Remove(t.Context(), "lease"), runtime.ErrRunning)
			c.end(r, off)
			require.Eventually(t, func() bool {
				st, err := r.Status(t.Context(), "lease")
				require.NoError(t, err)
				return st.Phase == runtime.Exited && st.Exit.Reason == c.why
			}, time.Minute, time.Millisecond)
			require.NoError(t, r.Remove(t.Context(), "lease"))
		})
	}
}

// A guest and its job go on when the agent is stopped or killed, before the job and while it runs. The next agent finds them, and has every
// record once.
func TestAGuestOutlivesItsAgents(t *testing.T) {
	for name, end := range map[string]func(*Runtime){
		"stopped": func(r *Runtime) { r.Close() },
		"killed":  func(*Runtime) {},
	} {
		t.Run(name, func(t *testing.T) {
			more := make(chan struct{})
			deployed := 0
			first := newRuntime(t, t.TempDir())
			fake(t, first, func(ctx context.Context, q control.Question) (a control.Answer, err error) {
				switch {
				case q.Keys != nil:
					return a, errors.New("no TPM here")
				case q.Deploy != nil:
					deployed++
					a.Receipt = &control.Receipt{}
				case q.Output != nil && q.Output.From == 0:
					a.Output = &control.OutputAnswer{Records: [][]byte{[]byte("one"), []byte("two")}}
				case q.Output != nil:
					select {
					case <-more:
					case <-ctx.Done():
					}
					a.Output = &control.OutputAnswer{Records: [][]byte{[]byte("end")}, Over: true}
				}
				return a, err
			})
			answers(t, first, "lease")
			end(first)

			second := newRuntime(t, first.o.Folder)
			live, err := Live(second.o.Folder)
			require.NoError(t, err)
			require.Equal(t, []string{"lease"}, live)
			client, err := second.Of("lease", small)
			require.NoError(t, err, "no other guest boots: it has no supervisor that could")
			_, err = client.Keys(t.Context())
			require.EqualError(t, err, "the guest refuses: no TPM here")
			require.NoError(t, second.Bring("lease", [32]byte{1}, []byte("x")))
			end(second)

			third := newRuntime(t, first.o.Folder) // the supervisor has what was brought
			_, err = third.Start(t.Context(), runtime.Spec{LeaseID: "lease", Guest: true})
			require.NoError(t, err)
			end(third)

			last := newRuntime(t, first.o.Folder)
			t.Cleanup(last.Close)
			_, err = last.Start(t.Context(), runtime.Spec{LeaseID: "lease", Guest: true})
			require.ErrorIs(t, err, runtime.ErrExists, "a job is started once")
			_, err = last.Of("lease", small)
			require.ErrorIs(t, err, ErrHasJob)
			st, err := last.Status(t.Context(), "lease")
			require.NoError(t, err)
			require.Equal(t, runtime.Running, st.Phase)
			require.NoError(t, last.Extend(t.Context(), "lease", time.Hour))
			require.ErrorIs(t, last.Remove(t.Context(), "lease"), runtime.ErrRunning)
			close(more)
			require.Equal(t, [][]byte{[]byte("one"), []byte("two"), []byte("end")}, records(t, last, "lease"))
			require.Equal(t, 1, deployed)
			st, err = last.Status(t.Context(), "lease")
			require.NoError(t, err)
			require.Equal(t, ReasonSealed, st.Exit.Reason)
			require.NoError(t, last.Remove(t.Context(), "lease"))
			require.NoDirExists(t, last.dir("lease"))
		})
	}
}

// records are all that a job has put out, once it is over.
func records(t *testing.T, r *Runtime, lease string) [][]byte {
	stream, err := r.Logs(t.Context(), lease, runtime.Output, 0, true)
	require.NoError(t, err)
	defer stream.Close()
	kept, err := io.ReadAll(stream)
	require.NoError(t, err)
	var frames control.Frames
	out, err := frames.Add(kept)
	require.NoError(t, err)
	return out
}

// A guest whose lease has ended while no agent was there ends with the next agent, whether it had a job or waited for one.
func TestAGuestOfALeaseThatHasEnded(t *testing.T) {
	r, _ := running(t)
	answers(t, r, "waits")
	next := newRuntime(t, r.o.Folder)
	for lease, phase := range map[string]runtime.Phase{"lease": runtime.Exited, "waits": runtime.Preparing} {
		require.True(t, next.guestOf(lease).supervised())
		st, err := next.Stop(t.Context(), lease, 0)
		require.NoError(t, err)
		require.Equal(t, phase, st.Phase)
		require.False(t, next.guestOf(lease).supervised())
		require.NoError(t, next.Remove(t.Context(), lease))
		require.NoDirExists(t, next.dir(lease))
	}
}

// Of a guest that does not boot the customer reads why, and what it left is removed with the lease.
func TestAGuestThatDoesNotBoot(t *testing.T) {
	r := newRuntime(t, t.TempDir())
	t.Cleanup(r.Close)
	supervised(t, r, func(context.Context, Options, string, Share) (*machine, error) { return nil, errors.New("no luck") })
	require.Eventually(t, func() bool {
		_, err := r.Of("lease", small)
		return err != nil && !errors.Is(err, ErrBoots)
	}, time.Minute, time.Millisecond)
	_, err := r.Of("lease", small)
	require.ErrorContains(t, err, "no luck")
	st, err := r.Status(t.Context(), "lease")
	require.NoError(t, err)
	require.Equal(t, runtime.Preparing, st.Phase)
	_, err = r.Stop(t.Context(), "lease", 0)
	require.NoError(t, err)
	require.NoError(t, r.Remove(t.Context(), "lease"))
	require.ErrorIs(t, r.Bring("lease", [32]byte{}, nil), ErrNoGuest)
}

// Output that is none of a guest's is refused.
func TestFramesOfNoGuest(t *testing.T) {
	var f control.Frames
	_, err := f.Add([]byte("plain output"))
	require.ErrorIs(t, err, control.ErrFrames)
	f = control.Frames{}
	_, err = f.Add([]byte(control.SealedOutput + "\xff\xff\xff\xff"))
	require.ErrorIs(t, err, control.ErrFrames)
}

func (none) Remove(context.Context, string) error { return runtime.ErrNotFound }
