package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// leaseDir is the directory of one lease; see the package comment.
type leaseDir string

func (d leaseDir) file(name string) string     { return filepath.Join(string(d), name) }
func (d leaseDir) spec() string                { return d.file("spec.json") }
func (d leaseDir) lock() string                { return d.file("lock") }
func (d leaseDir) run() string                 { return d.file("run.json") }
func (d leaseDir) stop() string                { return d.file("stop.json") }
func (d leaseDir) exit() string                { return d.file("exit.json") }
func (d leaseDir) wall() string                { return d.file("wall.json") }
func (d leaseDir) work() string                { return d.file("work") }
func (d leaseDir) container() string           { return d.file("container.json") }
func (d leaseDir) diskFile() string            { return d.file("disk.img") }
func (d leaseDir) volumeFile() string          { return d.file("volume.img") }
func (d leaseDir) volume() string              { return d.file("volume") }
func (d leaseDir) stateFile() string           { return d.file("state.img") }
func (d leaseDir) filled() string              { return d.file("filled.json") }
func (d leaseDir) begin() string               { return d.file("begin.json") }
func (d leaseDir) suspend() string             { return d.file("suspend.json") }
func (d leaseDir) suspended() string           { return d.file("suspended.json") }
func (d leaseDir) snapshot() string            { return d.file("snapshot.json") }
func (d leaseDir) network() string             { return d.file("network.json") }
func (d leaseDir) rootfs() string              { return d.file("rootfs") }
func (d leaseDir) bundleConfig() string        { return d.file("config.json") }
func (d leaseDir) sandboxState() string        { return d.file("runsc") }
func (d leaseDir) log(s Stream) string         { return d.file(string(s) + ".log") }
func (d leaseDir) supervisorLog() string       { return d.file("supervisor.log") }
func (d leaseDir) exists(path string) bool     { _, err := os.Lstat(path); return err == nil }
func (d leaseDir) size(path string) int64      { return fileSize(path) }
func (d leaseDir) remove() error               { return os.RemoveAll(string(d)) }
func (d leaseDir) write(p string, v any) error { return writeJSON(p, v) }

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// runRecord is written by the supervisor, first with itself only, before the job can run, then with the job.
type runRecord struct {
	Supervisor ProcID    `json:"supervisor"`
	Job        ProcID    `json:"job"`
	StartedAt  time.Time `json:"started_at"`
	Limits     []string  `json:"limits"`
	Cgroup     string    `json:"cgroup,omitempty"`
	// Mark is the random value of envRun that the job's processes inherit.
	Mark string `json:"mark"`
	// Disk is the device of a container's own file system; empty where its disk is watched.
	Disk string `json:"disk,omitempty"`
}

// wallRequest replaces the wall limit of the specification: the longest from the job's start, or until when by the
// machine's monotonic clock, which all its processes share.
type wallRequest struct {
	Wall  time.Duration `json:"wall_ns,omitempty"`
	Until time.Duration `json:"until_ns,omitempty"`
}

// monotonic is the machine's monotonic clock.
func monotonic() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("runtime: the monotonic clock: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

type stopRequest struct {
	Grace time.Duration `json:"grace_ns"`
	At    time.Time     `json:"at"`
}

// writeJSON replaces path in one step and makes it durable before it returns.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("runtime: encode %s: %w", filepath.Base(path), err)
	}
	if err := atomicfile.WriteSynced(path, b); err != nil {
		return fmt.Errorf("runtime: write %s: %w", path, err)
	}
	return nil
}

// readJSON reports whether path was there.
func readJSON(path string, v any) (bool, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("runtime: %w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return true, fmt.Errorf("runtime: %s is damaged: %w", path, err)
	}
	return true, nil
}

// TakeLock takes the supervisor's lock, or reports that someone holds it. It is an open file description lock: it goes
// when the file is closed or its process dies, and looking at it does not disturb it.
func TakeLock(path string) (*os.File, bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("runtime: %w", err)
	}
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		f.Close()
		return nil, false, nil
	}
	if err != nil {
		f.Close()
		return nil, false, fmt.Errorf("runtime: lock %s: %w", path, err)
	}
	return f, true, nil
}

// sayAlive leaves a sign of life, by which is known when a supervisor was killed.
func (d leaseDir) sayAlive() {
	now := time.Now()
	if err := os.Chtimes(d.lock(), now, now); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// lastAlive is when the supervisor has said so for the last time.
func (d leaseDir) lastAlive() time.Time {
	info, err := os.Stat(d.lock())
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

// Locked reports whether a supervisor holds the lock.
func Locked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false
	}
	return l.Type != unix.F_UNLCK
}
