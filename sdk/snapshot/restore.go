//go:build linux

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// modeBits are what a snapshot may set of a file's mode.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Restore writes a snapshot's volume into an empty folder. Everything is compared with its name, the manifest with the hash.
// Whoever had the key before may have made it, so that nothing in it leads out of the folder. Errors: ErrBucket, ErrDamaged.
func (b *Bucket) Restore(ctx context.Context, root *os.Root, hash Hash) error {
	s, err := b.Take(ctx, hash)
	if err != nil {
		return err
	}
	if err := s.Restore(ctx, PartVolume, root); err != nil {
		return errors.Join(err, s.GiveUp(ctx))
	}
	return nil
}

// Restore writes a part into an empty folder, as [Bucket.Restore] does.
func (s *Saved) Restore(ctx context.Context, part string, root *os.Root) error {
	entries := s.m.Entries
	if s.m.Container != nil {
		entries = within(entries, part)
	}
	for _, e := range entries {
		if err := s.b.write(ctx, root, e, part); err != nil {
			return fmt.Errorf("restore %q: %w", e.Path, err)
		}
	}
	// Folders last, and from the inside, because what is written in them changes their time and needs their mode.
	for _, e := range slices.Backward(entries) {
		if e.Mode.IsDir() {
			if err := finish(root, e); err != nil {
				return fmt.Errorf("restore %q: %w", e.Path, err)
			}
		}
	}
	return nil
}

// within are the entries of a part, with their paths in it.
func within(all []entry, part string) (out []entry) {
	for _, e := range all {
		if e.Path == part {
			e.Path = "."
		} else if rest, ok := strings.CutPrefix(e.Path, part+"/"); ok {
			e.Path = rest
		} else {
			continue
		}
		out = append(out, e)
	}
	return out
}

func (b *Bucket) write(ctx context.Context, root *os.Root, e entry, part string) error {
	switch {
	case !fs.ValidPath(e.Path) || len(e.Path) > maxPath || (e.Path == "." && !e.Mode.IsDir()):
		return fmt.Errorf("%w: no such path", ErrDamaged)
	case e.Opaque && part != PartFiles:
		return fmt.Errorf("%w: it is not a layer", ErrDamaged)
	case e.Path == ".":
		return nil
	case e.Mode.IsDir():
		if err := root.Mkdir(e.Path, 0o700); err != nil || !e.Opaque {
			return err
		}
		return setOpaque(root, e.Path)
	case e.Mode&fs.ModeSymlink != 0:
		if err := root.Symlink(e.Link, e.Path); err != nil {
			return err
		}
		return root.Lchown(e.Path, e.UID, e.GID)
	case part == PartFiles && isWhiteout(e.Mode, 0):
		return makeNode(root, e.Path, unix.S_IFCHR)
	case part == PartFiles && e.Mode.Type() == fs.ModeNamedPipe:
		if err := makeNode(root, e.Path, unix.S_IFIFO); err != nil {
			return err
		}
		return finish(root, e)
	case !e.Mode.IsRegular():
		return fmt.Errorf("%w: neither folder, file nor link", ErrDamaged)
	}
	if err := b.file(ctx, root, e); err != nil {
		return err
	}
	return finish(root, e)
}

// finish sets owner, mode and time; the mode after the owner, whose change takes bits of it.
func finish(root *os.Root, e entry) error {
	if err := root.Lchown(e.Path, e.UID, e.GID); err != nil {
		return err
	}
	if err := root.Chmod(e.Path, e.Mode&modeBits); err != nil {
		return err
	}
	return root.Chtimes(e.Path, e.Time, e.Time)
}

// file writes a file, with its holes.
func (b *Bucket) file(ctx context.Context, root *os.Root, e entry) (err error) {
	if e.Size < 0 || int64(len(e.Chunks)) != (e.Size+chunkBytes-1)/chunkBytes {
		return fmt.Errorf("%w: %d chunks for %d bytes", ErrDamaged, len(e.Chunks), e.Size)
	}
	f, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(e.Size); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(transfers)
	for i, at := range e.Chunks {
		offset := int64(i) * chunkBytes
		if at != "" && ctx.Err() == nil {
			g.Go(func() error { return b.chunk(ctx, f, at, offset, min(chunkBytes, e.Size-offset)) })
		}
	}
	return g.Wait()
}

// chunk writes a piece of a file.
func (b *Bucket) chunk(ctx context.Context, f *os.File, at string, offset, length int64) error {
	name := path.Base(at)
	if _, err := time.Parse(dayForm, path.Dir(at)); err != nil || !fs.ValidPath(at) {
		return fmt.Errorf("%w: chunk %q", ErrDamaged, at)
	}
	sealed, err := b.get(ctx, path.Join("chunks", at), chunkBytes+1024)
	if err != nil {
		return err
	}
	content, err := b.open(sealed, name)
	if err != nil {
		return err
	}
	if int64(len(content)) != length || b.name(content) != name {
		return fmt.Errorf("%w: chunk %s", ErrDamaged, name)
	}
	_, err = f.WriteAt(content, offset)
	return err
}
