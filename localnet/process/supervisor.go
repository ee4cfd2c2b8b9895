package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rs/zerolog"
)

// Supervisor owns the child processes of one local network. Its methods may be called from several goroutines.
type Supervisor struct {
	dir  string
	mark string
	log  zerolog.Logger
	lock *os.File

	mu       sync.Mutex
	closed   bool
	children []*Process
}

// New opens a supervisor that keeps its files in dir: lock, mark, logs/NAME.log and pids/NAME.pid. It fails with
// ErrLocked when another supervisor uses dir. Processes that an earlier supervisor in dir left behind are killed.
func New(dir string, log zerolog.Logger) (*Supervisor, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	for _, sub := range []string{"logs", "pids"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	killed, err := killLeft(dir)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	if killed > 0 {
		log.Warn().Int("processes", killed).Str("dir", dir).Msg("supervisor killed processes of an earlier run")
	}
	mark, err := newMark(dir)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &Supervisor{dir: dir, mark: mark, log: log, lock: lock}, nil
}

// Dir is the directory of the supervisor's files.
func (s *Supervisor) Dir() string { return s.dir }

// LogPath is the file that the named child writes its standard output and error to.
func (s *Supervisor) LogPath(name string) string { return filepath.Join(s.dir, "logs", name+".log") }

// Start starts a child and returns when it runs. A name may be used again after its process has ended for good.
func (s *Supervisor) Start(spec Spec) (*Process, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	for i, p := range s.children {
		if p.spec.Name != spec.Name {
			continue
		}
		select {
		case <-p.done:
			s.children = slices.Delete(s.children, i, i+1)
		default:
			return nil, fmt.Errorf("process %s is already running", spec.Name)
		}
		break
	}
	p, err := newProcess(s, spec)
	if err != nil {
		return nil, err
	}
	s.children = append(s.children, p)
	return p, nil
}

// Process returns the child last started under that name.
func (s *Supervisor) Process(name string) (*Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.children {
		if p.spec.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknown, name)
}

// Names lists the children in the order they were started.
func (s *Supervisor) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.children))
	for i, p := range s.children {
		names[i] = p.spec.Name
	}
	return names
}

// Kill ends the named child with SIGKILL, as a crash would: its restart policy applies.
func (s *Supervisor) Kill(name string) error {
	p, err := s.Process(name)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Close stops all children, the last started first, kills every process they left, and releases the directory. It may
// be called more than once.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	children := slices.Clone(s.children)
	s.mu.Unlock()

	var errs []error
	for _, p := range slices.Backward(children) {
		if err := p.Stop(context.Background()); err != nil {
			errs = append(errs, err)
		}
	}
	if _, err := killLeft(s.dir); err != nil {
		errs = append(errs, err)
	}
	if err := s.lock.Close(); err != nil {
		errs = append(errs, fmt.Errorf("release %s: %w", s.dir, err))
	}
	return errors.Join(errs...)
}
