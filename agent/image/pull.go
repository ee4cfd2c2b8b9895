package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/containerd/containerd/v2/pkg/archive"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Limits of an image. A mount takes its layers' names in one page of memory, so that their number is limited too.
const (
	maxLayers  = 100
	maxEntries = 1 << 20
)

// Pull returns an image that is unpacked, after fetching it from its registry where it is not. It needs root: owners of
// files and device nodes for removed files are kept. limit is the most bytes that all files together may have.
// Errors: ErrUnusable, ErrTooLarge, those of the context and of the file system.
func (s *Store) Pull(ctx context.Context, r Reference, limit int64) (Image, error) {
	lock, err := s.lock()
	if err != nil {
		return Image{}, err
	}
	defer lock.Close()
	if i, ok, err := s.Get(r); err != nil || ok {
		return i, err
	}
	platform := v1.Platform{OS: "linux", Architecture: goruntime.GOARCH}
	img, err := remote.Image(r.name, remote.WithContext(ctx), remote.WithPlatform(platform))
	if err != nil {
		return Image{}, unusable(ctx, r, err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Image{}, unusable(ctx, r, err)
	}
	if config.OS != platform.OS || config.Architecture != platform.Architecture {
		return Image{}, fmt.Errorf("%w: %s is for %s/%s, this machine is %s/%s", ErrUnusable, r, config.OS, config.Architecture, platform.OS, platform.Architecture)
	}
	layers, err := img.Layers()
	if err != nil {
		return Image{}, unusable(ctx, r, err)
	}
	if len(layers) == 0 || len(layers) > maxLayers || len(layers) != len(config.RootFS.DiffIDs) {
		return Image{}, fmt.Errorf("%w: %s has %d layers and names %d, want 1 to %d", ErrUnusable, r, len(layers), len(config.RootFS.DiffIDs), maxLayers)
	}
	out, left := Image{Config: config.Config}, &budget{bytes: limit, entries: maxEntries}
	for at, layer := range layers {
		name, err := s.unpack(ctx, layer, config.RootFS.DiffIDs[at], out.Layers, left)
		if err != nil {
			return Image{}, unusable(ctx, r, err)
		}
		out.Layers = append(out.Layers, name)
	}
	return out, s.put(r, out)
}

// unusable says whose failure an error is: the image's or its registry's, if it is not one of the caller or of the disk.
func unusable(ctx context.Context, r Reference, err error) error {
	var disk *os.PathError
	var answer *transport.Error
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("image: pull %s: %w", r, ctx.Err())
	case errors.Is(err, ErrTooLarge), errors.As(err, &disk):
		return fmt.Errorf("image: pull %s: %w", r, err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound):
		return fmt.Errorf("%w: %s is not there, or not for everyone (the registry answers %d)", ErrUnusable, r, answer.StatusCode)
	default:
		return fmt.Errorf("%w: %s: %w", ErrUnusable, r, err)
	}
}

// budget is what an image may still unpack.
type budget struct {
	bytes   int64
	entries int
}

// take is asked before a file is written. The size in a header is the whole one, also of a file with holes.
func (b *budget) take(h *tar.Header) (bool, error) {
	if b.entries--; b.entries < 0 {
		return false, fmt.Errorf("%w: more than %d files", ErrTooLarge, maxEntries)
	}
	if h.Size < 0 || h.Size > b.bytes {
		return false, fmt.Errorf("%w: its files have more bytes than the node takes", ErrTooLarge)
	}
	b.bytes -= h.Size
	return true, nil
}

// unpack writes a layer into a folder of its own, in the form that an overlay wants, and returns the folder's name.
// Below it lie parents, the lowest first.
func (s *Store) unpack(ctx context.Context, layer v1.Layer, diffID v1.Hash, parents []string, left *budget) (string, error) {
	raw, err := hex.DecodeString(diffID.Hex)
	if err != nil || diffID.Algorithm != "sha256" || len(raw) != sha256.Size {
		return "", fmt.Errorf("%w: layer %s is not named by a sha256", ErrUnusable, diffID)
	}
	name := diffID.Hex[:32]
	at := filepath.Join(s.Layers(), name)
	if _, err := os.Stat(at); err == nil {
		return name, nil // of another image: it was paid for then
	}
	r, err := layer.Uncompressed()
	if err != nil {
		return "", err
	}
	defer r.Close()
	fresh := filepath.Join(s.tmp(), name)
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return "", err
	}
	below := make([]string, len(parents))
	for i, p := range parents {
		below[len(parents)-1-i] = filepath.Join(s.Layers(), p)
	}
	sum := sha256.New()
	content := io.TeeReader(r, sum)
	_, err = archive.Apply(ctx, fresh, content, archive.WithConvertWhiteout(archive.OverlayConvertWhiteout),
		archive.WithParents(below), archive.WithFilter(left.take))
	if err == nil {
		// Padding behind the archive's end belongs to the digest; more than a little is no padding.
		_, err = io.Copy(io.Discard, io.LimitReader(content, 1<<20))
	}
	if err != nil {
		return "", err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != diffID.Hex {
		return "", fmt.Errorf("%w: layer %s has the digest %s", ErrUnusable, diffID, got)
	}
	return name, os.Rename(fresh, at)
}
