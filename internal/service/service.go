// Package service tells systemd how a daemon does, by sd_notify: that it serves, how it is, that its loops turn, and that it ends.
package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/printable"
)

// statusEvery is how often the status is looked at.
const statusEvery = 5 * time.Second

// Manager is the service manager that has started this process. The zero value is none.
type Manager struct {
	// Send sends lines such as READY=1; nil for no manager.
	Send func(state string) error
	// Watchdog is after which silence the manager ends the process; 0 for never.
	Watchdog time.Duration
}

// FromEnv finds the manager by NOTIFY_SOCKET and WATCHDOG_USEC.
func FromEnv() (Manager, error) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return Manager{}, fmt.Errorf("WATCHDOG_USEC: %w", err)
	}
	send := func(state string) error {
		_, err := daemon.SdNotify(false, state) // it sends nothing without NOTIFY_SOCKET
		return err
	}
	return Manager{Send: send, Watchdog: watchdog}, nil
}

// Service speaks for one daemon. Run sends what is due in time.
type Service struct {
	m     Manager
	state func() []string
	log   zerolog.Logger

	mu     sync.Mutex
	loops  []*Loop
	ready  bool
	status string
}

// New speaks to a manager. State lists what keeps the daemon from its work, as /readyz does; it is asked after Ready.
func New(m Manager, state func() []string, log zerolog.Logger) *Service {
	return &Service{m: m, state: state, log: log}
}

// Loop is a loop of the daemon. The watchdog is told that all is well only while each loop turns in time.
type Loop struct {
	name string
	most time.Duration
	s    *Service
	last time.Time // guarded by s.mu
	late bool      // the same
}

// Loop watches a loop from now on; most is the longest time that one turn may take.
func (s *Service) Loop(name string, most time.Duration) *Loop {
	l := &Loop{name: name, most: most, s: s, last: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loops = append(s.loops, l)
	return l
}

// Turn notes that the loop has begun another turn.
func (l *Loop) Turn() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.last, l.late = time.Now(), false
}

// End notes that the loop is over, and nobody waits for it.
func (l *Loop) End() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.loops = slices.DeleteFunc(l.s.loops, func(other *Loop) bool { return other == l })
}

// Ready says that the daemon serves. Later calls say nothing.
func (s *Service) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		s.ready = true
		s.send(daemon.SdNotifyReady)
	}
}

// Stopping says that the daemon ends.
func (s *Service) Stopping() { s.send(daemon.SdNotifyStopping) }

// Run sends the status when it changes, and tells the watchdog that the loops turn, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.m.Send == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	every := statusEvery
	if s.m.Watchdog > 0 {
		every = min(every, s.m.Watchdog/2)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var told time.Time
	for {
		s.tell()
		// Now, if the next look would be after half of the time.
		if s.m.Watchdog > 0 && time.Now().Add(every).After(told.Add(s.m.Watchdog/2)) && s.turn() {
			told = time.Now()
			s.send(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// tell sends the status, if it is another. A lock of the daemon that is held for ever stops it here, and so the watchdog.
func (s *Service) tell() {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	status := "starts"
	if ready {
		if status = "serves"; s.state != nil {
			if wrong := s.state(); len(wrong) > 0 {
				status = printable.Text(strings.Join(wrong, "; "))
			}
		}
	}
	if status != s.status {
		s.status = status
		s.send("STATUS=" + status)
	}
}

// turn reports whether every loop turns, and logs which does not.
func (s *Service) turn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := true
	for _, l := range s.loops {
		since := time.Since(l.last)
		if since <= l.most {
			continue
		}
		all = false
		if !l.late {
			l.late = true
			s.log.Error().Str("loop", l.name).Dur("silent", since).Msg("a loop of the daemon hangs: the watchdog is not told that all is well, and systemd restarts the daemon")
		}
	}
	return all
}

func (s *Service) send(state string) {
	if s.m.Send == nil {
		return
	}
	if err := s.m.Send(state); err != nil {
		s.log.Warn().Err(err).Str("state", state).Msg("systemd cannot be told how the daemon does")
	}
}
