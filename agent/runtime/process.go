package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/network"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	statePoll    = 20 * time.Millisecond
	startTimeout = 10 * time.Second
)

// ProcessOptions are the options of [NewProcess]. Root and Cluster are required.
type ProcessOptions struct {
	// Root holds one directory a lease; created if missing, mode 0700.
	Root string
	// Cluster decides what runs here: jobs without an image on a local one alone; see [Cluster.CheckLocal].
	Cluster Cluster
	// Sandbox runs jobs with an image. It is required on a cluster that is not local.
	Sandbox Sandbox
	// Network is how containers are connected; its owner is Root.
	Network network.Options
	// Executable is the binary that answers [InternalCommand]; empty means this one.
	Executable string
	Log        zerolog.Logger
}

// Process runs jobs as processes of this machine, those with an image in a sandbox. See the package comment.
type Process struct {
	root string
	exe  string
	log  zerolog.Logger
	// strangers says why jobs without an image are refused; nil on a local cluster.
	strangers *NotLocalError

	sandbox Sandbox
	network *network.Network
	// volumes says why there can be none here.
	volumes func() error
	// starting keeps two calls from preparing one directory at once; across processes the supervisor's lock decides.
	starting sync.Mutex
}

var _ Runtime = (*Process)(nil)

// NewProcess returns a runtime. On a cluster that is not local it first starts a container to see whether this machine can
// isolate strangers' jobs; if not, the error is [*NotLocalError].
func NewProcess(ctx context.Context, o ProcessOptions) (*Process, error) {
	var strangers *NotLocalError
	if err := o.Cluster.CheckLocal(); err != nil && !errors.As(err, &strangers) {
		return nil, err
	}
	root, err := filepath.Abs(o.Root)
	if err != nil || o.Root == "" {
		return nil, fmt.Errorf("runtime: directory %q: %w", o.Root, errors.Join(ErrSpec, err))
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	exe := o.Executable
	if exe == "" {
		exe = self
	}
	if strangers == nil {
		o.Sandbox.LocalRegistries = true // the cluster is local, so that its customers are processes of this machine
	}
	if err := o.Sandbox.keepPrograms(root, o.Log); err != nil {
		return nil, err
	}
	o.Network.Owner = root
	connect, err := network.New(o.Network)
	if err != nil {
		return nil, err
	}
	p := &Process{
		root: root, exe: exe, log: o.Log, strangers: strangers, sandbox: o.Sandbox, network: connect, volumes: sync.OnceValue(CheckVolumes),
	}
	if err := p.sweepNetwork(); err != nil {
		p.log.Warn().Err(err).Msg("what the networks of ended leases have left cannot be removed")
	}
	if err := p.sweepVolumes(); err != nil {
		p.log.Warn().Err(err).Msg("the volumes of ended leases cannot be removed")
	}
	sweepGroups()
	if strangers == nil {
		return p, nil
	}
	if err := p.isolates(ctx); err != nil {
		return nil, &NotLocalError{Why: strangers.Why, Missing: err}
	}
	p.log.Info().Str("cluster", strangers.Why).Msg("a container was started and isolated; the node takes jobs with an image only")
	return p, nil
}

func (p *Process) dir(leaseID string) (leaseDir, error) {
	if !leaseIDPattern.MatchString(leaseID) {
		return "", fmt.Errorf("%w: lease id %q", ErrSpec, leaseID)
	}
	return leaseDir(filepath.Join(p.root, leaseID)), nil
}

// Check implements [Runtime].
func (p *Process) Check(spec Spec) error {
	switch err := spec.Validate(); {
	case err != nil:
		return err
	case spec.Image == "" && p.strangers != nil:
		return p.strangers
	case spec.Image == "":
		return nil
	}
	return errors.Join(p.sandbox.check(), p.checkNetwork(spec), p.checkVolume(spec))
}

// Start implements [Runtime]. A job that cannot be started (no such command) is no error: it is over, with
// ReasonStartFailed.
func (p *Process) Start(ctx context.Context, spec Spec) (Status, error) {
	d, err := p.dir(spec.LeaseID)
	if err != nil {
		return Status{}, err
	}
	if begun, err := p.begin(d, spec); err != nil {
		return Status{}, err
	} else if !begun {
		if err := checkKey(spec); err != nil {
			return Status{}, err
		}
		if err := p.Prepare(ctx, spec, Pull{}); err != nil {
			return Status{}, err
		}
		if spec.Limits, err = besideImage(d, spec); err != nil {
			return Status{}, err
		}
		if err := p.launch(ctx, d, spec); err != nil {
			return Status{}, err
		}
	}
	deadline := time.Now().Add(startTimeout)
	for {
		st, err := d.status()
		if err != nil || st.Phase == Running || st.Phase.Over() {
			return st, err
		}
		if time.Now().After(deadline) {
			return st, fmt.Errorf("runtime: supervisor of %s did not start: %s", spec.LeaseID, d.lastLog())
		}
		if err := wait.For(ctx, statePoll); err != nil {
			return st, err
		}
	}
}

func checkKey(spec Spec) error {
	if spec.Volume != nil && len(spec.VolumeKey) != messages.VolumeKeyBytes {
		return fmt.Errorf("%w: the key of the volume has %d bytes, not %d", ErrSpec, len(spec.VolumeKey), messages.VolumeKeyBytes)
	}
	return nil
}

func (p *Process) launch(ctx context.Context, d leaseDir, spec Spec) error {
	p.starting.Lock()
	defer p.starting.Unlock()
	if err := os.MkdirAll(d.work(), 0o700); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	if d.exists(d.run()) || d.exists(d.exit()) || Locked(d.lock()) {
		return fmt.Errorf("%w: %s", ErrExists, spec.LeaseID)
	}
	if err := p.writeNetwork(d, spec); err != nil {
		return err
	}
	if spec.Group != nil {
		g := *spec.Group
		g.Mbit = p.network.Mbit()
		spec.Group = &g
	}
	if err := d.write(d.spec(), spec); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Not CommandContext: once the supervisor is started nothing takes it back.
	cmd := exec.Command(p.exe, InternalCommand, stageDetach, string(d))
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{}
	if spec.Volume != nil {
		raw, err := json.Marshal(secrets{Key: spec.VolumeKey, Backup: spec.Backup, Local: p.sandbox.LocalRegistries})
		if err != nil {
			return fmt.Errorf("runtime: %w", err)
		}
		cmd.Stdin = bytes.NewReader(raw)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("runtime: start supervisor of %s: %w: %s", spec.LeaseID, err, strings.TrimSpace(string(out)))
	}
	p.log.Debug().Str("lease", spec.LeaseID).Int("arguments", len(spec.Command)).Msg("agent handed the job to its supervisor")
	return nil
}

// Status implements [Runtime].
func (p *Process) Status(_ context.Context, leaseID string) (Status, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return Status{}, err
	}
	return d.status()
}

// Wait returns when the job is over.
func (p *Process) Wait(ctx context.Context, leaseID string) (Status, error) {
	for {
		st, err := p.Status(ctx, leaseID)
		if err != nil || st.Phase.Over() {
			return st, err
		}
		if err := wait.For(ctx, statePoll); err != nil {
			return st, err
		}
	}
}

// Stop implements [Runtime].
func (p *Process) Stop(ctx context.Context, leaseID string, grace time.Duration) (Status, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return Status{}, err
	}
	st, err := d.status()
	if err != nil || st.Phase == Exited {
		return st, err
	}
	if st.Phase == Lost {
		err := errors.Join(d.killLeftovers(), p.detachNetwork(d, leaseID), d.removeVolume())
		removeGroups(leaseID)
		return st, err
	}
	if st.Phase == Created {
		return st, p.forget(d)
	}
	if err := d.write(d.stop(), stopRequest{Grace: grace, At: time.Now().UTC()}); err != nil {
		return st, err
	}
	var r runRecord
	if ok, err := readJSON(d.run(), &r); err != nil {
		return st, err
	} else if ok {
		// Only to be quicker: the supervisor also polls for the request.
		if err := r.Supervisor.Signal(syscall.SIGTERM); err != nil {
			p.log.Warn().Err(err).Str("lease", leaseID).Msg("the signal to the supervisor failed; the supervisor finds the request in its directory")
		}
	}
	if st.Phase == Preparing {
		return p.awaitGone(ctx, d)
	}
	return p.Wait(ctx, leaseID)
}

// Extend implements [Runtime]. The supervisor sees it within a quarter of a second.
func (p *Process) Extend(_ context.Context, leaseID string, left time.Duration) error {
	d, err := p.dir(leaseID)
	if err != nil {
		return err
	}
	if left < 0 {
		return fmt.Errorf("%w: wall time of %v", ErrSpec, left)
	}
	st, err := d.status()
	if err != nil {
		return err
	}
	if st.Phase.Over() {
		return fmt.Errorf("%w: %s", ErrOver, leaseID)
	}
	if left == 0 {
		return d.write(d.wall(), wallRequest{})
	}
	now, err := monotonic()
	if err != nil {
		return err
	}
	return d.write(d.wall(), wallRequest{Until: now + left})
}

// Logs implements [Runtime].
func (p *Process) Logs(ctx context.Context, leaseID string, stream Stream, offset int64, follow bool) (io.ReadCloser, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return nil, err
	}
	if stream != Stdout && stream != Stderr && stream != Output {
		return nil, fmt.Errorf("%w: stream %q", ErrSpec, stream)
	}
	if offset < 0 {
		return nil, fmt.Errorf("%w: log offset %d", ErrSpec, offset)
	}
	if _, err := d.status(); err != nil {
		return nil, err
	}
	// The file may not be there yet; an empty one does no harm.
	f, err := os.OpenFile(d.log(stream), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		f.Close()
		return nil, fmt.Errorf("runtime: %w", err)
	}
	over := func() bool {
		st, err := d.status()
		return err != nil || st.Phase.Over()
	}
	return &logReader{ctx: ctx, f: f, follow: follow, over: over}, nil
}

// Remove implements [Runtime].
func (p *Process) Remove(ctx context.Context, leaseID string) error {
	d, err := p.dir(leaseID)
	if err != nil {
		return err
	}
	st, err := d.status()
	if errors.Is(err, ErrNotFound) {
		return d.remove()
	}
	if err != nil {
		return err
	}
	if st.Phase == Preparing {
		if _, err := p.Stop(ctx, leaseID, 0); err != nil {
			return err
		}
	}
	if st.Phase == Starting || st.Phase == Running || Locked(d.lock()) {
		return fmt.Errorf("%w: %s", ErrRunning, leaseID)
	}
	if err := d.killLeftovers(); err != nil {
		return err
	}
	if err := p.detachNetwork(d, leaseID); err != nil {
		return err
	}
	removeGroups(leaseID)
	if err := d.remove(); err != nil {
		return fmt.Errorf("runtime: remove %s: %w", leaseID, err)
	}
	return nil
}
