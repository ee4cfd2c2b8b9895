// Package child starts processes that end with this one.
package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts a command that the kernel kills when this process ends, however it does. The returned function waits for the command's
// end, and says the same each time.
//
// Linux sends the signal (prctl(2), PR_SET_PDEATHSIG) when the thread ends that has started the command, and Go ends the thread of a
// goroutine that has it for itself. So the command has a thread of its own until it ends. What reads a pipe of the command may find it
// closed once the command has ended: set cmd.Stdout and cmd.Stderr instead.
func Start(cmd *exec.Cmd) (wait func() error, err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, ended := make(chan error), make(chan error, 1)
	go func() { // ends with the command
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return sync.OnceValue(func() error { return <-ended }), nil
}

// Run is Start, and waits.
func Run(cmd *exec.Cmd) error {
	wait, err := Start(cmd)
	if err != nil {
		return err
	}
	return wait()
}
