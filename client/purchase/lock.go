package purchase

import (
	"errors"
	"fmt"
	"os"

	"github.com/gantry-market/gantry/internal/filelock"
)

// lockFile locks a file until it is closed or the process ends. Error: ErrHeld.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := filelock.Try(f, false); err != nil {
		_ = f.Close()
		if errors.Is(err, filelock.ErrHeld) {
			return nil, ErrHeld
		}
		return nil, err
	}
	return f, nil
}

// InUse reports whether a process has locked the file.
func InUse(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f, true), filelock.ErrHeld)
}
