package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultShare is the part of its file system that unused layers may take in a cache without a limit of its own: a quarter.
const DefaultShare = 4

// spare is what the cache leaves free on its file system, for what the agent and its jobs write.
const spare = 256 << 20

// size is what is known of a layer.
type size struct {
	Bytes int64 `json:"bytes"`
}

// Usage is how full a cache is.
type Usage struct {
	Layers int   `json:"layers"`
	Bytes  int64 `json:"bytes"`
	Limit  int64 `json:"limit"`
	// InUse is what leases use of Bytes.
	InUse int64 `json:"in_use"`
	// Pulling is what pulls under way have taken beside Bytes.
	Pulling int64 `json:"pulling"`
}

// cached is a layer of the cache.
type cached struct {
	id    string
	bytes int64
	used  time.Time
}

// list returns the layers, those that were not used for longest first.
func (s *Store) list() ([]cached, error) {
	files, err := os.ReadDir(s.sizes())
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	var out []cached
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		info, err := f.Info()
		if !ok || err != nil {
			continue // removed since
		}
		var z size
		if ok, err := read(s.sizeOf(id), &z); err != nil || !ok {
			continue // a damaged one is removed by Clean, with its layer
		}
		out = append(out, cached{id: id, bytes: z.Bytes, used: info.ModTime()})
	}
	slices.SortFunc(out, func(a, b cached) int { return a.used.Compare(b.used) })
	return out, nil
}

// limit is the most that layers may take together that no lease and no pull uses: a lease's image is in its share of the disk.
func (s *Store) limit() (int64, error) {
	if s.o.Limit > 0 {
		return s.o.Limit, nil
	}
	st, err := s.statfs()
	return int64(st.Blocks) * st.Bsize / DefaultShare, err
}

func (s *Store) statfs() (st unix.Statfs_t, err error) {
	if err := unix.Statfs(s.root, &st); err != nil {
		return st, fmt.Errorf("image: size of the file system of %s: %w", s.root, err)
	}
	return st, nil
}

func (s *Store) inUse() (map[string]bool, error) {
	if s.o.InUse == nil {
		return nil, nil
	}
	return s.o.InUse()
}

// Usage says how full the cache is.
func (s *Store) Usage() (Usage, error) {
	limit, err := s.limit()
	if err != nil {
		return Usage{}, err
	}
	layers, err := s.list()
	if err != nil {
		return Usage{}, err
	}
	inUse, err := s.inUse()
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Layers: len(layers), Limit: limit}
	for _, l := range layers {
		u.Bytes += l.bytes
		if inUse[l.id] {
			u.InUse += l.bytes
		}
	}
	pulls, err := os.ReadDir(s.tmp())
	if err != nil {
		return Usage{}, fmt.Errorf("image: %w", err)
	}
	for _, p := range pulls {
		var z size
		if ok, err := read(s.reserved(p.Name()), &z); err == nil && ok {
			u.Pulling += z.Bytes
		}
	}
	return u, nil
}

// reserve makes a pull's part of the cache at least as large as it says, removes layers for it until they all fit, and
// returns how large it made it: where there is place, a step more, so that it is not asked for each file. Errors:
// ErrTooLarge, with the sizes.
func (s *Store) reserve(ctx context.Context, pull string, bytes, step int64) (int64, error) {
	own, err := s.openLocks() // of its own: a pull's own use of a layer keeps that layer
	if err != nil {
		return 0, err
	}
	defer own.close()
	if err := own.take(ctx, unix.F_WRLCK, lockAccounts, ""); err != nil {
		return 0, err
	}
	var had size
	if _, err := read(s.reserved(pull), &had); err != nil {
		return 0, err
	}
	left, err := s.makeRoom(own, bytes-had.Bytes)
	if err != nil {
		return 0, err
	}
	bytes += max(0, min(step, left/2))
	return bytes, write(s.reserved(pull), size{Bytes: bytes})
}

// makeRoom removes layers until there is place for more, and returns how much there is beyond that.
func (s *Store) makeRoom(own locks, more int64) (int64, error) {
	layers, err := s.list()
	if err != nil {
		return 0, err
	}
	for {
		u, err := s.Usage()
		if err != nil {
			return 0, err
		}
		st, err := s.statfs()
		if err != nil {
			return 0, err
		}
		free := int64(st.Bavail)*st.Bsize - spare
		left := min(u.Limit-u.Bytes-u.Pulling, free) - more
		if more <= 0 || left >= 0 {
			return left, nil
		}
		removed := false
		for !removed && len(layers) > 0 {
			if removed, err = s.removeUnused(own, layers[0].id); err != nil {
				return 0, err
			}
			layers = layers[1:]
		}
		if !removed && free >= more {
			return 0, nil // leases use it all, and it is in their shares of the disk
		}
		if !removed {
			return 0, fmt.Errorf("%w: it takes %s more; leases use the %s of images that are there, and the node's disk has %s free", ErrTooLarge,
				mib(more), mib(u.Bytes+u.Pulling), mib(max(free, 0)))
		}
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// removeUnused removes a layer unless a pull or a lease uses it, and reports whether it did. It asks for leases once no
// pull uses the layer, because a pull hands its layers to a lease before it lets go of them.
func (s *Store) removeUnused(own locks, id string) (bool, error) {
	free, err := own.try(unix.F_WRLCK, lockUse, id)
	if err != nil || !free {
		return false, err
	}
	defer func() { _, _ = own.try(unix.F_UNLCK, lockUse, id) }() // closing the file lets go, too
	inUse, err := s.inUse()
	if err != nil || inUse[id] {
		return false, err
	}
	// Out of sight in one step; what a kill leaves of it is Clean's.
	gone := filepath.Join(s.tmp(), "gone-"+id)
	if err := os.Rename(s.layer(id), gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("image: %w", err)
	}
	if err := errors.Join(os.RemoveAll(gone), os.RemoveAll(s.sizeOf(id))); err != nil {
		return false, fmt.Errorf("image: %w", err)
	}
	return true, nil
}

// Clean removes what killed pulls have left, and images whose layers were removed. Errors: those of the file system.
func (s *Store) Clean(ctx context.Context) error {
	own, err := s.openLocks()
	if err != nil {
		return err
	}
	defer own.close()
	if err := own.take(ctx, unix.F_WRLCK, lockAccounts, ""); err != nil {
		return err
	}
	pulls, err := os.ReadDir(s.tmp())
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	for _, p := range pulls {
		if dead, err := own.try(unix.F_WRLCK, lockPull, p.Name()); err != nil || !dead {
			continue // it lives
		}
		if err := os.RemoveAll(filepath.Join(s.tmp(), p.Name())); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	if err := s.cleanLayers(own); err != nil {
		return err
	}
	images, err := os.ReadDir(s.images())
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	for _, f := range images {
		path := filepath.Join(s.images(), f.Name())
		var i Image
		if ok, err := read(path, &i); err == nil && ok && !slices.ContainsFunc(i.Layers, func(l string) bool { return !s.has(l) }) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	return nil
}

// cleanLayers removes layers of unknown size, and sizes of layers that are not there.
func (s *Store) cleanLayers(own locks) error {
	names := map[string]bool{}
	for _, dir := range []string{s.Layers(), s.sizes()} {
		files, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("image: %w", err)
		}
		for _, f := range files {
			names[strings.TrimSuffix(f.Name(), ".json")] = true
		}
	}
	for id := range names {
		var z size
		if ok, err := read(s.sizeOf(id), &z); err == nil && ok && s.has(id) {
			continue
		}
		if _, err := s.removeUnused(own, id); err != nil {
			return err
		}
	}
	return nil
}
