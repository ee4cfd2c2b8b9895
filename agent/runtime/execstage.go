package runtime

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"os/exec"
	goruntime "runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors that the supervisor hands to the exec stage.
const (
	fdReport = 3 // an error message, or end of file when the job took over; how far it is, of the process that pulls
	fdGate   = 4 // one byte once the supervisor has written down who runs
	fdVolume = 5 // the mount of the job's volume, if it has one
)

// envSupervisor names the supervisor's process.
const envSupervisor = "GANTRY_INTERNAL_SUPERVISOR"

// envRun marks the processes of one run of a job by a random value. The lease's address would not do: everybody knows it, so that a
// process outside the job may have it in its environment.
const envRun = "GANTRY_RUN"

// envResume names the folder of the state that a container goes on from.
const envResume = "GANTRY_INTERNAL_RESUME"

// envCgroup tells the exec stage that a cgroup limits memory and CPUs already.
const envCgroup = "GANTRY_INTERNAL_CGROUP"

// becomeJob limits this process and replaces it by the job. It returns only when that fails.
func becomeJob(dir leaseDir) int {
	// Affinity, no_new_privs and the signal at the supervisor's death belong to the thread that calls execve, which need not
	// be the one that this process began with.
	goruntime.LockOSThread()
	unix.CloseOnExec(fdReport)
	unix.CloseOnExec(fdGate)
	report := os.NewFile(fdReport, "report")
	gate := os.NewFile(fdGate, "gate")
	fail := func(err error) int {
		fmt.Fprint(report, err)
		return 127
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fail(fmt.Errorf("end with the supervisor: %w", err))
	}
	if strconv.Itoa(os.Getppid()) != os.Getenv(envSupervisor) {
		return fail(errors.New("supervisor went away")) // before this could have been told
	}
	var spec Spec
	if ok, err := readJSON(dir.spec(), &spec); err != nil || !ok {
		return fail(fmt.Errorf("specification of %s: %w", dir, err))
	}
	inCgroup := os.Getenv(envCgroup) == "1"
	path, command, env, err := commandOf(dir, spec, inCgroup)
	if err != nil {
		return fail(err)
	}
	if n, _ := gate.Read(make([]byte, 1)); n != 1 {
		return 127 // the supervisor has ended, or knows why
	}
	if err := limitSelf(spec, inCgroup); err != nil {
		return fail(err)
	}
	if err := closeOnExecAll(); err != nil {
		return fail(err)
	}
	if spec.Limits.MemoryMiB > 0 && spec.Image == "" && !inCgroup {
		// Writable private memory, not address space: programs that reserve much and use little (CUDA, Go, Java) stay
		// able to run.
		return fail(fmt.Errorf("exec %s: %w", path, execWithData(path, command, env, spec.Limits.MemoryMiB<<20)))
	}
	return fail(fmt.Errorf("exec %s: %w", path, syscall.Exec(path, command, env)))
}

// execWithData replaces this process by another that may have so many bytes of data. The limit may be less than this
// process has: between the two system calls it cannot allocate.
func execWithData(path string, command, env []string, bytes uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return fmt.Errorf("data size: %w", err)
	}
	bytes = min(bytes, now.Max)
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(command)
	if err != nil {
		return err
	}
	envv, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	return limitDataAndExec(&syscall.Rlimit{Cur: bytes, Max: bytes}, name, &argv[0], &envv[0])
}

// limitDataAndExec makes two system calls, and nothing between them. It returns only when one fails.
//
//go:norace
//go:nosplit
func limitDataAndExec(l *syscall.Rlimit, name *byte, argv, env **byte) error {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, unix.RLIMIT_DATA, uintptr(unsafe.Pointer(l)), 0, 0, 0); errno != 0 {
		return errno
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(argv)), uintptr(unsafe.Pointer(env)))
	return errno
}

// commandOf returns what this process becomes: the job, or the sandbox around it.
func commandOf(dir leaseDir, spec Spec, inCgroup bool) (path string, command, env []string, err error) {
	mark := envRun + "=" + os.Getenv(envRun)
	if spec.Image != "" {
		command, err = enterBundle(dir, spec, inCgroup)
		if err != nil {
			return "", nil, nil, err
		}
		return command[0], command, []string{mark, "PATH=" + defaultPath}, nil
	}
	env = append(spec.environment(dir.work()), mark)
	if err := os.Setenv("PATH", lookup(env, "PATH")); err != nil {
		return "", nil, nil, err
	}
	path, err = exec.LookPath(spec.Command[0])
	return path, spec.Command, env, err
}

// closeOnExecAll keeps every descriptor but the standard three from the job, also those that the process which started the agent
// left open by mistake.
func closeOnExecAll() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Kernels before 5.11 do not know the flag.
	names, derr := os.ReadDir("/proc/self/fd")
	if derr != nil {
		return fmt.Errorf("close descriptors: %w", errors.Join(err, derr))
	}
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

func lookup(env []string, name string) string {
	for _, e := range env {
		if len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
			return e[len(name)+1:]
		}
	}
	return ""
}

// limitSelf sets what the kernel enforces for a process and what it starts, but for the size of its data.
func limitSelf(spec Spec, inCgroup bool) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	l := spec.Limits
	if l.CPUs > 0 && !inCgroup {
		if err := pinCPUs(spec.LeaseID, l.CPUs); err != nil {
			return err
		}
	}
	if spec.Image != "" {
		// What follows is for processes of the machine: a sandbox keeps files and memory of many in one process, and
		// limits the container's own by its configuration.
		return nil
	}
	set := func(name string, resource int, value uint64) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		value = min(value, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	if err := set("core size", unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if err := set("open files", unix.RLIMIT_NOFILE, l.openFiles()); err != nil {
		return err
	}
	if !inCgroup {
		others, err := tasksOf(os.Getuid())
		if err != nil {
			return err
		}
		if err := set("processes", unix.RLIMIT_NPROC, others+l.processes()); err != nil {
			return err
		}
	}
	if l.DiskMiB > 0 {
		if err := set("file size", unix.RLIMIT_FSIZE, l.DiskMiB<<20); err != nil {
			return err
		}
	}
	return nil
}

// pinCPUs keeps the thread, and all that it becomes, on a number of the processors it may use now. Which ones depends
// on the lease, so that small jobs do not all meet on the first.
func pinCPUs(leaseID string, cpus float64) error {
	var now, want unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		return fmt.Errorf("affinity: %w", err)
	}
	var have []int
	for i := 0; i < 1024; i++ {
		if now.IsSet(i) {
			have = append(have, i)
		}
	}
	count := int(math.Ceil(min(cpus, 1024)))
	if len(have) == 0 || count >= len(have) {
		return nil
	}
	h := fnv.New32a()
	h.Write([]byte(leaseID))
	for k := 0; k < count; k++ {
		want.Set(have[(int(h.Sum32()%uint32(len(have)))+k)%len(have)])
	}
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		return fmt.Errorf("affinity: %w", err)
	}
	return nil
}
