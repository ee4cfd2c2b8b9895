package runtime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// stateFolder is the folder in which runsc writes a container's state.
	stateFolder = "state"
	// stateSlack is what the state's file system has above the state itself, MiB.
	stateSlack = 128
)

// Suspension is how far an attempt to suspend a job is.
type Suspension struct {
	Attempt string `json:"attempt"`
	// Hash names the snapshot of the container once the job is suspended.
	Hash string `json:"hash,omitempty"`
	// Error says why it was not; then it runs on.
	Error string `json:"error,omitempty"`
}

type suspendRequest struct {
	Attempt string `json:"attempt"`
	// MemoryBytes is what the container used when it was asked for.
	MemoryBytes uint64 `json:"memory_bytes"`
}

// suspending is an attempt to suspend the job, as its supervisor has it.
type suspending struct {
	last   string          // attempt
	done   chan Suspension // nil while none is made
	cancel func()
	hash   string // once the job is suspended
}

// Suspend implements [Runtime]. The supervisor does it, with the bucket that it was given at the job's start.
func (p *Process) Suspend(ctx context.Context, leaseID, attempt string) (Suspension, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return Suspension{}, err
	}
	st, err := d.status()
	if err != nil {
		return Suspension{}, err
	}
	if last := st.Suspension; last != nil && (last.Hash != "" || last.Attempt == attempt) {
		return *last, nil
	}
	if st.Phase != Running {
		return Suspension{}, st.Phase.notRunning()
	}
	var r suspendRequest
	if asked, err := readJSON(d.suspend(), &r); err != nil {
		return Suspension{}, err
	} else if asked && (st.Suspension == nil || st.Suspension.Attempt != r.Attempt) {
		return Suspension{Attempt: r.Attempt}, nil // it is being done
	}
	if err := maySuspend(d, st.Spec); err != nil {
		return Suspension{}, err
	}
	use, err := p.Usage(ctx, leaseID)
	if err != nil {
		return Suspension{}, err
	}
	if err := hasRoom(string(d), stateMiB(use.Memory)); err != nil {
		return Suspension{}, fmt.Errorf("%w: the machine has no room for its memory: %w", ErrSuspend, err)
	}
	return Suspension{Attempt: attempt}, d.write(d.suspend(), suspendRequest{Attempt: attempt, MemoryBytes: use.Memory})
}

func maySuspend(d leaseDir, spec Spec) error {
	if spec.Image == "" || spec.Volume == nil {
		return fmt.Errorf("%w: only containers with a volume and a backup can be: deploy with --image, --volume and --backup", ErrSuspend)
	}
	c, err := readContainer(d)
	if err != nil {
		return err
	}
	if c.GPUs.Version != "" && spec.GPUMask != 0 {
		return fmt.Errorf("%w: it has GPUs, whose memory and driver state are not saved", ErrSuspend)
	}
	return nil
}

// stateMiB is how large a file system is that takes the state of so much memory.
func stateMiB(bytes uint64) uint64 { return bytes>>20 + bytes>>24 + stateSlack }

// newState makes an encrypted file system with a key that nobody has, and an empty folder in it.
func newState(dir leaseDir, bytes int64) (*volume, error) {
	if bytes < 0 || bytes > jobspec.MaxMiB<<20 {
		return nil, fmt.Errorf("%w: its state has %d bytes", ErrState, bytes)
	}
	file, err := reserve(dir.stateFile(), stateMiB(uint64(bytes)))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	key := make(VolumeKey, messages.VolumeKeyBytes)
	defer clear(key)
	if _, err = rand.Read(key); err == nil {
		var v *volume
		if v, err = newVolume(file, stateFolder, key); err == nil {
			return v, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the state's file system: %w", err), os.Remove(file.Name()))
}

// path is where a folder of the volume is found by other programs, as long as this process lives.
func (v *volume) path(folder string) string {
	return fmt.Sprintf("/proc/%d/fd/%d/%s", os.Getpid(), v.root.Fd(), folder)
}

// suspendDue begins what was asked for. The sandbox is frozen until it is done, so that a failure loses nothing.
func (s *supervisor) suspendDue() {
	if s.suspending.done != nil || !s.dir.exists(s.dir.suspend()) {
		return
	}
	var r suspendRequest
	if _, err := readJSON(s.dir.suspend(), &r); err != nil || r.Attempt == s.suspending.last {
		return
	}
	s.suspending.last = r.Attempt
	if s.backups == nil {
		s.noteSuspension(Suspension{Attempt: r.Attempt, Error: "the job has no bucket: deploy it with --backup"})
		return
	}
	s.thaw()
	if err := s.control("pause"); err != nil {
		s.noteSuspension(Suspension{Attempt: r.Attempt, Error: err.Error()})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan Suspension, 1)
	s.suspending.done, s.suspending.cancel = done, cancel
	go func() {
		made := Suspension{Attempt: r.Attempt}
		hash, err := s.save(ctx, r)
		if made.Hash = hash; err != nil {
			made = Suspension{Attempt: r.Attempt, Error: err.Error()}
		}
		done <- made
	}()
}

// save puts the frozen container into the bucket.
func (s *supervisor) save(ctx context.Context, r suspendRequest) (string, error) {
	if err := s.backups.bucket.Check(ctx, snapshot.Hash{}); err != nil {
		return "", err // sooner than after the state was written
	}
	own, err := readContainer(s.dir)
	if err != nil {
		return "", err
	}
	version, err := RunscVersion(own.Runsc)
	if err != nil {
		return "", err
	}
	state, err := newState(s.dir, int64(min(r.MemoryBytes, math.MaxInt64)))
	if err != nil {
		return "", err
	}
	defer state.destroy(s.dir.stateFile())
	if _, err := s.runsc(ctx, "checkpoint", "--leave-running", "--image-path", state.path(stateFolder), s.spec.LeaseID); err != nil {
		return "", err
	}
	root, err := state.folder(stateFolder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	memory, err := bytesIn(root)
	if err != nil {
		return "", err
	}
	// The files are mounted for the container alone.
	files, err := os.OpenRoot(filepath.Join("/proc", strconv.Itoa(s.record.Job.PID), "root", s.dir.work(), upperFolder))
	if err != nil {
		return "", err
	}
	defer files.Close()
	c := snapshot.Container{
		Image: s.spec.Image, Command: s.spec.Command, Env: s.spec.Env, Network: s.spec.Network, Volume: *s.spec.Volume, Runsc: version, Memory: memory,
	}
	hash, err := s.backups.bucket.SaveContainer(
		ctx, c, snapshot.Part{Name: snapshot.PartState, Root: root, Most: jobspec.MaxMiB << 20}, snapshot.Part{Name: snapshot.PartFiles, Root: files, Most: jobspec.MaxMiB << 20},
		snapshot.Part{Name: snapshot.PartVolume, Root: s.backups.root, Most: s.backups.most},
	)
	if err != nil {
		return "", err
	}
	return hash.String(), nil
}

// bytesIn adds up the files of a folder.
func bytesIn(root *os.Root) (sum int64, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

// suspendDone reports whether the job is suspended. Otherwise it goes on.
func (s *supervisor) suspendDone(made Suspension) bool {
	s.suspending.cancel()
	s.suspending.done = nil
	if made.Hash != "" {
		s.suspending.hash = made.Hash
		s.noteSnapshot(Snapshot{Hash: made.Hash, At: time.Now().UTC()})
	} else if err := s.control("resume"); err != nil && s.thawed(err) != nil {
		fmt.Fprintln(os.Stderr, "the job stays frozen:", err)
		s.killTree()
	}
	s.noteSuspension(made)
	return made.Hash != ""
}

// giveUpSuspending ends an attempt, because the job is to end.
func (s *supervisor) giveUpSuspending() {
	if s.suspending.done == nil {
		return
	}
	s.suspending.cancel()
	s.suspendDone(<-s.suspending.done)
}

// noteSuspension writes down what became of an attempt, for the agent to read.
func (s *supervisor) noteSuspension(made Suspension) {
	if err := s.dir.write(s.dir.suspended(), made); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
