package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"
)

// copy copies between this machine and a container.
func (s *session) copy() error {
	args, err := s.args("SOURCE", "TARGET")
	if err != nil {
		return err
	}
	fromLease, fromPath, from := cutLease(args[0])
	toLease, toPath, to := cutLease(args[1])
	if from == to {
		return usage("one side must be in a container, the other on this machine", "write: gantry cp FILE LEASE:PATH, or gantry cp LEASE:PATH FILE; a local file with a colon is ./FILE")
	}
	c, err := s.container(fromLease + toLease)
	if err != nil {
		return err
	}
	client, err := c.login()
	if err != nil {
		return err
	}
	files, err := sftp.NewClient(client, sftp.UseConcurrentWrites(true), sftp.UseConcurrentReads(true))
	if err != nil {
		return network("the container serves no files: "+err.Error(), sessionHint, err)
	}
	defer files.Close()
	t := &transfer{s: s, there: files}
	if to {
		err = t.send(args[0], toPath)
	} else {
		err = t.fetch(fromPath, args[1])
	}
	switch {
	case s.ctx.Err() != nil:
		return interrupted("the copy is incomplete", "copy again: files that are there are written anew")
	case err != nil:
		return refused(fmt.Sprintf("not everything was copied: %v", err), "mend what it names and copy again: files that are there are written anew")
	}
	return s.done(t.result, func(w io.Writer) {
		fmt.Fprintf(w, "copied %d files, %d bytes\n", t.result.Files, t.result.Bytes)
	})
}

// cutLease splits LEASE:PATH. What begins with a slash or a dot is a file of this machine.
func cutLease(text string) (lease, file string, ok bool) {
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") {
		return "", "", false
	}
	lease, file, ok = strings.Cut(text, ":")
	if !ok {
		return "", "", false
	}
	if file == "" {
		file = "." // the home of the container's user
	}
	return lease, file, true
}

// transfer is one copy.
type transfer struct {
	s      *session
	there  *sftp.Client
	result struct {
		Files int   `json:"files"`
		Bytes int64 `json:"bytes"`
	}
}

// send copies a file or a folder of this machine; into the target if that is a folder.
func (t *transfer) send(source, target string) error {
	if info, err := t.there.Stat(target); err == nil && info.IsDir() {
		absolute, err := filepath.Abs(source)
		if err != nil {
			return err
		}
		target = path.Join(target, filepath.Base(absolute))
	}
	return filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = t.s.ctx.Err()
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
			t.s.say(" · skipped  %s, which is no file", p)
			return nil
		}
		return t.sendFile(p, to, info.Mode().Perm())
	})
}

func (t *transfer) sendFile(from, to string, mode fs.FileMode) error {
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
	t.result.Files++
	t.result.Bytes += n
	return t.there.Chmod(to, mode)
}

// fetch copies a file or a folder of the container; into the target if that is a folder. The container may name whatever
// it likes: everything is written below the target.
func (t *transfer) fetch(source, target string) error {
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
		return t.fetchFolder(root, source, name, 0)
	}
	return t.fetchFile(root, source, name, info)
}

// maxDepth is how deep the folders of a container may lie in each other.
const maxDepth = 64

func (t *transfer) fetchFolder(root *os.Root, from, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s in the container lies deeper than %d folders", from, maxDepth)
	}
	if err := root.Mkdir(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := t.there.ReadDirContext(t.s.ctx, from)
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
			err = t.fetchFolder(root, there, here, depth+1)
		case e.Mode().IsRegular():
			err = t.fetchFile(root, there, here, e)
		default:
			t.s.say(" · skipped  %s, which is no file", there)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *transfer) fetchFile(root *os.Root, from, to string, info fs.FileInfo) error {
	if err := t.s.ctx.Err(); err != nil {
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
	t.result.Files++
	t.result.Bytes += n
	return nil
}
