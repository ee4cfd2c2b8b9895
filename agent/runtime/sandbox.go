package runtime

import (
	"bufio"
	"bytes"
	"cmp"
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

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/internal/child"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// Sandbox is what jobs with an image need. The zero value runs none.
type Sandbox struct {
	// Runsc is the path of gVisor's runtime.
	Runsc string
	// Programs is the folder for copies of Runsc, so that containers keep the one that started them when an upgrade
	// replaces it; empty where nothing does.
	Programs string
	// GPUs is how containers get the GPUs of their lease; the zero value gives them none.
	GPUs gpus.Driver
	// Driver says how, before each container, in place of GPUs; nil where that does not change.
	Driver func(context.Context) (gpus.Driver, error) `json:"-"`
	// Shell is the path of gantry-shell, the SSH server that is started in containers; empty if there is none.
	Shell string
	// Images is the folder of [image.Store].
	Images string
	// ImageBytes is the most that the files of one image may have together; 0 means [jobspec.MaxImageBytes].
	ImageBytes int64
	// CacheBytes is the most that all images on the node may take; 0 is the default of [image.Options].
	CacheBytes int64
	// LocalRegistries fetches images also from addresses of this machine and of private networks. On local networks it is
	// always so.
	LocalRegistries bool
}

// pullMemory bounds the process that pulls, whatever an archive asks of it.
const pullMemory = 1 << 30

// check says why images cannot be run, or nothing.
func (s Sandbox) check() error {
	switch {
	case s.Runsc == "":
		return fmt.Errorf("%w: it has no runsc; order without an image, or from another node", ErrImage)
	case os.Geteuid() != 0:
		return fmt.Errorf("%w: its agent does not run as root; order without an image, or from another node", ErrImage)
	}
	return nil
}

// container is what a lease's directory says of its image once that was pulled.
type container struct {
	Runsc  string      `json:"runsc"`
	GPUs   gpus.Driver `json:"gpus"`
	Layers string      `json:"layers"`
	Image  image.Image `json:"image"`
	// Bytes is what the image takes on the disk.
	Bytes int64 `json:"bytes,omitempty"`
}

// pullRequest is what the process that pulls is told, by a pipe: its arguments and environment are for everyone to see.
type pullRequest struct {
	Image      string           `json:"image"`
	Sandbox    Sandbox          `json:"sandbox"`
	Credential image.Credential `json:"credential"`
	Own        bool             `json:"own,omitempty"`
	// Most is the most that the image may take in this lease, MiB; 0 for the machine's own limit.
	Most uint64 `json:"most_mib,omitempty"`
}

// Prepare implements [Runtime]. A process of its own pulls, because it reads archives of strangers as root.
func (p *Process) Prepare(ctx context.Context, spec Spec, pull Pull) error {
	if err := p.Check(spec); err != nil || spec.Image == "" {
		return err
	}
	d, err := p.dir(spec.LeaseID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	if err := reserveVolume(d, spec); err != nil {
		return err
	}
	sandbox, err := p.sandbox.now(ctx, spec)
	if err != nil {
		return err
	}
	if d.exists(d.container()) {
		return errors.Join(renewGPUs(d, sandbox), checkImage(d, spec))
	}
	raw, err := json.Marshal(pullRequest{Image: spec.Image, Sandbox: sandbox, Credential: pull.Credential, Own: pull.Own, Most: spec.Limits.ImageMiB})
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	told, tell, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	var hearing sync.WaitGroup
	hearing.Go(func() { pull.hear(told) })
	cmd := exec.CommandContext(ctx, p.exe, InternalCommand, stagePull, string(d))
	cmd.Args[0] = "gantry-agent"
	cmd.Env = []string{}
	cmd.Stdin = bytes.NewReader(raw)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.ExtraFiles = []*os.File{tell} // fdReport
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = child.Run(cmd)
	tell.Close()
	hearing.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("runtime: pull %s: %w", spec.Image, ctx.Err())
	case cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == exitRefused:
		return fmt.Errorf("%w: %s", ErrSpec, lastOf(out.Bytes()))
	case err != nil:
		return fmt.Errorf("%w: %s", ErrPull, lastOf(out.Bytes()))
	}
	return checkImage(d, spec)
}

// Pull is how an image is fetched.
type Pull struct {
	// Credential opens the image for this once, and is written nowhere.
	Credential image.Credential
	// Own: the image is the machine's owner's. One that is there is used without a question to its registry.
	Own bool
	// Report hears how far it is; nil for nothing. Calls do not overlap.
	Report func(image.Progress)
}

// maxReport is how long a report of the process that pulls may be, bytes.
const maxReport = 1 << 10

// hear passes on what the process that pulls reports, until that ends.
func (p Pull) hear(told *os.File) {
	defer told.Close()
	lines := bufio.NewScanner(told)
	lines.Buffer(nil, maxReport)
	for lines.Scan() {
		var now image.Progress
		if json.Unmarshal(lines.Bytes(), &now) == nil && p.Report != nil {
			p.Report(now)
		}
	}
	_, _ = io.Copy(io.Discard, told)
}

// lastOf is the end of what a process has printed.
func lastOf(out []byte) string { return strings.TrimSpace(string(out[max(0, len(out)-500):])) }

// checkImage refuses an image that was fetched and does not run the job, before the lease starts: what the customer's side could
// know, and what another machine may do (the driver that the image requires). A user that the layers lack is missing on every
// machine, and ends the job when it starts.
func checkImage(d leaseDir, spec Spec) error {
	c, err := readContainer(d)
	if err != nil {
		return err
	}
	_, err = jobspec.Arguments(spec.job(), c.Image.Config)
	if err == nil {
		err = jobspec.CheckUser(jobspec.UserOf(spec.job(), c.Image.Config))
	}
	if err == nil && spec.GPUMask != 0 && c.GPUs.Version != "" { // simulated GPUs have no driver
		err = c.GPUs.Require(c.Image.Config.Env, spec.Env)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	return nil
}

// now is the sandbox with the GPUs as they are, for a lease that has some.
func (s Sandbox) now(ctx context.Context, spec Spec) (Sandbox, error) {
	if s.Driver == nil || spec.GPUMask == 0 {
		return s, nil
	}
	var err error
	if s.GPUs, err = s.Driver(ctx); err != nil {
		return s, fmt.Errorf("runtime: the machine's GPUs cannot be given to a container: %w", err)
	}
	return s, nil
}

// renewGPUs writes how a container that is not started yet gets its GPUs: since its image was pulled the driver may have changed.
func renewGPUs(d leaseDir, s Sandbox) error {
	if s.Driver == nil {
		return nil
	}
	c, err := readContainer(d)
	if err != nil {
		return err
	}
	c.GPUs = s.GPUs
	return d.write(d.container(), c)
}

// pull is the process that Prepare starts.
func pull(dir leaseDir) error {
	var r pullRequest
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	ref, err := image.Parse(r.Image)
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil { // a dump would have the credential
		return fmt.Errorf("runtime: limit dumps: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: pullMemory, Max: pullMemory}); err != nil {
		return fmt.Errorf("runtime: limit memory: %w", err)
	}
	store, err := r.Sandbox.store(filepath.Dir(string(dir)))
	if err != nil {
		return err
	}
	tell := json.NewEncoder(os.NewFile(fdReport, "report"))
	report := func(p image.Progress) { _ = tell.Encode(p) } // an agent that does not hear has ended
	_, err = store.Pull(context.Background(), ref, image.PullOptions{Limit: r.limit(), Credential: r.Credential, Own: r.Own, Report: report, Keep: func(i image.Image) error {
		bytes, err := store.Bytes(i)
		if err != nil {
			return err
		}
		return dir.write(dir.container(), container{Runsc: r.Sandbox.Runsc, GPUs: r.Sandbox.GPUs, Layers: store.Layers(), Image: i, Bytes: bytes})
	}})
	return err
}

// limit is the most that the files of the image may have, bytes.
func (r *pullRequest) limit() int64 {
	limit := cmp.Or(r.Sandbox.ImageBytes, jobspec.MaxImageBytes)
	if r.Most > 0 && r.Most < uint64(limit)>>20 {
		return int64(r.Most) << 20
	}
	return limit
}

// besideImage are a job's limits once its image is there: its files have what the image leaves of its share of the disk.
func besideImage(d leaseDir, spec Spec) (Limits, error) {
	l := spec.Limits
	if spec.Image == "" || l.ShareMiB == 0 {
		return l, nil
	}
	c, err := readContainer(d)
	if err != nil {
		return l, err
	}
	left := l.ShareMiB - min(uint64(max(0, c.Bytes)+1<<20-1)>>20, l.ShareMiB-1)
	if l.DiskMiB == 0 || l.DiskMiB > left {
		l.DiskMiB = left
	}
	return l, nil
}

// store opens the node's images for the leases of a folder.
func (s Sandbox) store(leases string) (*image.Store, error) {
	return image.Open(s.Images, image.Options{
		Limit: s.CacheBytes, LocalRegistries: s.LocalRegistries, InUse: func() (map[string]bool, error) { return layersInUse(leases) },
	})
}

// layersInUse are those of leases that are not over. A lease whose end is not known counts until its directory is removed.
func layersInUse(leases string) (map[string]bool, error) {
	entries, err := os.ReadDir(leases)
	if err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		d := leaseDir(filepath.Join(leases, e.Name()))
		var c container
		if d.exists(d.exit()) {
			continue
		}
		if _, err := readJSON(d.container(), &c); err != nil {
			return nil, err
		}
		for _, layer := range c.Image.Layers {
			out[layer] = true
		}
	}
	return out, nil
}

// Images says how full the node's cache of images is, and whether there is one.
func (p *Process) Images() (image.Usage, bool, error) {
	if p.sandbox.check() != nil {
		return image.Usage{}, false, nil
	}
	store, err := p.sandbox.store(p.root)
	if err != nil {
		return image.Usage{}, false, err
	}
	u, err := store.Usage()
	return u, err == nil, err
}

// CleanImages removes what pulls have left that were killed with the machine or the agent.
func (p *Process) CleanImages(ctx context.Context) error {
	if p.sandbox.check() != nil || p.sandbox.Images == "" {
		return nil
	}
	store, err := p.sandbox.store(p.root)
	if err != nil {
		return err
	}
	return store.Clean(ctx)
}

// readContainer reads what pull has written.
func readContainer(dir leaseDir) (container, error) {
	var c container
	ok, err := readJSON(dir.container(), &c)
	if err == nil && !ok {
		err = errors.New("runtime: the image was not pulled")
	}
	return c, err
}
