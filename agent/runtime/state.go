package runtime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// status derives the phase from the directory alone, so that any process, at any time, sees the same.
func (d leaseDir) status() (Status, error) {
	var st Status
	ok, err := readJSON(d.spec(), &st.Spec)
	if err != nil {
		return st, err
	}
	if !ok {
		return st, fmt.Errorf("%w: %s", ErrNotFound, filepath.Base(string(d)))
	}
	st.LeaseID = st.Spec.LeaseID
	// The order of the three reads matters. The supervisor holds the lock before it writes run.json and until it has
	// written exit.json: so a run record that was there, then no lock, then no exit can only mean that it was killed.
	var run runRecord
	ran, err := readJSON(d.run(), &run)
	if err != nil {
		return st, err
	}
	supervised := Locked(d.lock())
	var exit Exit
	over, err := readJSON(d.exit(), &exit)
	if err != nil {
		return st, err
	}
	var made Snapshot
	if ok, err := readJSON(d.snapshot(), &made); err != nil {
		return st, err
	} else if ok {
		st.Snapshot = &made
	}
	var suspended Suspension
	if ok, err := readJSON(d.suspended(), &suspended); err != nil {
		return st, err
	} else if ok {
		st.Suspension = &suspended
	}
	st.StartedAt, st.Limits = run.StartedAt, run.Limits
	st.StdoutBytes, st.StderrBytes = d.size(d.log(Stdout)), d.size(d.log(Stderr))
	switch {
	case st.Spec.Hold && !d.exists(d.begin()): // whatever became of it, nothing of the job is to run yet
		st.Phase = Created
		if supervised {
			st.Phase = Preparing
		}
	case over:
		st.Phase, st.Exit, st.StartedAt = Exited, &exit, exit.StartedAt
	case supervised && run.Job.PID != 0:
		st.Phase, st.PID = Running, run.Job.PID
	case supervised:
		st.Phase = Starting
	case ran:
		st.Phase, st.LostAt = Lost, d.lastAlive()
	default:
		st.Phase = Created
	}
	return st, nil
}

// lastLog is the end of the supervisor's own log.
func (d leaseDir) lastLog() string {
	b, err := os.ReadFile(d.supervisorLog())
	if err != nil || len(b) == 0 {
		return "it left no message"
	}
	return strings.TrimSpace(string(b[max(0, len(b)-500):]))
}

// killLeftovers ends the processes of a job whose supervisor is gone: those with the run's mark in their environment, and
// those that they have started. One that has changed its environment and whose parent is gone is not found: that takes a
// container.
func (d leaseDir) killLeftovers() error {
	var run runRecord
	ok, err := readJSON(d.run(), &run)
	if err != nil || !ok || run.Job.Boot != bootID() {
		return err
	}
	mark := []byte(envRun + "=" + run.Mark)
	for round, empty := 0, 0; round < 200; round++ {
		all, err := listProcesses()
		if err != nil {
			return err
		}
		var found []procStat
		for _, p := range all {
			if p.start >= run.Job.Start && p.state != 'Z' && hasEnv(p.pid, mark) {
				found = append(append(found, p), descendants(all, p.pid)...)
			}
		}
		for _, p := range found {
			if err := (ProcID{PID: p.pid, Start: p.start, Boot: run.Job.Boot}).Signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		empty++
		if len(found) > 0 {
			empty = 0
		} else if empty == 3 {
			return nil // a child that is born while its parent dies is missing from one list
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("runtime: processes of %s do not die", filepath.Base(string(d)))
}

func hasEnv(pid int, mark []byte) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for _, e := range bytes.Split(b, []byte{0}) {
		if bytes.Equal(e, mark) {
			return true
		}
	}
	return false
}
