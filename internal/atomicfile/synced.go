package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteSynced is Write that waits for the disk: when it returns nil, a power cut does not undo it. Several callers may write
// a path at once; the last one counts.
func WriteSynced(path string, data []byte) error {
	fresh, err := temporary(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return SyncFolder(filepath.Dir(path))
}

// Create is WriteSynced for a file that is written once: of several callers the first one counts. Errors: fs.ErrExist if
// the path exists. Others read the whole file as soon as it does, unless its file system has no hard links (such as that of
// a memory stick): there they may see a part of it for a moment.
func Create(path string, data []byte) error { return create(path, data, os.Link) }

func create(path string, data []byte, link func(from, to string) error) error {
	fresh, err := temporary(path, data)
	if err != nil {
		return err
	}
	err = link(fresh, path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		err = writeNew(path, data)
	}
	if err = errors.Join(err, os.Remove(fresh)); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// writeNew writes data to the disk, into a file that does not exist. What cannot be written is removed.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// temporary writes data to the disk, into a file beside path that only its owner reads, and returns the file's name.
func temporary(path string, data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
