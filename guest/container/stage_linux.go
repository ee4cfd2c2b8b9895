package container

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	"github.com/moby/sys/user"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// IsStage reports whether this process was started by [Run]: its program must call [Stage] first.
func IsStage() bool { return len(os.Args) == 1 && os.Args[0] == stageName }

// stageFailed is the exit code of a process that did not become the container's program.
const stageFailed = 127

// Stage makes a container of this process, and runs the container's program in it. It returns an exit code if that fails.
func Stage() int {
	// Capabilities and no_new_privs belong to the thread that calls execve.
	runtime.LockOSThread()
	report := os.NewFile(fdReport, "report")
	unix.CloseOnExec(fdReport)
	fmt.Fprint(report, become(os.NewFile(fdSpec, "spec")))
	return stageFailed
}

// become returns only where it has failed.
func become(file *os.File) error {
	var s Spec
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return fmt.Errorf("specification: %w", err)
	}
	file.Close()
	if err := s.enter(); err != nil {
		return err
	}
	args, err := jobspec.Arguments(s.Job, s.Config)
	if err != nil {
		return err
	}
	name, of := jobspec.UserOf(s.Job, s.Config)
	who, err := image.User(name, of, "/")
	if err != nil {
		return err
	}
	set := map[string]string{}
	maps.Copy(set, s.Env)
	maps.Copy(set, s.Job.Env)
	env := jobspec.Environment(s.Config.Env, who.Home, set)
	if err := workIn(s.Config.WorkingDir, who); err != nil {
		return err
	}
	if err := limit(who); err != nil {
		return err
	}
	path, err := lookPath(args[0], env)
	if err != nil {
		return err
	}
	if err := unix.CloseRange(fdSpec, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	return fmt.Errorf("run %.128q: %w", args[0], syscall.Exec(path, args, env))
}

// workIn goes to the container's working folder, which is made if the image lacks it.
func workIn(dir string, who *user.ExecUser) error {
	if dir == "" {
		dir = "/"
	}
	if _, err := os.Stat(dir); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("working folder of the image: %w", err)
		}
		if err := os.Chown(dir, who.Uid, who.Gid); err != nil {
			return fmt.Errorf("working folder of the image: %w", err)
		}
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("working folder of the image: %w", err)
	}
	return nil
}

// lookPath finds the program as the container's user would. It asks in the container's PATH.
func lookPath(program string, env []string) (string, error) {
	for _, pair := range env {
		if len(pair) > 5 && pair[:5] == "PATH=" {
			if err := os.Setenv("PATH", pair[5:]); err != nil {
				return "", err
			}
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("the image's program %.128q: %w", program, err)
	}
	return path, nil
}

// kept are the capabilities of root in a container, as agents give them: for its own files and processes.
var kept = []uintptr{
	unix.CAP_AUDIT_WRITE, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_NET_BIND_SERVICE,
	unix.CAP_SETFCAP, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SYS_CHROOT,
}

// limit takes away what the container's program may not do, and makes this thread its user's.
func limit(who *user.ExecUser) error {
	var files unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	if err == nil && unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: jobspec.SoftFiles, Max: jobspec.HardFiles}) != nil { // not a machine of its own
		err = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(jobspec.SoftFiles, files.Max), Max: files.Max})
	}
	if err != nil {
		return fmt.Errorf("open files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("core files: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	// What is not in the bounding set, root does not have after execve.
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_READ, c, 0, 0, 0) == nil; c++ {
		if slices.Contains(kept, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Setgroups(who.Sgids); err != nil {
		return fmt.Errorf("groups of the user: %w", err)
	}
	if err := unix.Setresgid(who.Gid, who.Gid, who.Gid); err != nil {
		return fmt.Errorf("group of the user: %w", err)
	}
	if err := unix.Setresuid(who.Uid, who.Uid, who.Uid); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	return nil
}
