package imagetest

import (
	"archive/tar"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Python are the files of the virtual environment that a part of scripts/toolchain.sh has made, with its interpreter and the libraries of
// this machine that they link, at the same paths; python is the interpreter's. It skips the test where there is none.
func Python(t testing.TB, part string) (entries []Entry, python string) {
	t.Helper()
	tool := part + "-python"
	at, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh %s, which takes Python 3.11 with venv", tool, part)
	}
	out, err := exec.Command(at, "-c", `import json, os, sys, sysconfig
base = os.path.realpath(sys.executable)
print(json.dumps({"Executable": sys.executable, "Base": base, "Prefix": sys.prefix, "Stdlib": sysconfig.get_path("stdlib")}))`).Output()
	require.NoError(t, err)
	var p struct{ Executable, Base, Prefix, Stdlib string }
	require.NoError(t, json.Unmarshal(out, &p))
	c := &copier{t: t, have: map[string]bool{}}
	c.file(p.Base)
	c.tree(p.Stdlib, "test", "idlelib", "site-packages", "dist-packages", "ensurepip", "lib2to3")
	c.tree(p.Prefix, "pip")
	c.libraries()
	return c.out, p.Executable
}

// copier takes files of this machine once.
type copier struct {
	t     testing.TB
	have  map[string]bool
	out   []Entry
	links []string // files that link libraries
}

func (c *copier) file(path string) {
	c.t.Helper()
	if c.have[path] {
		return
	}
	c.have[path] = true
	info, err := os.Lstat(path)
	require.NoError(c.t, err)
	if info.Mode().Type() == fs.ModeSymlink {
		to, err := os.Readlink(path)
		require.NoError(c.t, err)
		c.out = append(c.out, Entry{Header: tar.Header{Name: strings.TrimPrefix(path, "/"), Linkname: to, Typeflag: tar.TypeSymlink, Mode: 0o777}})
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if info, err := os.Stat(to); err == nil && info.Mode().IsRegular() {
			c.file(to)
		}
		return
	}
	raw, err := os.ReadFile(path)
	require.NoError(c.t, err)
	c.out = append(c.out, File(strings.TrimPrefix(path, "/"), string(raw)))
	if strings.HasPrefix(string(raw), "\x7fELF") {
		c.links = append(c.links, path)
	}
}

// tree takes a folder, without folders of these names.
func (c *copier) tree(dir string, without ...string) {
	c.t.Helper()
	require.NoError(c.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(without, d.Name()):
			return filepath.SkipDir
		case !d.IsDir():
			c.file(path)
		}
		return nil
	}))
}

// libraries takes what the files link, at the names by which the loader asks for them.
func (c *copier) libraries() {
	c.t.Helper()
	// ldd fails for files that are linked statically.
	listed, _ := exec.Command("ldd", c.links...).Output()
	for line := range strings.Lines(string(listed)) {
		for _, word := range strings.Fields(line) {
			if word = filepath.Clean(strings.TrimSuffix(word, ":")); filepath.IsAbs(word) && !c.have[word] {
				c.library(word)
			}
		}
	}
}

func (c *copier) library(path string) {
	c.t.Helper()
	raw, err := os.ReadFile(path) // through links
	if err != nil {
		return
	}
	c.have[path] = true
	c.out = append(c.out, File(strings.TrimPrefix(path, "/"), string(raw)))
}
