package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// againWait is what the program gets to end in once it is asked to.
const againWait = 30 * time.Second

// Again runs this program once more with other arguments, in new namespaces (CLONE_NEWNET and others), and waits for it. It
// ends with this process.
func Again(ctx context.Context, namespaces uintptr, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = againWait
	// The signal at the parent's death comes when this thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}
