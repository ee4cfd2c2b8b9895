// Package atomicfile replaces small files so that no reader sees half of one.
package atomicfile

import "os"

// Write replaces the file at path by one with this content, readable by its owner only. Another process that reads the
// path sees the old file or the new one. It does not wait for the disk: after a power cut the new file may be empty.
// One caller at a time writes a path. Errors: those of the file system, with the path.
func Write(path string, data []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
