package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
)

// modeBits are what a snapshot may set of a file's mode.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// Restore writes a snapshot into an empty folder. Everything is compared with its name, the manifest with the hash. Whoever
// had the key before may have made it, so that nothing in it leads out of the folder. Errors: ErrBucket, ErrDamaged.
func (b *Bucket) Restore(ctx context.Context, root *os.Root, hash Hash) error {
	sealed, err := b.get(ctx, path.Join("manifests", hash.String()), maxManifest)
	if err != nil {
		return err
	}
	if Hash(sha256.Sum256(sealed)) != hash {
		return fmt.Errorf("%w: the manifest is not %s", ErrDamaged, hash)
	}
	raw, err := b.open(sealed, nameOfList)
	if err != nil {
		return err
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%w: manifest: %w", ErrDamaged, err)
	}
	if m.Version != version || len(m.Entries) > maxEntries {
		return fmt.Errorf("%w: a manifest of version %d with %d files; this program reads version %d", ErrDamaged, m.Version, len(m.Entries), version)
	}
	for _, e := range m.Entries {
		if err := b.write(ctx, root, e); err != nil {
			return fmt.Errorf("restore %q: %w", e.Path, err)
		}
	}
	// Folders last, and from the inside, because what is written in them changes their time and needs their mode.
	for _, e := range slices.Backward(m.Entries) {
		if e.Mode.IsDir() {
			if err := finish(root, e); err != nil {
				return fmt.Errorf("restore %q: %w", e.Path, err)
			}
		}
	}
	return nil
}

func (b *Bucket) write(ctx context.Context, root *os.Root, e entry) error {
	switch {
	case !fs.ValidPath(e.Path) || len(e.Path) > maxPath || (e.Path == "." && !e.Mode.IsDir()):
		return fmt.Errorf("%w: no such path", ErrDamaged)
	case e.Path == ".":
		return nil
	case e.Mode.IsDir():
		return root.Mkdir(e.Path, 0o700)
	case e.Mode&fs.ModeSymlink != 0:
		if err := root.Symlink(e.Link, e.Path); err != nil {
			return err
		}
		return root.Lchown(e.Path, e.UID, e.GID)
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
	for i, name := range e.Chunks {
		if name == "" {
			continue
		}
		if !fs.ValidPath(name) || path.Base(name) != name {
			return fmt.Errorf("%w: chunk %q", ErrDamaged, name)
		}
		sealed, err := b.get(ctx, path.Join("chunks", name), chunkBytes+1024)
		if err != nil {
			return err
		}
		content, err := b.open(sealed, name)
		if err != nil {
			return err
		}
		offset := int64(i) * chunkBytes
		if int64(len(content)) != min(chunkBytes, e.Size-offset) || b.name(content) != name {
			return fmt.Errorf("%w: chunk %s", ErrDamaged, name)
		}
		if _, err := f.WriteAt(content, offset); err != nil {
			return err
		}
	}
	return nil
}
