package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// WriteSynced is Write that waits for the disk: when it returns nil, a power cut does not undo it. Several callers may write
// a path at once; the last one counts.
func WriteSynced(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncFolder(dir)
}

// SyncFolder waits until the names in a folder are on the disk.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
