package process

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Errors that callers can test for with errors.Is.
var (
	// ErrLocked means that another supervisor uses the directory.
	ErrLocked = errors.New("directory is in use")
	// ErrUnknown means that no child of that name was started.
	ErrUnknown = errors.New("no such child process")
	// ErrClosed means that the supervisor has been closed.
	ErrClosed = errors.New("supervisor is closed")
	// ErrGaveUp means that a child crashed too often in a row to be started again.
	ErrGaveUp = errors.New("child process keeps crashing")
)

// Restart says what happens when a child ends without having been asked to.
type Restart int

const (
	// Never leaves an ended child alone.
	Never Restart = iota
	// OnCrash starts a child again that was killed or exited with a code other than 0.
	OnCrash
)

// Spec describes a child process.
type Spec struct {
	// Name is unique within a supervisor and names the log and pid files.
	Name string
	// Path is the executable; it is looked up in PATH when it contains no slash.
	Path string
	// Args are the arguments after the program's name.
	Args []string
	// Env is added to the parent's environment.
	Env []string
	// Dir is the working directory; empty means the parent's.
	Dir string
	// Namespaces are new ones that the child gets, such as CLONE_NEWPID; 0 means the parent's.
	Namespaces uintptr
	// Restart is the policy for unexpected ends.
	Restart Restart
	// MaxRestarts limits restarts in a row, a run of StableAfter ends the row. 0 means 20.
	MaxRestarts int
	// StopTimeout is the time between SIGTERM and SIGKILL. 0 means 5 s.
	StopTimeout time.Duration
}

const (
	defaultStopTimeout = 5 * time.Second
	defaultMaxRestarts = 20
	firstBackoff       = 100 * time.Millisecond
	maxBackoff         = 5 * time.Second
	stableAfter        = 10 * time.Second
)

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// withDefaults checks the specification and fills in what was left out.
func (s Spec) withDefaults() (Spec, error) {
	if !validName.MatchString(s.Name) {
		return s, fmt.Errorf("process name %q: want letters, digits, '.', '_' and '-'", s.Name)
	}
	if s.Path == "" {
		return s, fmt.Errorf("process %s: no executable given", s.Name)
	}
	if s.StopTimeout <= 0 {
		s.StopTimeout = defaultStopTimeout
	}
	if s.MaxRestarts <= 0 {
		s.MaxRestarts = defaultMaxRestarts
	}
	return s, nil
}
