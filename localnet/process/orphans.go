package process

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gantry-market/gantry/internal/filelock"
)

// MarkVariable is the environment variable that marks the processes of a network, see belongs.match for those that do
// not inherit it.
const MarkVariable = "GANTRY_LOCALNET_MARK"

// lockDir takes the directory's lock; the kernel releases it when this process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := filelock.Try(f, false); err != nil {
		owner, _ := os.ReadFile(path)
		_ = f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, fmt.Errorf("%w: the local network of process %s runs in %s; stop it or choose another directory",
				ErrLocked, strings.TrimSpace(string(owner)), dir)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
	return f, nil
}

// newMark draws a mark and stores it, so that a later run can find what this one might leave.
func newMark(dir string) (string, error) {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	mark := hex.EncodeToString(b[:])
	if err := os.WriteFile(filepath.Join(dir, "mark"), []byte(mark), 0o600); err != nil {
		return "", fmt.Errorf("mark: %w", err)
	}
	return mark, nil
}

// killLeft kills every process that belongs to the network in dir and returns how many there were.
func killLeft(dir string) (int, error) {
	stored, err := os.ReadFile(filepath.Join(dir, "mark"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // no network ever ran here
	}
	if err != nil {
		return 0, fmt.Errorf("mark: %w", err)
	}
	return belongs{dir: dir, mark: string(stored)}.kill()
}

// KillIn kills the jobs of agents whose data is in dir, and their supervisors: both outlive the agents. It returns how many there
// were.
func KillIn(dir string) (int, error) { return belongs{dir: dir}.kill() }

func (b belongs) kill() (int, error) {
	total := 0
	// A process may start another between the listing and its death, so look until none is found.
	for deadline := time.Now().Add(5 * time.Second); ; {
		pids, err := b.processes()
		if err != nil {
			return total, err
		}
		if len(pids) == 0 {
			return total, nil
		}
		if time.Now().After(deadline) {
			return total, fmt.Errorf("processes %v of an earlier run cannot be ended", pids)
		}
		for _, pid := range pids {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				total++
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// belongs recognises the processes of a network.
type belongs struct{ dir, mark string }

// processes lists the living processes of the network, without this one.
func (b belongs) processes() ([]int, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Unreadable means another user's process, or one that has ended; a zombie's files are empty.
		env, err := os.ReadFile(filepath.Join("/proc", d.Name(), "environ"))
		if err != nil {
			continue
		}
		args, err := os.ReadFile(filepath.Join("/proc", d.Name(), "cmdline"))
		if err != nil {
			continue
		}
		if b.match(args, env) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// match looks at a process's arguments and environment, each a list of strings that end with a zero byte. Jobs and
// their supervisors get a clean environment on purpose; jobs have their home in the network's directory, and
// supervisors are programs of ours that are given a path in it.
func (b belongs) match(args, env []byte) bool {
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		switch {
		case name == MarkVariable && b.mark != "" && value == b.mark, name == "HOME" && b.inside(value):
			return true
		}
	}
	first, rest, _ := bytes.Cut(args, []byte{0})
	if !strings.HasPrefix(filepath.Base(string(first)), "gantry-") {
		return false
	}
	for arg := range bytes.SplitSeq(rest, []byte{0}) {
		if b.inside(string(arg)) {
			return true
		}
	}
	return false
}

func (b belongs) inside(path string) bool {
	return strings.HasPrefix(path, b.dir+string(filepath.Separator))
}
