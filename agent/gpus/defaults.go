package gpus

import (
	"errors"
	"fmt"
	"os"
	"path"
	goruntime "runtime"
)

// defaultFolders are where a loader of programs looks for libraries without an environment and without a cache: those of Debian's family,
// and those of Red Hat's.
func defaultFolders() []string {
	family := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goruntime.GOARCH]
	return []string{"usr/lib/" + family + "-linux-gnu", "usr/lib64"}
}

// LinkDefaults makes links to the driver's libraries in the image's own folders, so that programs find them that get no LD_LIBRARY_PATH:
// those of cron, of "su -" and of "env -i". rootfs is what the container writes to; nothing outside of it is touched. A library of the
// image's own stays.
func (d Driver) LinkDefaults(rootfs string) error {
	names, err := os.ReadDir(d.Links)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	root, err := os.OpenRoot(rootfs)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSpec, err)
	}
	defer root.Close()
	for _, folder := range defaultFolders() {
		if info, err := root.Stat(folder); err != nil || !info.IsDir() {
			continue // the image has none, or it leads elsewhere
		}
		for _, e := range names {
			if err := linkDefault(root, path.Join(folder, e.Name()), path.Join(linksInside, e.Name())); err != nil {
				return fmt.Errorf("%w: a link to the driver's libraries: %w", ErrSpec, err)
			}
		}
	}
	return nil
}

func linkDefault(root *os.Root, at, target string) error {
	info, err := root.Lstat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink == 0 && (!info.Mode().IsRegular() || info.Size() > 0):
		return nil
	default: // a link, or what a toolkit leaves in images that were made on a machine with GPUs
		if err := root.Remove(at); err != nil {
			return err
		}
	}
	return root.Symlink(target, at)
}
