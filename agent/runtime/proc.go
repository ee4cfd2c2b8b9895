package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ProcID names a process for good: pids are reused, pairs of pid and start time (clock ticks since boot) within one
// boot are not.
type ProcID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"`
	// Boot is the kernel's boot id; an entry from before a reboot names no process.
	Boot string `json:"boot"`
}

// procStat is what the supervisor needs of /proc/PID/stat.
type procStat struct {
	pid, parent, session int
	state                byte
	start                uint64
	threads              uint64
	residentPages        uint64
}

func readStat(pid int) (procStat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(b)
}

// parseStat reads a line of proc(5). The command name may hold anything, so fields are counted from the last ')'.
func parseStat(b []byte) (procStat, error) {
	var s procStat
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return s, errors.New("runtime: malformed stat line")
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 22 {
		return s, errors.New("runtime: short stat line")
	}
	var errs [6]error
	s.pid, errs[0] = strconv.Atoi(strings.TrimSpace(string(b[:open])))
	s.state = f[0][0]
	s.parent, errs[1] = strconv.Atoi(f[1])
	s.session, errs[2] = strconv.Atoi(f[3])
	s.start, errs[3] = strconv.ParseUint(f[19], 10, 64)
	s.threads, errs[5] = strconv.ParseUint(f[17], 10, 64)
	s.residentPages, errs[4] = strconv.ParseUint(f[21], 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return s, fmt.Errorf("runtime: malformed stat line: %w", err)
	}
	return s, nil
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Identify names a process that is alive now.
func Identify(pid int) (ProcID, error) {
	s, err := readStat(pid)
	if err != nil {
		return ProcID{}, fmt.Errorf("runtime: process %d: %w", pid, err)
	}
	return ProcID{PID: pid, Start: s.start, Boot: bootID()}, nil
}

// Alive reports whether the very process is still there and not a zombie.
func (p ProcID) Alive() bool {
	if p.PID <= 0 || p.Boot != bootID() {
		return false
	}
	s, err := readStat(p.PID)
	return err == nil && s.start == p.Start && s.state != 'Z' && s.state != 'X'
}

// Signal sends sig to the very process through a pidfd, so that it cannot hit a successor of the pid. A process that is
// gone is no error.
func (p ProcID) Signal(sig syscall.Signal) error {
	if p.PID <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		if !p.Alive() {
			return nil
		}
		return ignoreGone(unix.Kill(p.PID, sig))
	case err != nil:
		return fmt.Errorf("runtime: pidfd %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if !p.Alive() { // the pidfd is fixed now; is it the right process?
		return nil
	}
	return ignoreGone(unix.PidfdSendSignal(fd, sig, nil, 0))
}

func ignoreGone(err error) error {
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("runtime: signal: %w", err)
}

// listProcesses reads all of /proc; processes that vanish meanwhile are left out.
func listProcesses() ([]procStat, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	var out []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			out = append(out, s)
		}
	}
	return out, nil
}

// tasksOf counts the threads of all processes of a user, which is what RLIMIT_NPROC is held against.
func tasksOf(uid int) (sum uint64, err error) {
	all, err := listProcesses()
	if err != nil {
		return 0, err
	}
	for _, p := range all {
		var st unix.Stat_t
		if unix.Stat("/proc/"+strconv.Itoa(p.pid), &st) == nil && int(st.Uid) == uid {
			sum += p.threads
		}
	}
	return sum, nil
}

// descendants returns every process below root, zombies left out.
func descendants(all []procStat, root int) []procStat {
	children := make(map[int][]procStat, len(all))
	for _, s := range all {
		children[s.parent] = append(children[s.parent], s)
	}
	var out []procStat
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, c := range children[queue[0]] {
			queue = append(queue, c.pid)
			if c.state != 'Z' && c.state != 'X' {
				out = append(out, c)
			}
		}
	}
	return out
}
