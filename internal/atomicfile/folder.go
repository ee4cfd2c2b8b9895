//go:build !windows

package atomicfile

import (
	"errors"
	"os"
)

// SyncFolder waits until the names in a folder are on the disk.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
