package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"github.com/gantry-market/gantry/agent/network"
)

// ErrUnavailable means that this computer cannot run such machines; the error says why.
var ErrUnavailable = errors.New("no machine in namespaces of its own")

// TryFlag makes the command of a machine try what it needs, and end.
const TryFlag = "try"

// Try runs the command that runs machines in namespaces of its own, to find out whether this computer can. Error: ErrUnavailable.
func Try(ctx context.Context, command ...string) error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: it needs root", ErrUnavailable)
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "--"+TryFlag)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: Namespaces, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	// The signal at the parent's death comes when this thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	if err != nil {
		said := strings.TrimPrefix(strings.TrimSpace(string(out)), "error: ")
		if said == "" {
			said = err.Error()
		}
		return fmt.Errorf("%w: %s", ErrUnavailable, said)
	}
	return nil
}

// RunTry is what the command does then, as the first process of [Namespaces].
func RunTry() error {
	own, _, err := enter()
	if err != nil {
		return err
	}
	return own.do(func() error {
		n, err := network.New(network.Options{Owner: TryFlag})
		if err != nil {
			return err
		}
		if _, err := n.Plan(); err != nil {
			return err
		}
		if _, err := os.Stat("/dev/loop-control"); errors.Is(err, fs.ErrNotExist) {
			return errors.New("the kernel has no loop devices, on which the files of containers lie (modprobe loop)")
		}
		return nil
	})
}
