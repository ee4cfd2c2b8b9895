package runtime

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits for the job's end and brings it about when a limit or a request says so. begin carries the monotonic
// clock: a changed date ends no job. When it returns the job's first process is gone and reaped.
func (s *supervisor) watch(signals <-chan os.Signal, begin time.Time) Reason {
	reason := ReasonExited
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	defer s.memory.listen()()
	var kill <-chan time.Time // when the grace is over
	ask := func(why Reason, grace time.Duration) {
		if reason != ReasonExited {
			return // it is ending already, for the first reason
		}
		reason = why
		s.thaw()
		s.giveUpSuspending()
		if grace <= 0 {
			s.killTree()
			return
		}
		s.terminate()
		kill = time.After(grace)
	}
	for check := 0; ; check++ {
		select {
		case <-s.waited:
			return reason
		case <-signals:
			ask(ReasonStopped, s.grace())
		case <-kill:
			s.killTree()
		case made := <-s.snapshots():
			s.snapshotDone(made)
		case made := <-s.suspending.done:
			if s.suspendDone(made) {
				reason = ReasonSuspended
				s.killTree()
			}
		case <-ticker.C:
			s.reapOrphans()
			if check%aliveEvery == 0 {
				s.dir.sayAlive()
			}
			if s.dir.exists(s.dir.stop()) { // also when the signal was missed
				ask(ReasonStopped, s.grace())
			}
			if s.late(begin) {
				ask(ReasonWall, wallGrace)
			}
			if why, much := s.tooMuch(); much {
				ask(why, 0)
			}
			if check%diskEvery == 0 && s.tooMuchDisk() {
				ask(ReasonDisk, 0)
			}
			if check%networkEvery == 0 {
				s.keepNetwork()
			}
			if reason == ReasonExited {
				s.suspendDue()
				s.snapshotDue()
			}
		}
	}
}

// late reports whether the job has run for as long as it may.
func (s *supervisor) late(begin time.Time) bool {
	r := wallRequest{Wall: s.spec.Limits.Wall}
	var asked wallRequest
	if ok, err := readJSON(s.dir.wall(), &asked); err == nil && ok {
		r = asked
	}
	if r.Until > 0 {
		now, err := monotonic()
		return err == nil && now > r.Until
	}
	return r.Wall > 0 && time.Since(begin) > r.Wall
}

// grace is what the stop request grants.
func (s *supervisor) grace() time.Duration {
	var r stopRequest
	if ok, err := readJSON(s.dir.stop(), &r); err != nil || !ok {
		return defaultGrace
	}
	return r.Grace
}

// terminate sends SIGTERM to the job's process group, or to a container's first process. The group's leader is the job,
// which has not been reaped, so the number is still its own.
func (s *supervisor) terminate() {
	ask := func() error { return unix.Kill(-s.record.Job.PID, syscall.SIGTERM) }
	if s.spec.Image != "" {
		ask = func() error { return signalContainer(s.dir, s.spec.LeaseID, "TERM") }
	}
	if err := ask(); err != nil {
		s.killTree()
	}
}

// killTree kills every descendant, again and again until none is left: a process may be born while others die. As
// subreaper the supervisor is an ancestor of them all, also of those that left the job's session. A child that is born
// while its parent dies is missing from a list that shows the parent dead, so that it takes two lists without a process,
// and nothing to reap beside them, to know that none is left.
func (s *supervisor) killTree() {
	if s.cgroup != nil {
		s.cgroup.kill()
	}
	boot := bootID()
	for round, empty := 0, 0; round < 200 && empty < 2; round++ {
		reaped := s.reapOrphans()
		all, err := listProcesses()
		if err != nil {
			return
		}
		left := descendants(all, os.Getpid())
		for _, p := range left {
			// A process that is gone is no error; any other failure is retried.
			_ = ProcID{PID: p.pid, Start: p.start, Boot: boot}.Signal(syscall.SIGKILL)
		}
		empty++
		if reaped+len(left) > 0 {
			empty = 0
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// reapOrphans collects adopted children that have died, and returns how many. The job itself is left to its own Wait.
func (s *supervisor) reapOrphans() (reaped int) {
	all, err := listProcesses()
	if err != nil {
		return 0
	}
	for _, p := range all {
		if p.parent == os.Getpid() && p.state == 'Z' && p.pid != s.record.Job.PID {
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			reaped++
		}
	}
	return reaped
}

// tooMuch adds up the tasks and the resident memory of the whole tree, which a cgroup limits where there is one. Shared
// pages count once for each process, to the job's disadvantage.
func (s *supervisor) tooMuch() (Reason, bool) {
	if s.cgroup != nil {
		return "", false
	}
	all, err := listProcesses()
	if err != nil {
		return "", false
	}
	var memory, tasks uint64
	for _, p := range descendants(all, os.Getpid()) {
		memory += p.residentPages * uint64(os.Getpagesize())
		tasks += p.threads
	}
	if limit := s.spec.Limits.MemoryMiB << 20; limit != 0 && memory > limit {
		return ReasonMemory, true
	}
	return ReasonProcesses, tasks > s.spec.Limits.processes()
}

// tooMuchDisk adds up what the working directory holds.
func (s *supervisor) tooMuchDisk() bool {
	limit := s.spec.Limits.DiskMiB << 20
	return limit != 0 && s.disk == nil && diskUse(s.dir.work(), limit) > limit
}

// diskUse adds up allocated blocks below root, and stops once it is above enough.
func diskUse(root string, enough uint64) uint64 {
	var sum uint64
	// Files that vanish during the walk are left out.
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			sum += uint64(st.Blocks) * 512
		}
		if sum > enough {
			return fs.SkipAll
		}
		return nil
	})
	return sum
}
