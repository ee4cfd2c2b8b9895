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
	"maps"
	"os"
	"path"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// transfers is how many chunks are on their way at once, each in memory twice.
const transfers = 4

// saveTime is how long a Save may take, so that what it sends is named by a manifest before Prune takes it for old.
const saveTime = 6 * time.Hour

// Save puts a snapshot of a folder into the bucket, in which nothing may change meanwhile, and returns its name. What the
// last snapshot has is not sent again; a folder that has not changed has the name that it had. No file may be larger than
// most. Errors: ErrBucket, ErrFolder.
func (b *Bucket) Save(ctx context.Context, root *os.Root, most int64) (Hash, error) {
	return b.save(ctx, manifest{Version: version}, Part{Root: root, Most: most})
}

// Part is a folder of a snapshot.
type Part struct {
	// Name is one of PartState, PartFiles and PartVolume; empty where the folder is all that is kept.
	Name string
	Root *os.Root
	// Most is how many bytes a file may have.
	Most int64
}

// SaveContainer is Save for the parts of a suspended container.
func (b *Bucket) SaveContainer(ctx context.Context, c Container, parts ...Part) (Hash, error) {
	return b.save(ctx, manifest{Version: version, Container: &c}, parts...)
}

func (b *Bucket) save(ctx context.Context, m manifest, parts ...Part) (Hash, error) {
	began, err := b.now(ctx)
	if err != nil {
		return Hash{}, err
	}
	b.day, b.have = began.UTC().Format(dayForm), maps.Clone(b.base)
	if b.have == nil {
		b.have = map[string]string{}
	}
	known := map[string]seen{}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for _, p := range parts {
		if err = b.walk(gctx, g, p, &m, known); err != nil {
			break
		}
	}
	if werr := g.Wait(); werr != nil { // the walk ends with it
		return Hash{}, werr
	}
	if err != nil {
		return Hash{}, explain(err)
	}
	return b.finish(ctx, m, known, began)
}

// walk adds what a part has to the manifest.
func (b *Bucket) walk(ctx context.Context, g *errgroup.Group, p Part, m *manifest, known map[string]seen) error {
	return fs.WalkDir(p.Root.FS(), ".", func(at string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(m.Entries) >= maxEntries || len(at) > maxPath {
			return fmt.Errorf("%w: it has more than %d files, or a path of more than %d bytes", ErrFolder, maxEntries, maxPath)
		}
		e, ok, err := b.add(ctx, g, p, at, d, known)
		if err == nil && ok {
			m.Entries = append(m.Entries, e)
		}
		return err
	})
}

func explain(err error) error {
	if errors.Is(err, ErrBucket) || errors.Is(err, ErrFolder) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrFolder, err)
}

// finish writes the manifest, once all chunks are there.
func (b *Bucket) finish(ctx context.Context, m manifest, known map[string]seen, began time.Time) (Hash, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return Hash{}, fmt.Errorf("encode the manifest: %w", err)
	}
	if len(raw) > maxManifest/2 {
		return Hash{}, fmt.Errorf("%w: its list of files has more than %d bytes", ErrFolder, maxManifest/2)
	}
	same := sha256.Sum256(raw)
	if same == b.same {
		b.known = known
		return b.last, nil
	}
	sealed, err := b.seal(raw, nameOfList)
	if err != nil {
		return Hash{}, err
	}
	switch ended, err := b.now(ctx); {
	case err != nil:
		return Hash{}, err
	case ended.Sub(began) > saveTime:
		return Hash{}, fmt.Errorf("%w: the snapshot took %v, more than %v; the next sends what is missing", ErrBucket, ended.Sub(began), saveTime)
	}
	hash := Hash(sha256.Sum256(sealed))
	if err := b.put(ctx, path.Join("manifests", hash.String()), sealed); err != nil {
		return Hash{}, err
	}
	if err := b.mark(ctx, hash, false); err != nil {
		return Hash{}, err
	}
	b.known, b.base, b.same, b.last = known, m.places(), same, hash
	return hash, nil
}

// add describes one file, and sends its chunks. What is neither folder, file nor link is left out; of a layer, what hides files
// of the layers below and pipes are kept too.
func (b *Bucket) add(ctx context.Context, g *errgroup.Group, p Part, at string, d fs.DirEntry, known map[string]seen) (entry, bool, error) {
	info, err := d.Info()
	if err != nil {
		return entry{}, false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, false, fmt.Errorf("%w: %s has no owner", ErrFolder, at)
	}
	e := entry{Path: path.Join(p.Name, at), Mode: info.Mode(), UID: int(st.Uid), GID: int(st.Gid), Time: info.ModTime().UTC()}
	switch {
	case info.IsDir():
		if p.Name == PartFiles {
			e.Opaque, err = isOpaque(p.Root, at)
		}
		return e, true, err
	case info.Mode()&fs.ModeSymlink != 0:
		e.Link, err = p.Root.Readlink(at)
		return e, true, err
	case !info.Mode().IsRegular():
		return e, p.Name == PartFiles && (isWhiteout(info.Mode(), st.Rdev) || info.Mode()&fs.ModeNamedPipe != 0), nil
	case info.Size() > p.Most:
		return e, false, fmt.Errorf("%w: %q has %d bytes, more than the volume", ErrFolder, at, info.Size())
	}
	e.Size = info.Size()
	now := seen{inode: st.Ino, size: st.Size, changed: st.Ctim.Nano(), wrote: st.Mtim.Nano()}
	if before, ok := b.known[e.Path]; ok && before.same(now) {
		e.Chunks = before.chunks
	} else if e.Chunks, err = b.send(ctx, g, p.Root, at, e.Size); err != nil {
		return e, false, err
	}
	now.chunks = e.Chunks
	known[e.Path] = now
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
		at, there := b.have[name]
		if !there {
			at = path.Join(b.day, name)
			b.have[name] = at
			g.Go(func() error { return b.sendOne(ctx, at, content) })
		}
		chunks = append(chunks, at)
	}
	return chunks, nil
}

// sendOne sends a chunk, unless a writer has put it there on the same day.
func (b *Bucket) sendOne(ctx context.Context, at string, content []byte) error {
	there, err := b.has(ctx, at)
	if err != nil || there {
		return err
	}
	sealed, err := b.seal(content, path.Base(at))
	if err != nil {
		return err
	}
	return b.put(ctx, path.Join("chunks", at), sealed)
}
