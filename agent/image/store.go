package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-market/gantry/internal/atomicfile"
)

// Options of a store.
type Options struct {
	// Limit is the most bytes that layers may take together: for what is above it, unused ones are removed. What leases and pulls use
	// may take more. 0 is [DefaultShare] of the file system.
	Limit int64
	// InUse names the layers that leases use now; nil: there are none. It must see a lease whose [PullOptions].Keep has
	// returned.
	InUse func() (map[string]bool, error)
	// LocalRegistries allows registries at addresses of this machine and of private networks.
	LocalRegistries bool

	stall time.Duration // of tests; 0 is stallTime
}

// Store keeps images. Several processes may use one at once.
type Store struct {
	root string
	o    Options
}

// Image is one that was pulled.
type Image struct {
	// Layers are names in [Store.Layers], the lowest first.
	Layers []string `json:"layers"`
	// Packed is how large each layer is in the registry, bytes.
	Packed []int64 `json:"packed"`
	// Config is how the image wants to be run.
	Config v1.Config `json:"config"`
}

// Open makes the folders of a store if they are missing. Errors: those of the file system.
func Open(root string, o Options) (*Store, error) {
	s := &Store{root: root, o: o}
	for _, dir := range []string{root, s.Layers(), s.sizes(), s.images(), s.tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
	}
	return s, nil
}

// Layers is the folder of unpacked layers.
func (s *Store) Layers() string { return filepath.Join(s.root, "layers") }

func (s *Store) images() string           { return filepath.Join(s.root, "images") }
func (s *Store) sizes() string            { return filepath.Join(s.root, "sizes") }
func (s *Store) tmp() string              { return filepath.Join(s.root, "tmp") }
func (s *Store) layer(id string) string   { return filepath.Join(s.Layers(), id) }
func (s *Store) sizeOf(id string) string  { return filepath.Join(s.sizes(), id+".json") }
func (s *Store) reserved(p string) string { return filepath.Join(s.tmp(), p, "reserved.json") }

// Bytes is what an image takes on the disk, also of layers that other images have too.
func (s *Store) Bytes(i Image) (sum int64, err error) {
	for _, layer := range i.Layers {
		var z size
		if _, err := read(s.sizeOf(layer), &z); err != nil {
			return 0, err
		}
		sum += z.Bytes
	}
	return sum, nil
}

func (s *Store) has(layer string) bool {
	_, err := os.Lstat(s.layer(layer))
	return err == nil
}

// keyOf is a short name for texts that are too long, or not fit, for one of a file.
func keyOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// record is the file of an image that visitors of a scope see; see [scope].
func (s *Store) record(scope string, r Reference) string {
	return filepath.Join(s.images(), keyOf(scope, r.name.DigestStr())+".json")
}

// get returns an image that was pulled before, and whether it is there. Its layers may have gone since.
func (s *Store) get(scope string, r Reference) (i Image, ok bool, err error) {
	ok, err = read(s.record(scope, r), &i)
	return i, ok && err == nil, err
}

// read reads a JSON file and reports whether it was there.
func read(path string, v any) (bool, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("image: %w", err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, fmt.Errorf("image: %s is damaged: %w", path, err)
	}
	return true, nil
}

func write(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := atomicfile.Write(path, raw); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}
