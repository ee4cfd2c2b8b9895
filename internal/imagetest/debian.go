package imagetest

import (
	"archive/tar"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Debian are programs of Debian that a part of scripts/toolchain.sh has unpacked, with what is in more folders and
// the libraries that all of them link; env is what the image needs in its environment. It skips the test where there are none.
func Debian(t testing.TB, part string, folders ...string) (entries []Entry, env []string) {
	t.Helper()
	tool := part + "-root"
	at, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh %s, which takes apt-get of Debian", tool, part)
	}
	out, err := exec.Command(at).Output()
	require.NoError(t, err)
	d := &unpacked{t: t, root: strings.TrimSpace(string(out)), libraries: map[string]string{}, have: map[string]bool{}}
	d.index("lib", "lib64", "usr/lib/x86_64-linux-gnu", "usr/lib")
	for _, dir := range append([]string{"usr/bin", "lib64"}, folders...) {
		d.tree(dir)
	}
	for len(d.wanted) > 0 {
		next := d.wanted[0]
		d.wanted = d.wanted[1:]
		if path, ok := d.libraries[next]; ok {
			d.file(path)
		}
	}
	return d.out, []string{"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/usr/lib:/usr/lib/x86_64-linux-gnu/blas:/usr/lib/x86_64-linux-gnu/lapack"}
}

// unpacked are packages in a folder.
type unpacked struct {
	t         testing.TB
	root      string
	libraries map[string]string // where those are that have a name
	have      map[string]bool
	wanted    []string // names of libraries
	out       []Entry
}

// index finds libraries below folders.
func (d *unpacked) index(dirs ...string) {
	d.t.Helper()
	for _, dir := range dirs {
		require.NoError(d.t, filepath.WalkDir(filepath.Join(d.root, dir), func(path string, e fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err == nil && !e.IsDir() && strings.Contains(name, ".so") && d.libraries[name] == "" {
				d.libraries[name] = path
			}
			return err
		}))
	}
}

func (d *unpacked) tree(dir string) {
	d.t.Helper()
	require.NoError(d.t, filepath.WalkDir(filepath.Join(d.root, dir), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			d.file(path)
		}
		return err
	}))
}

// file takes a file, or a link and what it leads to, and notes which libraries it links.
func (d *unpacked) file(path string) {
	d.t.Helper()
	if d.have[path] {
		return
	}
	d.have[path] = true
	name, err := filepath.Rel(d.root, path)
	require.NoError(d.t, err)
	info, err := os.Lstat(path)
	require.NoError(d.t, err)
	if info.Mode().Type() == fs.ModeSymlink {
		to, err := os.Readlink(path)
		require.NoError(d.t, err)
		d.out = append(d.out, Entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}})
		if filepath.IsAbs(to) {
			to = filepath.Join(d.root, to)
		} else {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if info, err := os.Lstat(to); err == nil && !info.IsDir() {
			d.file(to)
		}
		return
	}
	raw, err := os.ReadFile(path)
	require.NoError(d.t, err)
	d.out = append(d.out, File(name, string(raw)))
	if f, err := elf.NewFile(strings.NewReader(string(raw))); err == nil {
		linked, err := f.ImportedLibraries()
		require.NoError(d.t, err)
		d.wanted = append(d.wanted, linked...)
	}
}
