package container

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// filesOf speaks with a server of this machine's files over a pipe.
func filesOf(t *testing.T, most int64) *Files {
	t.Helper()
	here, there := net.Pipe()
	server, err := sftp.NewServer(there)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve()
	}()
	f, err := NewFiles(here, here, most)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = f.Close()
		_ = server.Close()
		<-done
	})
	return f
}

func TestFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "z folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("12345"), 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a"), time.Time{}, time.Unix(1_700_000_000, 0)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\x1b[2Jhidden"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\xff"), nil, 0o600))
	require.NoError(t, os.Symlink("z folder", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "broken")))
	f := filesOf(t, 100)
	got, err := f.List(t.Context(), dir+"/z folder/../")
	require.NoError(t, err)
	require.Equal(t, dir, got.Path)
	require.Equal(t, 2, got.More, "names that cannot be shown are counted")
	var kinds []string
	for _, e := range got.Entries {
		kinds = append(kinds, e.Name+" "+e.Kind)
	}
	require.Equal(t, []string{"link folder", "z folder folder", "a file", "broken other"}, kinds)
	require.Equal(t, FileEntry{Name: "a", Kind: KindFile, Bytes: 5, Modified: 1_700_000_000}, got.Entries[2])
	empty, err := f.List(t.Context(), filepath.Join(dir, "z folder"))
	require.NoError(t, err)
	require.Equal(t, []FileEntry{}, empty.Entries)
	_, err = f.List(t.Context(), filepath.Join(dir, "a"))
	require.ErrorContains(t, err, "is not a folder")
}

func TestALargeFolderIsCut(t *testing.T) {
	dir := t.TempDir()
	for i := range MaxEntries + 3 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
	}
	got, err := filesOf(t, 100).List(t.Context(), dir)
	require.NoError(t, err)
	require.Len(t, got.Entries, MaxEntries)
	require.Equal(t, 3, got.More)
}

func TestFilesAreReadAndWritten(t *testing.T) {
	dir := t.TempDir()
	f := filesOf(t, 100)
	name := filepath.Join(dir, "a b")
	for _, content := range [][]byte{bytes.Repeat([]byte{0, 255}, 50), []byte("shorter"), {}} {
		require.NoError(t, f.Write(name, content))
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, content, raw)
		got, err := f.Read(name)
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
}

func TestFilesRefuse(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), make([]byte, 101), 0o600))
	f := filesOf(t, 100)
	read := func(name string) error { _, err := f.Read(name); return err }
	list := func(name string) error { _, err := f.List(t.Context(), name); return err }
	for what, c := range map[string]struct {
		err  error
		want string
	}{
		"a large file":          {read(filepath.Join(dir, "large")), "has 101 bytes, at most 100 are copied so"},
		"a large content":       {f.Write(filepath.Join(dir, "x"), make([]byte, 101)), "has 101 bytes"},
		"a folder as a file":    {read(dir), "is not a file"},
		"a device":              {read("/dev/zero"), "is not a file"},
		"into a folder":         {f.Write(dir, nil), "is there and is not a file"},
		"into a device":         {f.Write("/dev/null", nil), "is there and is not a file"},
		"nothing":               {read(filepath.Join(dir, "none")), "is not there"},
		"no folder":             {list(filepath.Join(dir, "none")), "is not there"},
		"a folder that is none": {f.Write(filepath.Join(dir, "none", "x"), nil), "is not there"},
		"no path":               {read(""), "a path has"},
		"a long path":           {read(strings.Repeat("x", 5000)), "a path has"},
		"no text":               {read("\xff"), "a path has"},
		"an escape":             {f.Write(filepath.Join(dir, "\x1b[2J"), nil), "cannot be shown"},
	} {
		require.ErrorContains(t, c.err, c.want, what)
		require.True(t, errors.As(c.err, new(*service.Failure)), what)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing was made")
}

// endless is a container whose folder and file do not end.
type endless struct{ hostile }

func (e endless) Filelist(*sftp.Request) (sftp.ListerAt, error) { return e, nil }

func (endless) ListAt(to []os.FileInfo, _ int64) (int, error) {
	for i := range to {
		to[i] = named{strings.Repeat("x", 200)}
	}
	return len(to), nil
}

func (endless) Fileread(*sftp.Request) (io.ReaderAt, error) { return zeros{}, nil }

type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) { return len(b), nil }

// A hostile container cannot fill this machine's memory.
func TestAContainerThatSendsWithoutEndIsCutOff(t *testing.T) {
	open := func() *Files {
		here, there := net.Pipe()
		server := sftp.NewRequestServer(there, sftp.Handlers{FileGet: endless{}, FilePut: nil, FileCmd: nil, FileList: endless{hostile{"f"}}})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve()
		}()
		t.Cleanup(func() {
			_ = here.Close()
			_ = server.Close()
			<-done
		})
		f, err := NewFiles(here, here, 1000)
		require.NoError(t, err)
		return f
	}
	_, err := open().List(t.Context(), "/")
	require.ErrorContains(t, err, "it has sent too much")
}
