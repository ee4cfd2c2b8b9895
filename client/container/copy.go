package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/gantry-market/gantry/client/service"
)

// Copy is what was copied between this machine and a container.
type Copy struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// Copier copies files and folders.
type Copier struct {
	Copy
	there *sftp.Client
	say   func(format string, args ...any)
}

// NewCopier asks the container's SSH server for its files. say is told what is left out. The caller closes it.
func NewCopier(client *ssh.Client, say func(format string, args ...any)) (*Copier, error) {
	files, err := sftp.NewClient(client, sftp.UseConcurrentWrites(true), sftp.UseConcurrentReads(true))
	if err != nil {
		return nil, service.Network("the container serves no files: "+err.Error(), Hint, err)
	}
	return &Copier{there: files, say: say}, nil
}

// Close ends it, and not the client.
func (t *Copier) Close() error { return t.there.Close() }

// Send copies a file or a folder of this machine; into the target if that is a folder.
func (t *Copier) Send(ctx context.Context, source, target string) error {
	if info, err := t.there.Stat(target); err == nil && info.IsDir() {
		absolute, err := filepath.Abs(source)
		if err != nil {
			return err
		}
		target = path.Join(target, filepath.Base(absolute))
	}
	return filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(source, p)
		if err != nil {
			return err
		}
		to := path.Join(target, filepath.ToSlash(rest))
		info, err := os.Stat(p)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return t.there.MkdirAll(to)
		case !info.Mode().IsRegular():
			t.say(" · skipped  %s, which is not a file", p)
			return nil
		}
		return t.sendFile(p, to, info.Mode().Perm())
	})
}

func (t *Copier) sendFile(from, to string, mode fs.FileMode) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := t.there.Create(to)
	if err != nil {
		return fmt.Errorf("%s in the container: %w", to, err)
	}
	n, err := w.ReadFrom(r)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("%s in the container: %w", to, err)
	}
	t.Files++
	t.Bytes += n
	return t.there.Chmod(to, mode)
}

// Fetch copies a file or a folder of the container; into the target if that is a folder. The container may name whatever
// it likes: everything is written below the target.
func (t *Copier) Fetch(ctx context.Context, source, target string) error {
	info, err := t.there.Stat(source)
	if err != nil {
		return fmt.Errorf("%s in the container: %w", source, err)
	}
	name := filepath.Base(target)
	dir := filepath.Dir(target)
	if here, err := os.Stat(target); err == nil && here.IsDir() {
		if dir, name = target, path.Base(path.Clean("/"+source)); name == "/" || name == ".." {
			name = "container"
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info.IsDir() {
		return t.fetchFolder(ctx, root, source, name, 0)
	}
	return t.fetchFile(ctx, root, source, name, info)
}

// maxDepth is how deep the folders of a container may lie in each other.
const maxDepth = 64

func (t *Copier) fetchFolder(ctx context.Context, root *os.Root, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s in the container lies deeper than %d folders", from, maxDepth)
	}
	if err := root.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := t.there.ReadDirContext(ctx, from)
	if err != nil {
		return fmt.Errorf("%s in the container: %w", from, err)
	}
	for _, e := range entries {
		name := e.Name()
		if name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || !filepath.IsLocal(name) {
			return fmt.Errorf("the container names a file %q", name)
		}
		there, here := path.Join(from, name), filepath.Join(to, name)
		switch {
		case e.IsDir():
			err = t.fetchFolder(ctx, root, there, here, depth+1)
		case e.Mode().IsRegular():
			err = t.fetchFile(ctx, root, there, here, e)
		default:
			t.say(" · skipped  %s, which is not a file", there)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Copier) fetchFile(ctx context.Context, root *os.Root, from, to string, info fs.FileInfo) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := t.there.Open(from)
	if err != nil {
		return fmt.Errorf("%s in the container: %w", from, err)
	}
	defer r.Close()
	w, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	n, err := r.WriteTo(w)
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	t.Files++
	t.Bytes += n
	return nil
}
