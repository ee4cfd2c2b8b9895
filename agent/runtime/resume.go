package runtime

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// holdTime is how long a job that was prepared waits for the lease's start.
	holdTime = time.Hour
	// holdPoll is how often it is looked up whether a job that is prepared may begin, or is not wanted any more.
	holdPoll = 50 * time.Millisecond
	// runscFailed is the status of a runsc that could not do what it was told. A job may end with it too.
	runscFailed = 128
)

// errUnwanted: the job was asked to end before it began.
var errUnwanted = errors.New("the job was asked to end before it began")

// prepare restores what the job goes on from. A container that goes on has been started then. Of a job that is held it waits
// for the word to begin; until then the container is frozen.
func (s *supervisor) prepare(signals <-chan os.Signal) error {
	err := s.untilStopped(signals, s.fill)
	frozen := false
	if err == nil && s.state != nil {
		frozen, err = s.goOn(signals)
	}
	if !s.spec.Hold {
		return err
	}
	var said fillRecord
	if err != nil {
		said = fillRecord{Error: err.Error(), Refused: errors.Is(err, ErrState) || errors.Is(err, snapshot.ErrDamaged) || errors.Is(err, unix.ENOSPC)}
	}
	if werr := s.dir.write(s.dir.filled(), said); err != nil || werr != nil {
		return errors.Join(err, werr)
	}
	if err := s.awaitBegin(signals); err != nil {
		return err
	}
	s.record.StartedAt = time.Now().UTC()
	if err := s.dir.write(s.dir.run(), s.record); err != nil || !frozen {
		return err
	}
	return s.thawed(s.control("resume"))
}

// thawed is no error where the container has ended meanwhile: its end is found by the watch.
func (s *supervisor) thawed(err error) error {
	if len(s.waited) > 0 {
		return nil
	}
	return err
}

// untilStopped does something that takes long, unless the job is asked to end meanwhile.
func (s *supervisor) untilStopped(signals <-chan os.Signal, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	t := time.NewTicker(holdPoll)
	defer t.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-signals:
			cancel()
		case <-t.C:
			if s.dir.exists(s.dir.stop()) {
				cancel()
			}
		}
	}
}

// awaitBegin waits for the agent's word.
func (s *supervisor) awaitBegin(signals <-chan os.Signal) error {
	t := time.NewTicker(holdPoll)
	defer t.Stop()
	for begin := time.Now(); !s.dir.exists(s.dir.begin()); {
		if s.dir.exists(s.dir.stop()) {
			return errUnwanted
		}
		if time.Since(begin) > holdTime {
			return fmt.Errorf("the lease did not start within %v", holdTime)
		}
		select {
		case <-signals:
			return errUnwanted
		case <-t.C:
		}
	}
	return nil
}

// fill restores the volume, and of a suspended container also its files and its state.
func (s *supervisor) fill(ctx context.Context) error {
	b := s.backups
	if b == nil || b.from == (snapshot.Hash{}) {
		return nil
	}
	saved, err := b.bucket.Take(ctx, b.from)
	if err == nil {
		if err = s.fillParts(ctx, saved); err != nil {
			err = errors.Join(err, saved.GiveUp(ctx))
		}
	}
	if err != nil {
		return fmt.Errorf("restore snapshot %s: %w", b.from, err)
	}
	return nil
}

func (s *supervisor) fillParts(ctx context.Context, saved *snapshot.Saved) error {
	if saved.Container() != nil {
		return s.fillContainer(ctx, saved)
	}
	return saved.Restore(ctx, snapshot.PartVolume, s.backups.root)
}

func (s *supervisor) fillContainer(ctx context.Context, saved *snapshot.Saved) (err error) {
	size := saved.Bytes(snapshot.PartState)
	if err := s.mayGoOn(*saved.Container(), size); err != nil {
		return err
	}
	if err := saved.Restore(ctx, snapshot.PartVolume, s.backups.root); err != nil {
		return err
	}
	if err := s.fillFiles(ctx, saved); err != nil {
		return err
	}
	if s.state, err = newState(s.dir, size); err != nil {
		return err
	}
	root, err := s.state.folder(stateFolder)
	if err != nil {
		return err
	}
	defer root.Close()
	return saved.Restore(ctx, snapshot.PartState, root)
}

// mayGoOn compares the suspended container with what this machine starts. size is that of its state.
func (s *supervisor) mayGoOn(c snapshot.Container, size int64) error {
	own, err := readContainer(s.dir)
	if err != nil {
		return err
	}
	version, err := RunscVersion(own.Runsc)
	if err != nil {
		return err
	}
	command := len(s.spec.Command) == 0 || slices.Equal(s.spec.Command, c.Command)
	switch limit := int64(s.spec.Limits.MemoryMiB << 20); {
	case c.Runsc != version:
		return fmt.Errorf("%w: it was suspended by runsc %s, and this machine has %s; order from another node", ErrState, c.Runsc, version)
	case !sameImage(c.Image, s.spec.Image):
		return fmt.Errorf("%w: it was suspended with the image %s, and the job's is %s", ErrState, c.Image, s.spec.Image)
	case !command || c.Network != s.spec.Network || c.Volume.Path != s.spec.Volume.Path:
		return fmt.Errorf("%w: it was suspended with another command, network or path of the volume than the job's", ErrState)
	case own.GPUs.Version != "" && s.spec.GPUMask != 0:
		return fmt.Errorf("%w: containers that have GPUs cannot be resumed", ErrState)
	case limit > 0 && size > limit:
		return fmt.Errorf("%w: its state has %d MiB, more than the %d MiB of memory that the lease may use", ErrState, size>>20, limit>>20)
	case s.disk == nil:
		return fmt.Errorf("%w: its files need a file system of their own, which this machine does not give", ErrState)
	}
	return nil
}

// sameImage compares digests: the registry may be another.
func sameImage(a, b string) bool {
	_, x, named := strings.Cut(a, "@")
	_, y, _ := strings.Cut(b, "@")
	return named && x == y
}

// fillFiles restores what the container had changed of its image.
func (s *supervisor) fillFiles(ctx context.Context, saved *snapshot.Saved) error {
	mount, top, err := mountDetached(s.disk.device)
	if err != nil {
		return fmt.Errorf("mount the container's files: %w", err)
	}
	defer mount.Close()
	defer top.Close()
	if err := unix.Mkdirat(int(top.Fd()), upperFolder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d/%s", top.Fd(), upperFolder))
	if err != nil {
		return err
	}
	defer root.Close()
	return saved.Restore(ctx, snapshot.PartFiles, root)
}

// goOn starts the container from its state. Of a job that is held it freezes it as soon as it runs.
func (s *supervisor) goOn(signals <-chan os.Signal) (frozen bool, err error) {
	defer func() {
		s.state.destroy(s.dir.stateFile())
		s.state = nil
	}()
	if err := s.start(); err != nil {
		return false, fmt.Errorf("%w: %w", ErrState, err)
	}
	if err := s.awaitRuns(signals); err != nil || len(s.waited) > 0 {
		return false, err
	}
	if !s.spec.Hold || s.dir.exists(s.dir.begin()) {
		return false, nil
	}
	err = s.thawed(s.control("pause"))
	return err == nil && len(s.waited) == 0, err
}

// awaitRuns waits until runsc says that the container runs, or has ended.
func (s *supervisor) awaitRuns(signals <-chan os.Signal) error {
	t := time.NewTicker(holdPoll)
	defer t.Stop()
	for {
		select {
		case err := <-s.waited:
			s.waited <- err // for the watch
			s.drain()
			status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || status.Signaled() || status.ExitStatus() == runscFailed {
				return fmt.Errorf("%w: runsc: %s", ErrState, lastLine(s.dir.log(Stderr)))
			}
			return nil
		case <-signals:
			return errUnwanted
		case <-t.C:
		}
		if s.dir.exists(s.dir.stop()) {
			return errUnwanted
		}
		out, err := s.runsc(context.Background(), "state", s.spec.LeaseID)
		var state specs.State
		if err == nil && json.Unmarshal(out, &state) == nil && state.Status == specs.StateRunning {
			return nil
		}
	}
}

// lastLine is what a log ends with.
func lastLine(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	last := lines[len(lines)-1]
	return last[:min(len(last), 500)]
}

// runsc runs a command of the program that runs the container.
func (s *supervisor) runsc(ctx context.Context, args ...string) ([]byte, error) {
	c, err := readContainer(s.dir)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, c.Runsc, append([]string{"--root", s.dir.sandboxState(), "--log", os.DevNull}, args...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("runsc %s: %w: %s", args[0], err, strings.TrimSpace(string(out[max(0, len(out)-500):])))
	}
	return out, nil
}

// RunscVersion is what a runsc says of itself. One that was built without that is known by its module's version.
func RunscVersion(path string) (string, error) {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if version := strings.TrimPrefix(line, "runsc version "); version != "" && version != "VERSION_MISSING" {
		return version, nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", path, err)
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "gvisor.dev/gvisor" {
			return m.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not say its version", filepath.Base(path))
}
