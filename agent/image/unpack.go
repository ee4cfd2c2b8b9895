package image

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/pkg/archive"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

const (
	block       = 4096      // what a file takes at least, and a multiple of what it takes
	header      = 2 << 10   // of an archive for each file: most have 512 bytes
	maxPadding  = 1 << 20   // behind an archive's end
	slack       = 16 << 20  // what an archive may hold beside its files
	zstdWindow  = 128 << 20 // the largest that the format advises decoders to take
	reserveStep = 64 << 20  // by which a pull asks for more of the cache
)

// budget is what an image may still unpack.
type budget struct {
	limit, used int64
	entries     int
	// more asks the cache for place.
	more func(used int64) error
	// archive is what the layer is read from.
	archive *capped
	// folders are those of the layer that were counted: an archive need not name each.
	folders map[uint64]struct{}
	seed    maphash.Seed
}

// layer begins a layer.
func (b *budget) layer() { b.folders, b.seed = map[uint64]struct{}{}, maphash.MakeSeed() }

// take is asked before a file is written. The size in a header is the whole one, also of a file with holes.
func (b *budget) take(h *tar.Header) (bool, error) {
	if h.Size < 0 || h.Size > b.limit {
		return false, b.tooLarge()
	}
	b.archive.left += header + h.Size
	if err := b.spend(1, block+(h.Size+block-1)/block*block); err != nil {
		return false, err
	}
	for dir := filepath.Dir(h.Name); len(dir) > 1; dir = filepath.Dir(dir) {
		key := maphash.String(b.seed, dir)
		if _, ok := b.folders[key]; ok {
			break
		}
		b.folders[key] = struct{}{}
		if err := b.spend(1, block); err != nil {
			return false, err
		}
	}
	switch h.Typeflag {
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return false, nil // a container has the devices that its node gives it
	}
	// Attributes that steer the overlay, and those of the kernel's security modules, are the machine's to set.
	for key := range h.PAXRecords {
		attribute, ok := strings.CutPrefix(key, "SCHILY.xattr.")
		if ok && attribute != "security.capability" && !strings.HasPrefix(attribute, "user.") {
			delete(h.PAXRecords, key)
		}
	}
	return true, nil
}

func (b *budget) spend(entries int, bytes int64) error {
	if b.entries -= entries; b.entries < 0 {
		return fmt.Errorf("%w: more than %d files", ErrTooLarge, maxEntries)
	}
	if b.used += bytes; b.used > b.limit {
		return b.tooLarge()
	}
	return b.more(b.used)
}

func (b *budget) tooLarge() error {
	return fmt.Errorf("%w: its files have more than the %s that it may take here", ErrTooLarge, mib(b.limit))
}

// capped fails once more was read than an archive with these files can have: one may go on for ever without a file.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, fmt.Errorf("%w: an archive is longer than its files", ErrTooLarge)
	}
	return n, err
}

// decompress reads an archive that is packed by gzip, by zstd or not at all.
func decompress(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(r, 128<<10) // each read is counted
	magic, err := b.Peek(4)
	if err != nil && len(magic) == 0 {
		return nil, nil, fmt.Errorf("read layer: %w", err)
	}
	switch {
	case strings.HasPrefix(string(magic), "\x1f\x8b"):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("read layer: %w", err)
		}
		return z, func() { z.Close() }, nil
	case string(magic) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("read layer: %w", err)
		}
		return z, z.Close, nil
	}
	return b, func() {}, nil
}

// unpack writes a layer's content into a fresh folder, in the form that an overlay wants. Below it lie parents, the
// lowest first.
func (s *Store) unpack(ctx context.Context, fresh string, packed io.Reader, diffID v1.Hash, parents []string, left *budget) error {
	r, done, err := decompress(packed)
	if err != nil {
		return err
	}
	defer done()
	if err := os.Mkdir(fresh, 0o755); err != nil {
		return err
	}
	below := make([]string, len(parents))
	for i, p := range parents {
		below[len(parents)-1-i] = s.layer(p)
	}
	sum := sha256.New()
	left.archive = &capped{r: r, left: slack}
	content := io.TeeReader(left.archive, sum)
	_, err = archive.Apply(ctx, fresh, content, archive.WithConvertWhiteout(archive.OverlayConvertWhiteout),
		archive.WithParents(below), archive.WithFilter(left.take))
	if err == nil {
		// Padding behind the archive's end belongs to the digest; more than a little is no padding.
		_, err = io.Copy(io.Discard, io.LimitReader(content, maxPadding))
	}
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != diffID.Hex {
		return fmt.Errorf("%w: layer %s has the digest %s", ErrUnusable, diffID, got)
	}
	return nil
}

// install unpacks a layer that is missing, and puts it where overlays look for it.
func (p *pull) install(ctx context.Context, id string, packed io.Reader, diffID v1.Hash, parents []string) error {
	before, fresh := p.left.used, filepath.Join(p.folder(), id)
	p.left.layer()
	if err := p.unpack(ctx, fresh, packed, diffID, parents, &p.left); err != nil {
		return err
	}
	if err := syncFiles(fresh); err != nil {
		return err
	}
	if err := p.publish(p.sizeOf(id), size{Bytes: p.left.used - before}); err != nil {
		return err
	}
	err := os.Rename(fresh, p.layer(id))
	if err != nil && p.has(id) {
		return os.RemoveAll(fresh) // it came from another repository meanwhile
	}
	return err
}

// syncFiles waits for the disk: a layer that has its name is complete, also after a power cut.
func syncFiles(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return &os.PathError{Op: "syncfs", Path: folder, Err: err}
	}
	return nil
}
