package child_test

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/child"
)

// onAThreadThatEnds runs f on a thread that ends with it, as code does that changes a thread's namespaces.
func onAThreadThatEnds(f func()) {
	runtime.LockOSThread() // the process's first thread never ends: where this is it, f gets another
	defer runtime.UnlockOSThread()
	thread := make(chan int)
	go func() {
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			onAThreadThatEnds(f)
			thread <- 0
			return
		}
		f()
		thread <- syscall.Gettid()
	}()
	for id := <-thread; id != 0 && syscall.Tgkill(syscall.Getpid(), id, 0) == nil; {
		time.Sleep(time.Millisecond)
	}
}

// A command lives on when the thread ends on which it was asked for. One that asks the kernel for its end itself does not.
func TestACommandOutlivesTheThreadThatAskedForIt(t *testing.T) {
	var wait func() error
	cmd := exec.Command("sleep", "600")
	bare := exec.Command("sleep", "600")
	bare.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err, bareErr error
	onAThreadThatEnds(func() {
		wait, err = child.Start(cmd)
		bareErr = bare.Start()
	})
	require.NoError(t, errors.Join(err, bareErr))
	require.EqualError(t, bare.Wait(), "signal: killed", "it ends with the thread")
	require.NoError(t, cmd.Process.Signal(syscall.Signal(0)), "it still runs")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.EqualError(t, wait(), "signal: terminated")
	require.EqualError(t, wait(), "signal: terminated", "the same each time")
}

func TestWhatCannotStartSaysSo(t *testing.T) {
	require.ErrorIs(t, child.Run(exec.Command("/nowhere/at/all")), syscall.ENOENT)
	require.NoError(t, child.Run(exec.Command("true")))
	var exit *exec.ExitError
	require.ErrorAs(t, child.Run(exec.Command("false")), &exit)
}
