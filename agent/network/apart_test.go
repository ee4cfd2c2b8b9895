package network

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// firstThread has this program try out what a goroutine does that is on the process's first thread.
const firstThread = "GANTRY_TEST_FIRST_THREAD"

func init() {
	if os.Getenv(firstThread) == "" {
		return
	}
	runtime.LockOSThread() // initialisation runs on the first thread
	before, err := os.Readlink("/proc/self/ns/uts")
	if err != nil || unix.Gettid() != unix.Getpid() {
		os.Exit(2)
	}
	done := make(chan error, 1)
	alone(func() error { return unix.Unshare(unix.CLONE_NEWUTS) }, done)
	if err := <-done; err != nil {
		os.Exit(3)
	}
	after, err := os.Readlink("/proc/self/ns/uts")
	if err != nil || after != before {
		os.Exit(4)
	}
	os.Exit(0)
}

// The first thread of a process never ends, so that it enters no namespace: what is made in one would last as long as the agent.
func TestTheFirstThreadStaysWhereItIs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root makes namespaces")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), firstThread+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
