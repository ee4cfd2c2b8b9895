package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gantry-market/gantry/sdk/messages"
)

var (
	// ErrExists: the lease was started already (or its directory is in use).
	ErrExists = errors.New("runtime: lease was already started")
	// ErrNotFound: the runtime knows no such lease.
	ErrNotFound = errors.New("runtime: no such lease")
	// ErrRunning: the job has to be stopped first.
	ErrRunning = errors.New("runtime: job is still running")
	// ErrNotRunning: the job does not run now.
	ErrNotRunning = errors.New("runtime: job is not running")
	// ErrStarting: the container has a process, and not yet its file systems.
	ErrStarting = errors.New("runtime: the container has not started yet")
	// ErrOver: the job is over.
	ErrOver = errors.New("runtime: job is over")
	// ErrSpec: the specification cannot be run.
	ErrSpec = errors.New("runtime: invalid specification")
	// ErrImage: this node runs no images.
	ErrImage = errors.New("runtime: this node runs no images")
	// ErrVolume: this node has no encrypted volumes, or no room for one.
	ErrVolume = errors.New("runtime: this node cannot have the volume")
	// ErrPull: the image could not be fetched or unpacked.
	ErrPull = errors.New("runtime: image cannot be used")
	// ErrState: what the job is to go on from cannot be used here, now or later.
	ErrState = errors.New("runtime: the job cannot be resumed here")
	// ErrSuspend: the job cannot be suspended, and runs on.
	ErrSuspend = errors.New("runtime: the job cannot be suspended")
)

// Runtime runs jobs, each under its lease's id. Implementations are safe for use by several goroutines.
type Runtime interface {
	// Check says whether this node can run a job: ErrSpec, ErrImage, ErrNetwork or ErrVolume with the reason if not.
	Check(spec Spec) error
	// Prepare gets what a job needs before it starts, its image and the room for its volume. It may take minutes, and runs nothing of the job. ctx
	// ends it. Errors: those of Check, ErrPull.
	Prepare(ctx context.Context, spec Spec, pull Pull) error
	// Fill restores what a job goes on from, if it is anything, so that Start only has to let it go on. It returns when that
	// is done; ctx bounds the wait, not the work. Repeating it changes nothing, and tries again after a failure. Errors: those
	// of Check, ErrState.
	Fill(ctx context.Context, spec Spec) error
	// Start starts a job and returns when it runs or has failed to. ctx bounds the wait, not the job. A second Start of
	// a lease is ErrExists.
	Start(ctx context.Context, spec Spec) (Status, error)
	// Status returns a job's status, also after a restart of the agent.
	Status(ctx context.Context, leaseID string) (Status, error)
	// Usage measures what a running job uses. Errors: ErrNotFound, ErrNotRunning, ErrStarting.
	Usage(ctx context.Context, leaseID string) (Usage, error)
	// Stop asks the job to end, and kills it after grace. It returns when the job is over. Stopping a job that is over
	// is no error.
	Stop(ctx context.Context, leaseID string, grace time.Duration) (Status, error)
	// Suspend asks that the container's processes, memory and files are kept in the bucket of the job's backup, and the job
	// ended. It returns how far the attempt is: it is over once the answer has a hash, or an error, with which the job runs on.
	// Another attempt may be made after an error. Errors: ErrNotRunning, ErrStarting, ErrSuspend.
	Suspend(ctx context.Context, leaseID, attempt string) (Suspension, error)
	// Extend sets for how long a job may run from now on, in place of Limits.Wall; 0 lifts the limit. It also shortens.
	// ErrOver when the job is over.
	Extend(ctx context.Context, leaseID string, left time.Duration) error
	// Logs reads a stream from a byte offset. With follow it goes on until the job is over and everything was read, or
	// ctx ends.
	Logs(ctx context.Context, leaseID string, stream Stream, offset int64, follow bool) (io.ReadCloser, error)
	// Shell connects a stream with an SSH server in the job's container, which reads setup before the stream's bytes. It
	// returns when either ends or ctx does; the caller then closes the stream. As root: the server begins as the container's
	// root, to become the user that its setup names. Error: ErrShell.
	Shell(ctx context.Context, leaseID string, asRoot bool, setup []byte, stream io.ReadWriter) error
	// Remove deletes everything about a job that is over. ErrRunning otherwise.
	Remove(ctx context.Context, leaseID string) error
}

// Stream names one of a job's outputs.
type Stream string

// The outputs.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
	// Output is both together, in the order in which they arrived.
	Output Stream = "output"
)

// Phase of a job.
type Phase string

const (
	// Created: the specification is on disk, nothing ran; Start may be called.
	Created Phase = "created"
	// Preparing: what the job goes on from is being restored, or was; the job is not to run before Start is called.
	Preparing Phase = "preparing"
	// Starting: the supervisor is there, the job is not yet.
	Starting Phase = "starting"
	// Running: the job runs.
	Running Phase = "running"
	// Exited: the job is over and its exit is known.
	Exited Phase = "exited"
	// Lost: the job is over, its exit is not known.
	Lost Phase = "lost"
)

// notRunning is why nothing can be asked of a job in a phase other than Running: it has not begun, or it is over.
func (p Phase) notRunning() error {
	why := ErrNotRunning
	if p == Created || p == Preparing || p == Starting {
		why = ErrStarting
	}
	return fmt.Errorf("%w: the job is %s", why, p)
}

// Over reports whether nothing runs any more.
func (p Phase) Over() bool { return p == Exited || p == Lost }

// Spec is a job and its limits. Zero limits are unlimited, save where noted.
type Spec struct {
	// LeaseID is the lease's address: letters, digits, '-' and '_', at most 64.
	LeaseID string            `json:"lease_id"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	// Entrypoint and User are in place of the image's; empty for those.
	Entrypoint string `json:"entrypoint,omitempty"`
	User       string `json:"user,omitempty"`
	// Image is an OCI reference with digest, whose container the job is; empty for a process of the machine. With an
	// image the command may be empty: then it is the image's own.
	Image string `json:"image,omitempty"`
	// Network is NetworkInternet, or empty: then a container has none but its own loopback.
	Network string `json:"network,omitempty"`
	// Volume of the container; nil for none.
	Volume *messages.Volume `json:"volume,omitempty"`
	// Guest: the job came sealed to a measured guest, which alone knows what it is. See package guestvm.
	Guest bool `json:"guest,omitempty"`
	// Group is the container's place in a private network; nil for none.
	Group *Group `json:"group,omitempty"`
	// VolumeKey opens the volume; only Start needs it. It is written nowhere.
	VolumeKey VolumeKey `json:"-"`
	// Backup is where snapshots of the volume go; nil for none. It is written nowhere either.
	Backup *messages.Backup `json:"-"`
	// GPUMask has bit i set for the node's GPU i.
	GPUMask uint64 `json:"gpu_mask"`
	// GPUUUIDs names the same GPUs where known.
	GPUUUIDs []string `json:"gpu_uuids,omitempty"`
	// Checkpoint is the sha256 in hex that the job goes on from; empty for none.
	Checkpoint string `json:"checkpoint,omitempty"`
	Limits     Limits `json:"limits"`
	// Hold keeps the job from running until Start is called; Fill sets it.
	Hold bool `json:"hold,omitempty"`
}

// Limits of a job.
type Limits struct {
	// CPUs is a number of processors; fractions are rounded up without cgroups.
	CPUs      float64 `json:"cpus,omitempty"`
	MemoryMiB uint64  `json:"memory_mib,omitempty"`
	DiskMiB   uint64  `json:"disk_mib,omitempty"`
	// ImageMiB is the most that the image may take of the disk; 0 for the machine's own limit. ShareMiB is what the image and the
	// container's files may take together: the files get at most what the image leaves of it. 0 is not limited.
	ImageMiB uint64 `json:"image_mib,omitempty"`
	ShareMiB uint64 `json:"share_mib,omitempty"`
	// ShmMiB is what /dev/shm of a container may hold; 0 for half of the memory.
	ShmMiB uint64 `json:"shm_mib,omitempty"`
	// Wall is the longest a job may run, by a clock that nobody can set; see Runtime.Extend.
	Wall time.Duration `json:"wall_ns,omitempty"`
	// Processes limits the tasks of the job; 0 means 4096.
	Processes uint64 `json:"processes,omitempty"`
	// LogBytes limits each output; 0 means 16 MiB. What comes later is dropped and the log says so.
	LogBytes int64 `json:"log_bytes,omitempty"`
	// OpenFiles limits descriptors; 0 means 4096.
	OpenFiles uint64 `json:"open_files,omitempty"`
	// Background gives the job processors only where nothing else wants them, as far as there are control groups.
	Background bool `json:"background,omitempty"`
}

// Reason says why a job ended.
type Reason string

// Reasons.
const (
	ReasonExited      Reason = "exited"        // by itself, see Code or Signal
	ReasonStopped     Reason = "stopped"       // Stop was called
	ReasonWall        Reason = "wall-limit"    // ran too long
	ReasonMemory      Reason = "memory-limit"  // used too much memory
	ReasonDisk        Reason = "disk-limit"    // wrote too much
	ReasonProcesses   Reason = "process-limit" // started too many processes
	ReasonSuspended   Reason = "suspended"     // Suspend was called, see Status.Suspension
	ReasonStartFailed Reason = "start-failed"  // never ran, see Message
)

// Exit is how a job ended. Code is the exit status, 128 + signal number when a signal ended it (as a shell reports it),
// 127 when it could not be started.
type Exit struct {
	Reason     Reason    `json:"reason"`
	Code       int       `json:"code"`
	Signal     string    `json:"signal,omitempty"`
	Message    string    `json:"message,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
}

// Status of a job.
type Status struct {
	LeaseID string `json:"lease_id"`
	Phase   Phase  `json:"phase"`
	// PID of the job; 0 unless running.
	PID       int       `json:"pid,omitempty"`
	StartedAt time.Time `json:"started_at"`
	// Exit is set when Phase is Exited.
	Exit *Exit `json:"exit,omitempty"`
	// LostAt is when a job that is Lost was last known to run.
	LostAt time.Time `json:"lost_at,omitzero"`
	// Limits says, for people, how each limit is enforced.
	Limits      []string `json:"limits,omitempty"`
	StdoutBytes int64    `json:"stdout_bytes"`
	StderrBytes int64    `json:"stderr_bytes"`
	// Snapshot of the job's volume; nil if none was tried.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
	// Suspension is the last attempt to suspend the job that is over; nil for none.
	Suspension *Suspension `json:"suspension,omitempty"`
	// Spec is what was started.
	Spec Spec `json:"spec"`
}

// NotLocalError: jobs without an image run on local networks only, and this is none.
type NotLocalError struct {
	// Why the cluster is not local.
	Why string
	// Missing is what keeps this machine from running images for strangers; nil where it can.
	Missing error
}

func (e *NotLocalError) Error() string {
	if e.Missing != nil {
		return fmt.Sprintf("runtime: jobs of strangers run in containers only, and this machine cannot isolate them: %v. It is not a local network: %s", e.Missing, e.Why)
	}
	return fmt.Sprintf("runtime: jobs without an image run on local networks only, because nothing isolates them; order with an image. It is not one: %s", e.Why)
}

func (e *NotLocalError) Unwrap() error { return e.Missing }
