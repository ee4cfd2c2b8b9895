//go:build linux

package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// uploads is how many chunks are on their way at once, each in memory twice.
const uploads = 4

// Save puts a snapshot of a folder into the bucket, in which nothing may change meanwhile, and returns its name. What the
// bucket has already is not sent again; a folder that has not changed has the name that it had. No file may be larger than
// most. Errors: ErrBucket, ErrFolder.
func (b *Bucket) Save(ctx context.Context, root *os.Root, most int64) (Hash, error) {
	m, known := manifest{Version: version}, map[string]seen{}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	err := fs.WalkDir(root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		if err == nil {
			err = gctx.Err()
		}
		if err != nil {
			return err
		}
		if len(m.Entries) >= maxEntries || len(at) > maxPath {
			return fmt.Errorf("%w: it has more than %d files, or a path of more than %d bytes", ErrFolder, maxEntries, maxPath)
		}
		e, ok, err := b.add(gctx, g, root, at, d, most, known)
		if err == nil && ok {
			m.Entries = append(m.Entries, e)
		}
		return err
	})
	if werr := g.Wait(); werr != nil { // the walk ends with it
		return Hash{}, werr
	}
	if err != nil {
		return Hash{}, explain(err)
	}
	return b.finish(ctx, m, known)
}

func explain(err error) error {
	if errors.Is(err, ErrBucket) || errors.Is(err, ErrFolder) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFolder, err)
}

// finish writes the manifest, once all chunks are there.
func (b *Bucket) finish(ctx context.Context, m manifest, known map[string]seen) (Hash, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return Hash{}, fmt.Errorf("encode the manifest: %w", err)
	}
	if len(raw) > maxManifest/2 {
		return Hash{}, fmt.Errorf("%w: its list of files has more than %d bytes", ErrFolder, maxManifest/2)
	}
	b.known = known
	if same := sha256.Sum256(raw); same == b.same {
		return b.last, nil
	} else if sealed, err := b.seal(raw, nameOfList); err != nil {
		return Hash{}, err
	} else {
		hash := Hash(sha256.Sum256(sealed))
		if err := b.put(ctx, path.Join("manifests", hash.String()), sealed); err != nil {
			return Hash{}, err
		}
		b.same, b.last = same, hash
		return hash, nil
	}
}

// add describes one file, and sends its chunks. What is neither folder, file nor link is left out.
func (b *Bucket) add(ctx context.Context, g *errgroup.Group, root *os.Root, at string, d fs.DirEntry, most int64, known map[string]seen) (entry, bool, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, false, fmt.Errorf("%w: %s has no owner", ErrFolder, at)
	}
	e := entry{Path: at, Mode: info.Mode(), UID: int(st.Uid), GID: int(st.Gid), Time: info.ModTime().UTC()}
	switch {
	case info.IsDir():
		return e, true, nil
	case info.Mode()&fs.ModeSymlink != 0:
		e.Link, err = root.Readlink(at)
		return e, true, err
	case !info.Mode().IsRegular():
		return e, false, nil
	case info.Size() > most:
		return e, false, fmt.Errorf("%w: %q has %d bytes, more than the volume", ErrFolder, at, info.Size())
	}
	e.Size = info.Size()
	now := seen{inode: st.Ino, size: st.Size, changed: st.Ctim.Nano(), wrote: st.Mtim.Nano()}
	if before, ok := b.known[at]; ok && before.same(now) {
		e.Chunks = before.chunks
	} else if e.Chunks, err = b.send(ctx, g, root, at, e.Size); err != nil {
		return e, false, err
	}
	now.chunks = e.Chunks
	known[at] = now
	return e, true, nil
}

// send cuts a file into chunks and sends those that the bucket has not.
func (b *Bucket) send(ctx context.Context, g *errgroup.Group, root *os.Root, at string, size int64) ([]string, error) {
	f, err := root.OpenFile(at, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var chunks []string
	for offset := int64(0); offset < size; offset += chunkBytes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		long := min(chunkBytes, size-offset)
		data, err := unix.Seek(int(f.Fd()), offset, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || (err == nil && data >= offset+long) {
			chunks = append(chunks, "")
			continue
		}
		content := make([]byte, long)
		if _, err := io.ReadFull(io.NewSectionReader(f, offset, long), content); err != nil {
			return nil, fmt.Errorf("%w: read %q: %w", ErrFolder, at, err)
		}
		name := b.name(content)
		chunks = append(chunks, name)
		if !b.claim(name) {
			continue
		}
		g.Go(func() error {
			err := b.sendOne(ctx, name, content)
			if err != nil {
				b.unclaim(name)
			}
			return err
		})
	}
	return chunks, nil
}

func (b *Bucket) sendOne(ctx context.Context, name string, content []byte) error {
	there, err := b.has(ctx, name)
	if err != nil || there {
		return err
	}
	sealed, err := b.seal(content, name)
	if err != nil {
		return err
	}
	return b.put(ctx, path.Join("chunks", name), sealed)
}

// claim reports whether a chunk has to be sent, and that it will be.
func (b *Bucket) claim(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.have[name] {
		return false
	}
	b.have[name] = true
	return true
}

func (b *Bucket) unclaim(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.have, name)
}
