package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Spec is a container.
type Spec struct {
	// Store is the folder of the image's layers, and Layers their names in it, the lowest first.
	Store  string
	Layers []string
	// Dir is a folder for what the container writes.
	Dir string
	// Config is the image's.
	Config v1.Config
	// Job is the customer's. Its image is not read.
	Job messages.JobSpec
	// Env are variables that the guest sets.
	Env map[string]string
	// Resolv is the content of /etc/resolv.conf.
	Resolv string
	// DiskBytes is the most that the container may write, 0 for half of the machine's memory; SharedBytes that of /dev/shm.
	DiskBytes, SharedBytes uint64
}

// ErrNotRun: the container's program was not started.
var ErrNotRun = errors.New("the container did not start")

// stageName is the name of the process that becomes the container's program.
const stageName = "gantry-container"

// Descriptors of that process.
const (
	fdSpec   = 3
	fdReport = 4 // an error message, or its end once the program runs
)

// signalled is added to the number of a signal that has ended the program, as shells do.
const signalled = 128

// Run runs a container until its first process ends, and returns the exit code. All of its processes end then. Both of its outputs are
// written to output, one piece at a time. Errors: ErrNotRun, the context's, output's.
func Run(ctx context.Context, s Spec, g *Group, output io.Writer) (int, error) {
	spec, err := json.Marshal(s)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	in, toStage, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	defer in.Close()
	defer toStage.Close()
	fromStage, report, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	defer fromStage.Close()
	defer report.Close()

	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{stageName}, []string{}, "/"
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{in, report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP, Setsid: true}
	if s.Job.Network == "" {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	}
	if g != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(g.folder.Fd())
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	in.Close()
	report.Close()
	_, sent := toStage.Write(spec)
	toStage.Close()
	why, _ := io.ReadAll(fromStage) // its end comes with the program, or with the process
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("the container was ended: %w", ctx.Err())
	case len(why) > 0:
		return 0, fmt.Errorf("%w: %s", ErrNotRun, why)
	case sent != nil:
		return 0, fmt.Errorf("%w: %w", ErrNotRun, sent)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("output of the container: %w", err)
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return signalled + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// Group is a control group for a container.
type Group struct {
	path   string
	folder *os.File
}

// processes is the most that a container may have.
const processes = 32768

// period of cpu.max, microseconds.
const period = 100_000

// NewGroup makes a control group of version 2 under a mount, for a container that may use so many bytes of memory and processors; 0
// processors for all.
func NewGroup(mount string, memory uint64, cpus uint32) (*Group, error) {
	g := &Group{path: filepath.Join(mount, "job")}
	set := func(file, value string) error { return os.WriteFile(file, []byte(value), 0) }
	err := set(filepath.Join(mount, "cgroup.subtree_control"), "+cpu +memory +pids")
	if err == nil {
		err = os.Mkdir(g.path, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	values := map[string]string{"memory.max": fmt.Sprint(memory), "memory.oom.group": "1", "pids.max": fmt.Sprint(processes)}
	if cpus > 0 {
		values["cpu.max"] = fmt.Sprint(uint64(cpus)*period, period)
	}
	for name, value := range values {
		if err := set(filepath.Join(g.path, name), value); err != nil {
			return nil, errors.Join(fmt.Errorf("control group: %w", err), os.Remove(g.path))
		}
	}
	if g.folder, err = os.Open(g.path); err != nil {
		return nil, errors.Join(fmt.Errorf("control group: %w", err), os.Remove(g.path))
	}
	return g, nil
}

// Close removes the group, in which nothing may be any more.
func (g *Group) Close() error { return errors.Join(g.folder.Close(), os.Remove(g.path)) }
