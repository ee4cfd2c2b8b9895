package image

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/wait"
)

// lockPoll is the time between two attempts to take a lock, so that a context can end the wait.
const lockPoll = 50 * time.Millisecond

// Kinds of locks.
const (
	lockPull     = "pull"     // exclusive as long as a pull lives; its name is that of its folder
	lockUse      = "use"      // shared by pulls that use a layer, exclusive for its removal
	lockUnpack   = "unpack"   // exclusive for unpacking a layer from a repository
	lockAccounts = "accounts" // exclusive for counting and removing
)

// locks are open file description locks on one byte of a file for each name: they go when the file is closed or its
// process dies, and leave nothing.
type locks struct{ f *os.File }

func (s *Store) openLocks() (locks, error) {
	f, err := os.OpenFile(filepath.Join(s.root, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return locks{}, fmt.Errorf("image: %w", err)
	}
	return locks{f: f}, nil
}

func (l locks) close() { l.f.Close() }

// try takes a lock (unix.F_RDLCK to share it, F_WRLCK for oneself, F_UNLCK to give it back) and reports whether it could.
func (l locks) try(mode int16, kind, name string) (bool, error) {
	sum := sha256.Sum256([]byte(kind + " " + name))
	at := int64(binary.LittleEndian.Uint64(sum[:]) >> 2)
	err := unix.FcntlFlock(l.f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: mode, Start: at, Len: 1})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("image: lock %s %s: %w", kind, name, err)
	}
	return true, nil
}

// take waits for a lock until ctx ends.
func (l locks) take(ctx context.Context, mode int16, kind, name string) error {
	for {
		if ok, err := l.try(mode, kind, name); ok || err != nil {
			return err
		}
		if err := wait.For(ctx, lockPoll); err != nil {
			return err
		}
	}
}
