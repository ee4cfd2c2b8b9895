package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
)

// keepPrograms has new containers use a copy of runsc, and removes the copies that none of the leases needs any more.
func (s *Sandbox) keepPrograms(leases string, log zerolog.Logger) error {
	if s.Programs == "" || s.Runsc == "" {
		return nil
	}
	kept, err := keepProgram(s.Programs, s.Runsc)
	if err != nil {
		return err
	}
	s.Runsc = kept
	if err := dropPrograms(s.Programs, leases, kept); err != nil {
		log.Warn().Err(err).Msg("copies of runsc that are not needed any more stay")
	}
	return nil
}

// keepProgram puts a copy of a program into a folder, named by its content, and returns its path. A container is always
// handled by the runsc that started it, also after an upgrade has replaced the one that the agent was installed with.
func keepProgram(folder, program string) (string, error) {
	in, err := os.Open(program)
	if err != nil {
		return "", fmt.Errorf("runtime: %w", err)
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", fmt.Errorf("runtime: read %s: %w", program, err)
	}
	kept := filepath.Join(folder, filepath.Base(program)+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if info, err := os.Stat(kept); err == nil && info.Mode().IsRegular() {
		return kept, nil // put in place by a rename, so it is whole
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("runtime: %w", err)
	}
	unfinished := kept + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("runtime: %w", err)
	}
	if err := copyProgram(program, unfinished); err != nil {
		return "", fmt.Errorf("runtime: copy %s: %w", program, err)
	}
	if err := os.Rename(unfinished, kept); err != nil {
		return "", fmt.Errorf("runtime: %w", err)
	}
	return kept, nil
}

// dropPrograms removes the copies of a folder that no lease's container needs, but for the one that new ones get.
func dropPrograms(folder, leases, current string) error {
	used := map[string]bool{filepath.Base(current): true}
	entries, err := os.ReadDir(leases)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	for _, e := range entries {
		var c container
		if _, err := readJSON(leaseDir(filepath.Join(leases, e.Name())).container(), &c); err != nil {
			return err // it may name any
		}
		used[filepath.Base(c.Runsc)] = true
	}
	copies, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("runtime: %w", err)
	}
	for _, e := range copies {
		if !used[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return err
}
