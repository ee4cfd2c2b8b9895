package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// Usage is what a job uses now, and what it has used since it began.
type Usage struct {
	At time.Time
	// CPU is the processors' time that the job has had.
	CPU time.Duration
	// Memory and Disk are bytes in use, DiskLimit what the job's files may take; 0 is not limited.
	Memory, Disk, DiskLimit uint64
	// Volume are bytes in use of the job's volume, VolumeSize what its file system has for files; 0 without a volume.
	Volume, VolumeSize uint64
	// Sent and Received are bytes of a container's network.
	Sent, Received uint64
}

// clockTick is how long the kernel's unit of a process's times is, on every architecture that Linux has.
const clockTick = 10 * time.Millisecond

// Usage implements [Runtime].
func (p *Process) Usage(_ context.Context, leaseID string) (Usage, error) {
	d, err := p.dir(leaseID)
	if err != nil {
		return Usage{}, err
	}
	st, err := d.status()
	switch {
	case err != nil:
		return Usage{}, err
	case st.Phase != Running:
		return Usage{}, st.Phase.notRunning()
	}
	var run runRecord
	if _, err := readJSON(d.run(), &run); err != nil {
		return Usage{}, err
	}
	u := Usage{At: time.Now(), DiskLimit: st.Spec.Limits.DiskMiB << 20}
	if u.CPU, u.Memory, err = run.consumption(leaseID); err != nil {
		return u, err
	}
	if u.Disk, err = run.diskUsed(d, st.Spec.Limits); err != nil {
		return u, err
	}
	if st.Spec.Volume != nil {
		if u.Volume, u.VolumeSize, err = run.mounted(d.volume()); err != nil {
			return u, fmt.Errorf("runtime: the job's volume: %w", err)
		}
	}
	if st.Spec.Network != "" {
		if u.Sent, u.Received, err = p.network.Traffic(leaseID); err != nil {
			return u, err
		}
	}
	return u, nil
}

// consumption is what the job's group says of it, or its processes where it has no group.
func (r runRecord) consumption(leaseID string) (time.Duration, uint64, error) {
	if r.Cgroup != "" {
		return groupUse(filepath.Join(r.Cgroup, "cpu.stat"), "usage_usec ", time.Microsecond,
			filepath.Join(r.Cgroup, "memory.current"), filepath.Join(r.Cgroup, "memory.stat"), "inactive_file ")
	}
	memory := filepath.Join(cgroupV1, cgroupName(leaseID))
	if _, err := os.Stat(memory); err == nil {
		processors := filepath.Join(filepath.Dir(cgroupV1), "cpuacct", cgroupName(leaseID), "cpuacct.usage")
		return groupUse(processors, "", time.Nanosecond,
			filepath.Join(memory, "memory.usage_in_bytes"), filepath.Join(memory, "memory.stat"), "total_inactive_file ")
	}
	return r.treeUse()
}

// groupUse reads a group's processor time and memory. Pages of files that no process uses any more are the kernel's to take back,
// and left out.
func groupUse(processors, label string, unit time.Duration, memory, stat, idle string) (time.Duration, uint64, error) {
	spent, err := counter(processors, label)
	if err != nil {
		return 0, 0, err
	}
	used, err := counter(memory, "")
	if err != nil {
		return 0, 0, err
	}
	unused, err := counter(stat, idle)
	return time.Duration(spent) * unit, used - min(used, unused), err
}

// counter reads a number of a file: the whole of it, or what follows a label at the begin of a line.
func counter(path, label string) (uint64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("runtime: %w", err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if text, ok := strings.CutPrefix(line, label); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("runtime: %s: %w", path, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("runtime: %s has no %q", path, strings.TrimSpace(label))
}

// treeUse adds up what the supervisor's descendants say of themselves and of the children that they have waited for. Memory
// that several of them share is divided between them.
func (r runRecord) treeUse() (spent time.Duration, memory uint64, err error) {
	all, err := listProcesses()
	if err != nil {
		return 0, 0, err
	}
	for _, p := range descendants(all, r.Supervisor.PID) {
		dir := "/proc/" + strconv.Itoa(p.pid)
		raw, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it is gone
		}
		f := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(f) < 15 {
			continue
		}
		for _, text := range f[11:15] { // its own time and its children's, of itself and of the kernel for it
			ticks, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("runtime: %s/stat: %w", dir, err)
			}
			spent += time.Duration(ticks) * clockTick
		}
		share, err := os.ReadFile(dir + "/smaps_rollup")
		if err != nil {
			memory += p.residentPages * uint64(os.Getpagesize())
			continue
		}
		for _, line := range strings.Split(string(share), "\n") {
			if text, ok := strings.CutPrefix(line, "Pss:"); ok {
				kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
				if err != nil {
					return 0, 0, fmt.Errorf("runtime: %s/smaps_rollup: %w", dir, err)
				}
				memory += kib << 10
			}
		}
	}
	return spent, memory, nil
}

// diskUsed is what the job has written: its own file system's use, or that of its directory.
func (r runRecord) diskUsed(d leaseDir, l Limits) (uint64, error) {
	if r.Disk == "" {
		return diskUse(d.work(), jobspec.MaxMiB<<20), nil
	}
	used, _, err := r.mounted(d.work())
	if err != nil {
		return 0, fmt.Errorf("runtime: the job's disk: %w", err)
	}
	return used, nil
}

// mounted says how much of a file system is in use that is mounted for the job's processes alone, and how large it is.
func (r runRecord) mounted(path string) (used, size uint64, err error) {
	var st unix.Statfs_t
	process := filepath.Join("/proc", strconv.Itoa(r.Job.PID))
	path = filepath.Join(process, "root", path)
	if err := unix.Statfs(path, &st); err != nil {
		failed := &os.PathError{Op: "statfs", Path: path, Err: err}
		if _, gone := os.Stat(process); gone == nil && errors.Is(err, fs.ErrNotExist) {
			return 0, 0, fmt.Errorf("%w: %w", ErrStarting, failed)
		}
		return 0, 0, failed
	}
	return (st.Blocks - st.Bfree) * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), nil
}
