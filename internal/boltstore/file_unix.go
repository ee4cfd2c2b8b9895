//go:build unix

package boltstore

import (
	"fmt"
	"os"
	"syscall"
)

// mapped returns a file's content, and what to call when it is not needed any more.
func mapped(f *os.File, size int64) ([]byte, func(), error) {
	raw, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("map: %w", err)
	}
	return raw, func() { _ = syscall.Munmap(raw) }, nil // it was mapped
}
