package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Store keeps images. Several processes may use one at once.
type Store struct{ root string }

// Image is one that was pulled.
type Image struct {
	// Layers are names in [Store.Layers], the lowest first.
	Layers []string `json:"layers"`
	// Config is how the image wants to be run.
	Config v1.Config `json:"config"`
}

// Open makes the folders of a store if they are missing. Errors: those of the file system.
func Open(root string) (*Store, error) {
	s := &Store{root: root}
	for _, dir := range []string{s.Layers(), s.images(), s.tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
	}
	return s, nil
}

// Layers is the folder of unpacked layers.
func (s *Store) Layers() string { return filepath.Join(s.root, "layers") }

func (s *Store) images() string { return filepath.Join(s.root, "images") }
func (s *Store) tmp() string    { return filepath.Join(s.root, "tmp") }

func (s *Store) record(r Reference) string {
	return filepath.Join(s.images(), r.name.DigestStr()[len("sha256:"):]+".json")
}

// Get returns an image that was pulled before, and whether it is there.
func (s *Store) Get(r Reference) (Image, bool, error) {
	raw, err := os.ReadFile(s.record(r))
	if errors.Is(err, fs.ErrNotExist) {
		return Image{}, false, nil
	}
	if err != nil {
		return Image{}, false, fmt.Errorf("image: %w", err)
	}
	var i Image
	if err := json.Unmarshal(raw, &i); err != nil {
		return Image{}, false, fmt.Errorf("image: %s is damaged: %w", s.record(r), err)
	}
	for _, layer := range i.Layers {
		if _, err := os.Stat(filepath.Join(s.Layers(), layer)); err != nil {
			return Image{}, false, nil // removed by hand: it is pulled again
		}
	}
	return i, true, nil
}

func (s *Store) put(r Reference, i Image) error {
	raw, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := atomicfile.Write(s.record(r), raw); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}

// lock lets one process at a time pull, and clears what a killed one has left. The lock goes with the file.
func (s *Store) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.root, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("image: lock: %w", err), f.Close())
	}
	if err := errors.Join(os.RemoveAll(s.tmp()), os.MkdirAll(s.tmp(), 0o700)); err != nil {
		return nil, errors.Join(fmt.Errorf("image: %w", err), f.Close())
	}
	return f, nil
}
