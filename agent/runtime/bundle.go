package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// capabilities are what root in a container may do to its own files and processes. There is none for raw sockets,
// device nodes or the kernel.
var capabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE",
	"CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// upperFolder has, in the lease's own files, what the container has changed of the image.
const upperFolder = "files"

// signalTime is how long a sandbox may take to accept a signal.
const signalTime = 2 * time.Second

// enterBundle mounts the image with the lease's own files above it, writes the container's configuration, and returns the
// command line that runs it. The calling process must be in a mount namespace of its own: the mount ends with it.
func enterBundle(dir leaseDir, spec Spec, inCgroup bool) ([]string, error) {
	c, err := readContainer(dir)
	if err != nil {
		return nil, err
	}
	if err := mountDisk(dir); err != nil {
		return nil, err
	}
	if err := mountVolume(dir, spec); err != nil {
		return nil, err
	}
	upper, work := filepath.Join(dir.work(), upperFolder), filepath.Join(dir.work(), "overlay")
	for _, path := range []string{upper, work, dir.rootfs(), dir.sandboxState()} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, err
		}
	}
	if strings.ContainsAny(upper, ",:\\") {
		return nil, fmt.Errorf("the data folder %s has a comma, colon or backslash in its path, which overlay mounts do not take", upper)
	}
	// Names relative to the folder of layers: the options of a mount are one page long.
	if err := os.Chdir(c.Layers); err != nil {
		return nil, err
	}
	layers := slices.Clone(c.Image.Layers)
	slices.Reverse(layers)
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,redirect_dir=nofollow,metacopy=off", strings.Join(layers, ":"), upper, work)
	if err := unix.Mount("overlay", dir.rootfs(), "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return nil, fmt.Errorf("mount the image: %w", err)
	}
	config, err := ociSpec(spec, c.Image.Config, dir.rootfs())
	if err != nil {
		return nil, err
	}
	if spec.Volume == nil || spec.Volume.Path != temporaryFolder {
		if err := temporary(dir.rootfs(), config); err != nil {
			return nil, err
		}
	}
	if err := addVolume(dir, spec, config); err != nil {
		return nil, err
	}
	version, err := addGPUs(c, spec, config, dir.rootfs())
	if err != nil {
		return nil, err
	}
	config.Linux.Resources = limitsOf(spec.Limits, inCgroup)
	config.Linux.CgroupsPath = "/" + cgroupName(spec.LeaseID)
	kind, err := enterNetwork(dir, spec, config)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(dir.bundleConfig(), raw, 0o600); err != nil {
		return nil, err
	}
	command := []string{
		c.Runsc, "--root", dir.sandboxState(), "--network=" + kind, "--overlay2=none", "--log", os.DevNull, "--nvproxy-driver-version=" + version,
		fmt.Sprintf("--ignore-cgroups=%t", config.Linux.Resources == nil),
	}
	if spec.Group != nil {
		// gVisor tells the kernel where a packet's checksum is as if each interface had Ethernet headers (fdbased/endpoint.go,
		// csumStart). Those of TCP over the private network's, which has none, were damaged, and large ones lost.
		command = append(command, "--gso=false")
	}
	if state := os.Getenv(envResume); state != "" {
		return append(command, "restore", "--image-path", state, "--bundle", string(dir), spec.LeaseID), nil
	}
	return append(command, "run", "--bundle", string(dir), spec.LeaseID), nil
}

// addGPUs gives a container the GPUs of its lease, and returns the version of their driver; none where containers get no GPUs.
func addGPUs(c container, spec Spec, config *specs.Spec, rootfs string) (version string, err error) {
	if c.GPUs.Version == "" || spec.GPUMask == 0 {
		return "", nil
	}
	if len(spec.GPUUUIDs) == 0 {
		return "", fmt.Errorf("the machine's GPUs are not those that the lease was awarded")
	}
	if err := c.GPUs.Require(c.Image.Config.Env, spec.Env); err != nil {
		return "", err
	}
	if err := c.GPUs.Edit(config, spec.GPUUUIDs); err != nil {
		return "", err
	}
	return c.GPUs.Version, errors.Join(c.GPUs.LinkDefaults(rootfs), c.GPUs.AddToCache(rootfs))
}

// cgroupV1 is the folder of the memory controller of cgroup v1, where runsc itself makes a container's groups.
const cgroupV1 = "/sys/fs/cgroup/memory"

// cgroupName is the group of a container, below the root: removed with it, it leaves nothing on the machine.
func cgroupName(leaseID string) string { return "gantry-" + leaseID }

// RemoveGroups removes the control groups of a job that was killed together with its supervisor, and waits a little for those that
// are not empty yet. The lease must be over: a group that was just made for it is empty, too.
func RemoveGroups(leaseID string) {
	for deadline := time.Now().Add(groupWait); removeGroups(leaseID) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		if mount, ok := findCgroup2(string(b)); ok {
			(&cgroup{path: groupPath(mount, leaseID)}).remove()
		}
	}
}

// groupWait is how long groups may take to become empty: what was killed leaves them when the kernel has ended it.
const groupWait = 5 * time.Second

// removeGroups removes the groups of a sandbox that was killed before it could. Groups that are not there, or not empty
// yet, are left: it reports whether there are any of these.
func removeGroups(leaseID string) (busy bool) {
	groups, _ := filepath.Glob(filepath.Join(filepath.Dir(cgroupV1), "*", cgroupName(leaseID)))
	for _, group := range groups {
		busy = errors.Is(os.Remove(group), unix.EBUSY) || busy
	}
	return busy
}

// groupRest is how long a group may be empty: it is entered a moment after it was made.
const groupRest = 10 * time.Minute

// sweepGroups removes groups in which nothing is, whoever has made them: the folder that named their leases may be gone.
func sweepGroups() {
	groups, _ := filepath.Glob(filepath.Join(filepath.Dir(cgroupV1), "*", cgroupName("*")))
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		if mount, ok := findCgroup2(string(b)); ok {
			more, _ := filepath.Glob(groupPath(mount, "*"))
			groups = append(groups, more...)
		}
	}
	for _, group := range groups {
		if info, err := os.Stat(group); err == nil && info.IsDir() && time.Since(info.ModTime()) > groupRest {
			_ = os.Remove(group) // the kernel refuses while something is in it
		}
	}
}

// limitsOf are the limits that runsc sets: those of machines with cgroup v1. With cgroup v2 the supervisor has made a
// group, and everything of the sandbox is in it.
func limitsOf(l Limits, inCgroup bool) *specs.LinuxResources {
	if _, err := os.Stat(cgroupV1); err != nil || inCgroup {
		return nil
	}
	var r specs.LinuxResources
	if l.MemoryMiB > 0 {
		bytes := int64(l.MemoryMiB << 20)
		r.Memory = &specs.LinuxMemory{Limit: &bytes}
	}
	if l.CPUs > 0 {
		period := uint64(100_000) // microseconds
		quota := max(1000, int64(l.CPUs*float64(period)))
		r.CPU = &specs.LinuxCPU{Quota: &quota, Period: &period}
	}
	if l.Background {
		least := uint64(2)
		if r.CPU == nil {
			r.CPU = &specs.LinuxCPU{}
		}
		r.CPU.Shares = &least
	}
	if r.Memory == nil && r.CPU == nil {
		return nil
	}
	return &r
}

// signalContainer sends a signal to a container's first process.
func signalContainer(dir leaseDir, leaseID, signal string) error {
	c, err := readContainer(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), signalTime)
	defer cancel()
	if out, err := exec.CommandContext(ctx, c.Runsc, "--root", dir.sandboxState(), "kill", leaseID, signal).CombinedOutput(); err != nil {
		return fmt.Errorf("runsc kill: %w: %s", err, out)
	}
	return nil
}

// ociSpec is how runsc runs a job.
func ociSpec(spec Spec, config v1.Config, rootfs string) (*specs.Spec, error) {
	args, err := jobspec.Arguments(spec.job(), config)
	if err != nil {
		return nil, err
	}
	name, of := jobspec.UserOf(spec.job(), config)
	who, err := image.User(name, of, rootfs)
	if err != nil {
		return nil, err
	}
	cwd := config.WorkingDir
	if cwd == "" {
		cwd = "/"
	}
	var extra []uint32
	for _, g := range who.Sgids {
		extra = append(extra, uint32(g))
	}
	soft, hard := spec.Limits.containerFiles()
	return &specs.Spec{
		Version: specs.Version,
		Process: &specs.Process{
			User: specs.User{UID: uint32(who.Uid), GID: uint32(who.Gid), AdditionalGids: extra},
			Args: args, Env: containerEnvironment(spec, config.Env, who.Home), Cwd: cwd, NoNewPrivileges: true,
			Capabilities: &specs.LinuxCapabilities{Bounding: capabilities, Effective: capabilities, Permitted: capabilities},
			Rlimits:      []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: hard, Soft: soft}},
		},
		Root: &specs.Root{Path: rootfs}, Hostname: "gantry",
		Mounts: mounts(spec.Limits),
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace}, {Type: specs.NetworkNamespace},
		}},
	}, nil
}

// devBytes bounds what a container can write beside the devices in /dev, which is memory.
const devBytes = 64 << 20

func mounts(l Limits) []specs.Mount {
	shared := []string{"nosuid", "nodev", "mode=1777"}
	if size := l.sharedMemory(); size > 0 {
		shared = append(shared, fmt.Sprintf("size=%d", size))
	}
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{fmt.Sprintf("size=%d", devBytes)}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "tmpfs", Options: shared},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
	}
}

const temporaryFolder = "/tmp"

// temporary gives a container a /tmp on its disk: over one that is empty the sandbox would lay memory. Whatever else the image has
// there stays as it is.
func temporary(rootfs string, config *specs.Spec) error {
	path := filepath.Join(rootfs, temporaryFolder)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Mkdir(path, 0o777); err == nil {
			err = os.Chmod(path, 0o777|os.ModeSticky)
		}
		if err == nil {
			info, err = os.Lstat(path)
		}
	}
	if err != nil {
		return fmt.Errorf("the image's %s: %w", temporaryFolder, err)
	}
	if info.IsDir() {
		config.Mounts = append(config.Mounts, specs.Mount{
			Destination: temporaryFolder, Type: "bind", Source: path, Options: []string{"bind", "rw", "nosuid", "nodev"},
		})
	}
	return nil
}

// containerEnvironment is the image's environment, below what the node and the customer set. It is also that of sessions in
// the container. What the image says to the loader of its programs (LD_LIBRARY_PATH, LD_PRELOAD) holds as in "docker run":
// no program of the node's is loaded there but gantry-shell, which has no loader.
func containerEnvironment(spec Spec, image []string, home string) []string {
	return jobspec.Environment(image, home, spec.variables())
}
