package offer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Mark is the path of a file that is there while a node is out of the market because its agent took it out. Commands by which
// the owner sets the status remove it: what the owner sets stays.
type Mark string

// Set reports whether the file is there.
func (m Mark) Set() bool {
	_, err := os.Stat(string(m))
	return err == nil
}

// Put makes the file.
func (m Mark) Put() error {
	if m.Set() {
		return nil
	}
	if err := atomicfile.Write(string(m), []byte("The agent took the node out of the market, and brings it back.\n")); err != nil {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}

// Clear removes the file, if it is there.
func (m Mark) Clear() error {
	if err := os.Remove(string(m)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("note: %w", err)
	}
	return nil
}
