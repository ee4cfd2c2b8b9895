package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/internal/child"
)

// Process is a supervised child: the same Process stands for all its restarts.
type Process struct {
	spec Spec
	sup  *Supervisor

	stop chan struct{} // closed when the child shall end for good
	done chan struct{} // closed when it has ended for good

	mu       sync.Mutex
	cmd      *exec.Cmd
	restarts int
	stopped  bool
	failed   bool      // it is not started again, see Fail
	away     time.Time // not started again before
	err      error     // why it ended, valid when done is closed
}

func newProcess(sup *Supervisor, spec Spec) (*Process, error) {
	p := &Process{spec: spec, sup: sup, stop: make(chan struct{}), done: make(chan struct{})}
	exited, err := p.launch()
	if err != nil {
		return nil, err
	}
	go p.supervise(exited)
	return p, nil
}

// launch starts one run of the child; the channel yields how it ended.
func (p *Process) launch() (<-chan error, error) {
	logFile, err := os.OpenFile(p.LogPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", p.spec.Name, err)
	}
	defer logFile.Close() // the child has its own copy
	cmd := exec.Command(p.spec.Path, p.spec.Args...)
	cmd.Env = append(append(os.Environ(), p.spec.Env...), MarkVariable+"="+p.sup.mark)
	cmd.Dir = p.spec.Dir
	cmd.Stdout, cmd.Stderr = logFile, logFile
	// A group of its own keeps a terminal's Ctrl-C away from the child: the supervisor decides the order of the end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: p.spec.Namespaces}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, ErrClosed
	}
	wait, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	p.cmd = cmd
	if err := os.WriteFile(p.pidPath(), []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o600); err != nil {
		p.sup.log.Warn().Err(err).Str("process", p.spec.Name).Msg("pid file of the process cannot be written")
	}
	exited := make(chan error, 1)
	go func() { exited <- wait() }()
	return exited, nil
}

// supervise follows the child until it ends for good.
func (p *Process) supervise(exited <-chan error) {
	defer close(p.done)
	defer func() { _ = os.Remove(p.pidPath()) }()
	log := p.sup.log.With().Str("process", p.spec.Name).Logger()
	started, backoff, inARow := time.Now(), firstBackoff, 0
	for {
		var err error
		select {
		case err = <-exited:
		case <-p.stop:
			p.setErr(p.terminate(exited))
			return
		}
		if err == nil || p.spec.Restart == Never || p.isFailed() {
			p.setErr(err)
			log.Debug().Err(err).Msg("process ended")
			return
		}
		if time.Since(started) >= stableAfter {
			backoff, inARow = firstBackoff, 0
		}
		for exited = nil; exited == nil; {
			if inARow++; inARow > p.spec.MaxRestarts {
				p.setErr(fmt.Errorf("%w: %s, %d times in a row, at last: %w", ErrGaveUp, p.spec.Name, inARow, err))
				log.Error().Err(err).Str("log", p.LogPath()).Msg("process crashes again and again; supervisor gives up")
				return
			}
			pause := p.pause(backoff)
			log.Warn().Err(err).Dur("pause", pause).Msg("process crashed; supervisor starts it again")
			select {
			case <-time.After(pause):
			case <-p.stop:
				p.setErr(nil)
				return
			}
			backoff = min(2*backoff, maxBackoff)
			started = time.Now()
			if exited, err = p.launch(); err != nil {
				exited = nil
			}
		}
		p.mu.Lock()
		p.restarts++
		p.mu.Unlock()
	}
}

// terminate asks the child to end, then insists. Being ended by us is no error.
func (p *Process) terminate(exited <-chan error) error {
	p.mu.Lock()
	proc := p.cmd.Process
	p.mu.Unlock()
	_ = proc.Signal(syscall.SIGTERM) // fails only when it has ended
	timeout := time.NewTimer(p.spec.StopTimeout)
	defer timeout.Stop()
	select {
	case <-exited:
	case <-timeout.C:
		p.sup.log.Warn().Str("process", p.spec.Name).Dur("after", p.spec.StopTimeout).Msg("process did not stop; supervisor kills it")
		_ = syscall.Kill(-proc.Pid, syscall.SIGKILL)
		<-exited
		return nil
	}
	// What it left in its process group ends with it.
	if err := syscall.Kill(-proc.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end the process group of %s: %w", p.spec.Name, err)
	}
	return nil
}

func (p *Process) setErr(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
}

// Name is the child's name.
func (p *Process) Name() string { return p.spec.Name }

// LogPath is the file with the child's standard output and error.
func (p *Process) LogPath() string { return p.sup.LogPath(p.spec.Name) }

func (p *Process) pidPath() string {
	return filepath.Join(p.sup.dir, "pids", p.spec.Name+".pid")
}

// Pid is the process id of the current or last run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Restarts counts how often the child was started again.
func (p *Process) Restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// Kill sends SIGKILL to the child alone, as a crash would; its restart policy applies.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", p.spec.Name, err)
	}
	return nil
}

// Fail ends the child and its process group with SIGKILL, as the end of its machine would: it is not started again. It
// waits until the child is gone.
func (p *Process) Fail(ctx context.Context) error {
	p.mu.Lock()
	p.failed = true
	pid := p.cmd.Process.Pid
	p.mu.Unlock()
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill the process group of %s: %w", p.spec.Name, err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end of %s: %w", p.spec.Name, ctx.Err())
	}
}

func (p *Process) isFailed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// KillFor kills the child as Kill does, and has it stay away for a time before it is started again.
func (p *Process) KillFor(away time.Duration) error {
	p.mu.Lock()
	p.away = time.Now().Add(away)
	p.mu.Unlock()
	return p.Kill()
}

func (p *Process) pause(backoff time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(backoff, time.Until(p.away))
}

// Stop ends the child for good and waits for it. It returns early with the context's error, the child then ends in the
// background.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	if !p.stopped {
		p.stopped = true
		close(p.stop)
	}
	p.mu.Unlock()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: %w", p.spec.Name, ctx.Err())
	}
}

// Done is closed when the child has ended and will not be started again.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says why the child ended: nil when it was stopped or exited with code 0. It is meaningful after Done.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
