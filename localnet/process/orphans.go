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
)

// MarkVariable is the environment variable that marks all processes of a network. A child that starts processes
// with an environment of their own should pass it on, or nobody will end them after the child was killed.
const MarkVariable = "GANTRY_LOCALNET_MARK"

// lockDir takes the directory's lock; the kernel releases it when this process ends, however it ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := os.ReadFile(path)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
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

// killMarked kills every process that carries the mark stored in dir and returns how many there were.
func killMarked(dir string) (int, error) {
	stored, err := os.ReadFile(filepath.Join(dir, "mark"))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(stored) < 16) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("mark: %w", err)
	}
	entry := []byte(MarkVariable + "=" + string(stored))
	total := 0
	// A process may start another between the listing and its death, so look until none is found.
	for deadline := time.Now().Add(5 * time.Second); ; {
		pids, err := marked(entry)
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

// marked lists the living processes whose environment has the entry.
func marked(entry []byte) ([]int, error) {
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
		// Unreadable means another user's process, or one that has ended; a zombie's environment is empty.
		env, err := os.ReadFile(filepath.Join("/proc", d.Name(), "environ"))
		if err != nil {
			continue
		}
		for part := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(part, entry) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}
