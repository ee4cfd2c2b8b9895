package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// cgroup is one job's group in the unified hierarchy.
type cgroup struct {
	path string
	fd   *os.File
}

// findCgroup2 returns the mount point of the unified hierarchy.
func findCgroup2(mountinfo string) (mount string, ok bool) {
	mount, _, ok = mountOfCgroup2(mountinfo)
	return mount, ok
}

// mountOfCgroup2 also says whether it is mounted read-only.
func mountOfCgroup2(mountinfo string) (mount string, readOnly, ok bool) {
	for _, line := range strings.Split(mountinfo, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		f := strings.Fields(left)
		if ok && len(f) >= 6 && strings.HasPrefix(right, "cgroup2 ") {
			return f[4], contains(strings.Split(f[5], ","), "ro"), true
		}
	}
	return "", false, false
}

var errNoCgroup2 = errors.New("no cgroup v2 is mounted")

// ErrCgroupsOfContainer: the agent is in a container that does not have the machine's control groups.
var ErrCgroupsOfContainer = errors.New("the agent's container does not have the control groups of its machine")

// newCgroup makes a group with the limits, or says why it cannot.
func newCgroup(leaseID string, l Limits) (*cgroup, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	mount, ok := findCgroup2(string(b))
	if !ok {
		return nil, errNoCgroup2
	}
	return makeCgroup(mount, leaseID, l)
}

// groupPath is where a job's group is.
func groupPath(mount, leaseID string) string { return filepath.Join(mount, "gantry", leaseID) }

// CheckCgroups says why jobs could not be limited by control groups, or nothing. The root is put before the paths of the system; it is
// empty for this machine.
func CheckCgroups(root string) error {
	b, err := os.ReadFile(filepath.Join("/", root, "proc/self/mountinfo"))
	if err != nil {
		return err
	}
	mount, readOnly, ok := mountOfCgroup2(string(b))
	switch {
	case !ok:
		return errNoCgroup2
	case readOnly:
		return fmt.Errorf("%w: %s is read-only", ErrCgroupsOfContainer, mount)
	}
	mount = filepath.Join("/", root, mount)
	if err := checkControllers(mount); err != nil {
		return err
	}
	return checkDivides(mount)
}

// checkDivides says why a group cannot be divided between jobs: only the root of all groups can while processes are in it.
func checkDivides(mount string) error {
	if _, err := os.Stat(filepath.Join(mount, "cgroup.type")); err != nil {
		return nil // the root has no such file
	}
	divided, err := os.ReadFile(filepath.Join(mount, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	inside, err := os.ReadFile(filepath.Join(mount, "cgroup.procs"))
	if err != nil {
		return err
	}
	if len(lacking(divided)) > 0 && len(strings.TrimSpace(string(inside))) > 0 {
		return fmt.Errorf("%w: it has a namespace of control groups of its own, whose root has processes", ErrCgroupsOfContainer)
	}
	return nil
}

// lacking are the controllers that jobs need and a list has not.
func lacking(list []byte) (missing []string) {
	have := strings.Fields(string(list))
	for _, c := range []string{"cpu", "memory", "pids"} {
		if !contains(have, c) {
			missing = append(missing, c)
		}
	}
	return missing
}

func checkControllers(mount string) error {
	have, err := os.ReadFile(filepath.Join(mount, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if missing := lacking(have); len(missing) > 0 {
		return fmt.Errorf("cgroup v2 at %s lacks %s", mount, strings.Join(missing, ", "))
	}
	return nil
}

func makeCgroup(mount, leaseID string, l Limits) (*cgroup, error) {
	if err := checkControllers(mount); err != nil {
		return nil, err
	}
	path := groupPath(mount, leaseID)
	parent := filepath.Dir(path)
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for _, dir := range []string{mount, parent} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0); err != nil {
			return nil, err
		}
	}
	g := &cgroup{path: path}
	if err := os.Mkdir(g.path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := g.limit(l); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

func (g *cgroup) limit(l Limits) error {
	set := func(name, value string) error {
		return os.WriteFile(filepath.Join(g.path, name), []byte(value), 0)
	}
	if l.MemoryMiB > 0 {
		if err := set("memory.max", strconv.FormatUint(l.MemoryMiB<<20, 10)); err != nil {
			return err
		}
		if err := set("memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if l.CPUs > 0 {
		const period = 100_000 // microseconds
		if err := set("cpu.max", fmt.Sprintf("%d %d", max(1000, int64(l.CPUs*period)), period)); err != nil {
			return err
		}
	}
	if l.Background {
		if err := set("cpu.weight", "1"); err != nil {
			return err
		}
	}
	return set("pids.max", strconv.FormatUint(l.processes(), 10))
}

// place makes a process start inside of the group.
func (g *cgroup) place(attr *syscall.SysProcAttr) error {
	f, err := os.Open(g.path)
	if err != nil {
		return err
	}
	g.fd = f
	attr.UseCgroupFD, attr.CgroupFD = true, int(f.Fd())
	return nil
}

// outOfMemory reports whether the kernel killed something for memory.
func (g *cgroup) outOfMemory() bool {
	b, err := os.ReadFile(filepath.Join(g.path, "memory.events"))
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(b), "\n") {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
			return true
		}
	}
	return false
}

// kill ends everything in the group.
func (g *cgroup) kill() {
	// Not there on kernels before 5.14; the walk over the tree does it then.
	_ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
}

func (g *cgroup) remove() {
	if g.fd != nil {
		g.fd.Close()
	}
	_ = os.Remove(g.path) // stays if something in it is still dying; an empty group costs nothing
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
