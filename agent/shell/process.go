package shell

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killAfter is how long a command whose connection broke may take to end by itself.
const killAfter = 2 * time.Second

// signals are those of RFC 4254, 6.10.
var signals = map[string]syscall.Signal{
	"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "FPE": syscall.SIGFPE, "HUP": syscall.SIGHUP, "ILL": syscall.SIGILL,
	"INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE, "QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV,
	"TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

// signal sends a signal to the process group of the session's command, or to that in its terminal's foreground.
func (s *session) signal(name string) bool {
	sig, ok := signals[strings.TrimPrefix(name, "SIG")]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || s.process == nil {
		return false
	}
	group := s.process.Pid
	if g, ok := s.tty.foreground(); ok {
		group = g
	}
	return syscall.Kill(-group, sig) == nil
}

// hangUp ends a command whose connection is gone: SIGHUP to its session, as when a terminal is closed, then SIGKILL to its
// process group. over is closed when the command has been waited for.
func hangUp(leader int, over <-chan struct{}) {
	for _, pid := range sessionOf(leader) {
		_ = syscall.Kill(pid, syscall.SIGHUP)
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	t := time.NewTimer(killAfter)
	defer t.Stop()
	select {
	case <-over: // the number of its group may be another's
		return
	case <-t.C:
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
	<-over
}

// sessionOf lists the processes of a session.
func sessionOf(leader int) (pids []int) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return []int{leader}
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + n.Name() + "/stat")
		if err != nil {
			continue
		}
		// "PID (NAME) STATE PARENT GROUP SESSION …": a name may hold anything.
		f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(f) > 3 && f[3] == strconv.Itoa(leader) {
			pids = append(pids, pid)
		}
	}
	return pids
}
