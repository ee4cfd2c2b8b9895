//go:build unix

package boltstore

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lock waits until no other process has the file open. Closing the file releases it.
func lock(f *os.File, timeout time.Duration) error {
	for end := time.Now().Add(timeout); ; time.Sleep(min(timeout, 20*time.Millisecond)) {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return fmt.Errorf("lock: %w", err)
		case time.Now().After(end):
			return ErrLocked
		}
	}
}

// mapped returns a file's content, and what to call when it is not needed any more.
func mapped(f *os.File, size int64) ([]byte, func(), error) {
	raw, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map: %w", err)
	}
	return raw, func() { _ = syscall.Munmap(raw) }, nil // it was mapped
}
