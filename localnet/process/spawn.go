package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one operating-system thread of its own. A parent-death signal is sent when the thread
// that started the child ends, not the process, and Go may end threads; this one stays until close.
type spawner struct {
	requests chan spawnRequest
	once     sync.Once
	stopped  chan struct{}
}

type spawnRequest struct {
	cmd  *exec.Cmd
	done chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), stopped: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
	defer close(s.stopped)
	for r := range s.requests {
		r.done <- r.cmd.Start()
	}
}

func (s *spawner) start(cmd *exec.Cmd) error {
	r := spawnRequest{cmd: cmd, done: make(chan error, 1)}
	s.requests <- r
	return <-r.done
}

// close must come after every child has ended and no start can follow.
func (s *spawner) close() {
	s.once.Do(func() { close(s.requests) })
	<-s.stopped
}
