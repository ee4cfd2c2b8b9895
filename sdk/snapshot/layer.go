//go:build linux

package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// An overlay marks a folder that hides those below with this attribute, and a file that it hides with a device of number 0.
const (
	opaque    = "trusted.overlay.opaque"
	opaqueYes = "y"
)

func isWhiteout(mode fs.FileMode, device uint64) bool {
	return mode.Type() == fs.ModeDevice|fs.ModeCharDevice && device == 0
}

func isOpaque(root *os.Root, at string) (bool, error) {
	f, err := root.Open(at)
	if err != nil {
		return false, err
	}
	defer f.Close()
	value := make([]byte, 2)
	n, err := unix.Fgetxattr(int(f.Fd()), opaque, value)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ERANGE) {
		return false, nil
	}
	return err == nil && string(value[:n]) == opaqueYes, err
}

func setOpaque(root *os.Root, at string) error {
	f, err := root.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fsetxattr(int(f.Fd()), opaque, []byte(opaqueYes), 0)
}

// makeNode makes a pipe, or the device of number 0.
func makeNode(root *os.Root, at string, kind uint32) error {
	folder, err := root.Open(path.Dir(at))
	if err != nil {
		return err
	}
	defer folder.Close()
	return unix.Mknodat(int(folder.Fd()), path.Base(at), kind|0o600, 0)
}
