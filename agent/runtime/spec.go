package runtime

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	defaultLogBytes  = 16 << 20
	defaultOpenFiles = 4096
	defaultProcesses = 4096
	maxProcesses     = 1 << 22 // PID_MAX_LIMIT of Linux on 64 bits
)

var leaseIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Validate returns ErrSpec with what is wrong.
func (s Spec) Validate() error {
	if !leaseIDPattern.MatchString(s.LeaseID) {
		return fmt.Errorf("%w: lease id %q", ErrSpec, s.LeaseID)
	}
	if err := jobspec.Check(s.job()); err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	if n := len(s.GPUUUIDs); n != 0 && n != bits.OnesCount64(s.GPUMask) {
		return fmt.Errorf("%w: %d GPU ids for %d GPUs", ErrSpec, n, bits.OnesCount64(s.GPUMask))
	}
	if err := s.validateVolume(); err != nil {
		return err
	}
	return s.Limits.validate()
}

// job is the specification as customers' programs know it.
func (s Spec) job() messages.JobSpec {
	return messages.JobSpec{
		Image: s.Image, Command: s.Command, Env: s.Env, Network: s.Network, Volume: s.Volume, MemoryMiB: s.Limits.MemoryMiB, DiskMiB: s.Limits.DiskMiB,
		Entrypoint: s.Entrypoint, User: s.User, ShmMiB: s.Limits.ShmMiB,
	}
}

func (l Limits) validate() error {
	switch {
	case l.CPUs < 0 || math.IsNaN(l.CPUs) || math.IsInf(l.CPUs, 0):
		return fmt.Errorf("%w: %v CPUs", ErrSpec, l.CPUs)
	case l.Wall < 0:
		return fmt.Errorf("%w: wall time of %v", ErrSpec, l.Wall)
	case l.LogBytes < 0:
		return fmt.Errorf("%w: %d log bytes", ErrSpec, l.LogBytes)
	case l.Processes > maxProcesses:
		return fmt.Errorf("%w: %d processes", ErrSpec, l.Processes)
	}
	return nil
}

func (l Limits) logBytes() int64 {
	if l.LogBytes == 0 {
		return defaultLogBytes
	}
	return l.LogBytes
}

// containerFiles are the open files of a container's processes: what they begin with, and what they may raise that to. Without a
// limit these are what servers and databases expect, and the most that the sandbox knows.
func (l Limits) containerFiles() (soft, hard uint64) {
	if l.OpenFiles == 0 {
		return jobspec.SoftFiles, jobspec.HardFiles
	}
	return l.OpenFiles, l.OpenFiles
}

// sharedMemory are the bytes that /dev/shm may hold: half of the container's memory, so that a program that fills it hears that it is
// full, and the container is not killed; or what the customer has chosen, at most all of the memory. 0 without a limit.
func (l Limits) sharedMemory() uint64 {
	switch {
	case l.ShmMiB == 0:
		return l.MemoryMiB << 20 / 2
	case l.MemoryMiB == 0:
		return l.ShmMiB << 20
	}
	return min(l.ShmMiB, l.MemoryMiB) << 20
}

// variables tell programs what they may use: they would count the machine's processors and memory. There is none without a limit.
func (l Limits) variables() map[string]string {
	env := map[string]string{}
	if l.CPUs > 0 {
		env["GANTRY_CPUS"] = strconv.Itoa(max(1, int(l.CPUs)))
	}
	if l.MemoryMiB > 0 {
		env["GANTRY_MEMORY_MIB"] = strconv.FormatUint(l.MemoryMiB, 10)
	}
	return env
}

func (l Limits) openFiles() uint64 {
	if l.OpenFiles == 0 {
		return defaultOpenFiles
	}
	return l.OpenFiles
}

func (l Limits) processes() uint64 {
	if l.Processes == 0 {
		return defaultProcesses
	}
	return l.Processes
}

const defaultPath = jobspec.DefaultPath

// environment is all that a process sees of its surroundings.
func (s Spec) environment(workDir string) []string {
	env := map[string]string{
		"PATH": defaultPath, "HOME": workDir, "PWD": workDir, "TMPDIR": workDir, "LANG": "C.UTF-8", "USER": "gantry",
	}
	for name, value := range s.variables() {
		env[name] = value
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	sort.Strings(out)
	return out
}

// variables are what the node says to every job, and what the customer has set. A container counts the GPUs of its lease from 0, as
// CUDA does there; a process without an image has all of the machine's, and is told which are its own.
func (s Spec) variables() map[string]string {
	mask := s.GPUMask
	if s.Image != "" {
		mask = 1<<bits.OnesCount64(mask) - 1
	}
	var list []string
	for i := 0; i < 64; i++ {
		if mask>>i&1 == 1 {
			list = append(list, strconv.Itoa(i))
		}
	}
	indices := strings.Join(list, ",")
	env := map[string]string{
		"GANTRY_LEASE":      s.LeaseID,
		"GANTRY_GPU_MASK":   strconv.FormatUint(mask, 10),
		"GANTRY_GPUS":       indices,
		"GANTRY_GPU_COUNT":  strconv.Itoa(len(list)),
		"GANTRY_GPU_UUIDS":  strings.Join(s.GPUUUIDs, ","),
		"CUDA_DEVICE_ORDER": "PCI_BUS_ID",
	}
	switch {
	case len(list) == 0:
		env["NVIDIA_VISIBLE_DEVICES"] = "void" // "" would mean: leave it to the driver
		if s.Image == "" {
			env["CUDA_VISIBLE_DEVICES"] = ""
		}
	case s.Image != "":
		env["NVIDIA_VISIBLE_DEVICES"] = "all"
	default:
		visible := indices
		if len(s.GPUUUIDs) > 0 {
			visible = strings.Join(s.GPUUUIDs, ",")
		}
		env["CUDA_VISIBLE_DEVICES"], env["NVIDIA_VISIBLE_DEVICES"] = visible, visible
	}
	if s.Checkpoint != "" {
		env["GANTRY_CHECKPOINT"] = s.Checkpoint
	}
	maps.Copy(env, s.Limits.variables())
	if s.Group != nil {
		maps.Copy(env, s.Group.variables())
	}
	for name, value := range s.Env {
		env[name] = value
	}
	return env
}
