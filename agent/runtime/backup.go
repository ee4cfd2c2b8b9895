package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// firstSnapshot is how long after its start a job has its first snapshot, sooner than any interval: its customer learns soon whether the
	// bucket takes it, and a machine that is lost early loses little.
	firstSnapshot = 10 * time.Second
	// lastSnapshotTime is how long the snapshot at a job's end may take.
	lastSnapshotTime = 2 * time.Minute
	// overTime is how long the bucket may take to be told that there are no more.
	overTime = 5 * time.Second
	// bucketPatience is for how long a bucket that does not answer is asked again when a job is over: the volume would be lost
	// otherwise. bucketPause is before each time.
	bucketPatience = 30 * time.Second
	bucketPause    = time.Second
	// maxSecrets is the most that a supervisor reads of its secrets.
	maxSecrets = 64 << 10
)

// Snapshot is the last that was made of a job's volume.
type Snapshot struct {
	// Hash names it; empty if none was made yet.
	Hash string    `json:"hash,omitempty"`
	At   time.Time `json:"at"`
	// Error says why a later one could not be made.
	Error string `json:"error,omitempty"`
}

// secrets are what a supervisor is told by a pipe, because arguments, environment and files are for others to read.
type secrets struct {
	Key    VolumeKey        `json:"key"`
	Backup *messages.Backup `json:"backup,omitempty"`
	// Local lets the bucket be at an address of this machine or a private network.
	Local bool `json:"local"`
}

// readSecrets takes what the agent has written.
func readSecrets(r io.Reader) (secrets, error) {
	var s secrets
	// Neither a dump nor the swap space is to have it. Where the memory cannot be locked it is short-lived at least.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return s, fmt.Errorf("runtime: limit dumps: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxSecrets))
	if err == nil {
		_ = unix.Mlock(raw)
		err = json.Unmarshal(raw, &s)
		clear(raw)
	}
	if err != nil {
		return s, fmt.Errorf("runtime: the key of the volume did not come: %w", err)
	}
	_ = unix.Mlock(s.Key)
	return s, nil
}

// backups makes snapshots of a job's volume. Its methods are called by the supervisor's own goroutine.
type backups struct {
	bucket *snapshot.Bucket
	root   *os.Root
	most   int64
	every  time.Duration
	from   snapshot.Hash

	next   time.Time
	last   Snapshot
	done   chan Snapshot // nil while none is made
	cancel func()
}

// openBackups prepares the snapshots of the job's volume, if it wants any.
func (s *supervisor) openBackups(secret secrets) error {
	b := secret.Backup
	if b == nil {
		return nil
	}
	dialer := image.Dialer(secret.Local)
	bucket, err := snapshot.Open(*b, &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 30 * time.Second, ResponseHeaderTimeout: time.Minute, MaxResponseHeaderBytes: 1 << 20,
	})
	if err != nil {
		return err
	}
	bucket.For(s.spec.LeaseID)
	root, err := s.volume.folder(s.spec.Volume.Name)
	if err != nil {
		return err
	}
	s.backups = &backups{bucket: bucket, root: root, most: int64(s.spec.Volume.MiB << 20), every: time.Duration(b.Every) * time.Second, from: b.From}
	say := "at the end of the job"
	if b.Every > 0 {
		say = fmt.Sprintf("%v after the start and every %v, for which the job is frozen, and %s", firstSnapshot, s.backups.every, say)
	}
	s.record.Limits = append(s.record.Limits, "snapshots of the volume: "+say)
	return nil
}

// snapshotDue begins a snapshot when its time has come: the sandbox is frozen until it is made, so that it is of one instant.
func (s *supervisor) snapshotDue() {
	b := s.backups
	if b == nil || b.every == 0 || b.done != nil || s.suspending.done != nil {
		return
	}
	if b.next.IsZero() {
		b.next = time.Now().Add(firstSnapshot)
	}
	if time.Now().Before(b.next) {
		return
	}
	b.next = time.Now().Add(b.every)
	if err := s.control("pause"); err != nil {
		s.noteSnapshot(Snapshot{At: time.Now().UTC(), Error: err.Error()})
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.every)
	b.done, b.cancel = make(chan Snapshot, 1), cancel
	go func() { b.done <- b.save(ctx, 0) }()
}

// snapshotDone lets the job go on after a snapshot. A nil one was given up.
func (s *supervisor) snapshotDone(made Snapshot) {
	s.backups.cancel()
	s.backups.done = nil
	s.noteSnapshot(made)
	if err := s.control("resume"); err != nil {
		fmt.Fprintln(os.Stderr, "the job stays frozen:", err)
		s.killTree()
	}
}

// thaw ends a snapshot that is being made, because the job is to end.
func (s *supervisor) thaw() {
	if s.backups == nil || s.backups.done == nil {
		return
	}
	s.backups.cancel()
	s.snapshotDone(<-s.backups.done)
}

// snapshots is where a snapshot that is being made arrives; nil while none is.
func (s *supervisor) snapshots() <-chan Snapshot {
	if s.backups == nil {
		return nil
	}
	return s.backups.done
}

// lastSnapshot is made when nothing of the job runs any more.
func (s *supervisor) lastSnapshot() {
	b := s.backups
	if b == nil {
		return
	}
	if b.done != nil { // the job died while it was frozen
		b.cancel()
		s.noteSnapshot(<-b.done)
		b.done = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSnapshotTime)
	defer cancel()
	made := b.save(ctx, bucketPatience)
	s.noteSnapshot(made)
	if made.Error == "" { // else whoever goes on from the last one is told that there should have been another
		b.over()
	}
}

// over tells the bucket that this job makes no more snapshots, and goes on from none.
func (b *backups) over() {
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), overTime)
	defer cancel()
	if err := b.bucket.Over(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the bucket still says that this job makes snapshots:", err)
	}
}

func (b *backups) save(ctx context.Context, patience time.Duration) (made Snapshot) {
	made.At = time.Now().UTC()
	var hash snapshot.Hash
	err := insist(ctx, patience, func() (err error) {
		hash, err = b.bucket.Save(ctx, b.root, b.most)
		return err
	})
	if err != nil {
		made.Error = err.Error()
		return made
	}
	made.Hash = hash.String()
	return made
}

// insist does something again while the bucket's server does not answer, for so long.
func insist(ctx context.Context, patience time.Duration, do func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := do()
		if !snapshot.Away(err) || !time.Now().Before(deadline) || wait.For(ctx, bucketPause) != nil {
			return err
		}
	}
}

// noteSnapshot writes down what became of a snapshot, for the agent to read.
func (s *supervisor) noteSnapshot(made Snapshot) {
	if made.Hash == "" {
		made.Hash = s.backups.last.Hash // the last that there is
	}
	s.backups.last = made
	if err := s.dir.write(s.dir.snapshot(), made); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (b *backups) close() {
	if b != nil {
		b.root.Close()
	}
}

// control freezes a container or lets it go on.
func (s *supervisor) control(what string) error {
	c, err := readContainer(s.dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.Runsc, "--root", s.dir.sandboxState(), "--log", os.DevNull, what, s.spec.LeaseID).CombinedOutput()
	if err != nil {
		return fmt.Errorf("runsc %s: %w: %s", what, err, out)
	}
	return nil
}

func (s Spec) validateBackup() error {
	switch {
	case s.Backup == nil:
		return nil
	case s.Volume == nil:
		return fmt.Errorf("%w: a backup without a volume", ErrSpec)
	}
	if err := s.Backup.Validate(); err != nil {
		return errors.Join(ErrSpec, err)
	}
	return nil
}
