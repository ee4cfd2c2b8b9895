package container

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
)

// copier serves this machine's files over a pipe, as a container's SSH server serves its own.
func copier(t *testing.T) (*Copier, *[]string) {
	t.Helper()
	here, there := net.Pipe()
	server, err := sftp.NewServer(there)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve()
	}()
	client, err := sftp.NewClientPipe(here, here)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		<-done
	})
	said := &[]string{}
	return &Copier{there: client, say: func(format string, _ ...any) { *said = append(*said, format) }}, said
}

func TestFoldersAreCopiedBothWays(t *testing.T) {
	from, container, back := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "run", "deep"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "run", "deep", "weights"), []byte("1234"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(from, "run", "start.sh"), []byte("#!"), 0o755))
	c, said := copier(t)
	require.NoError(t, c.Send(t.Context(), filepath.Join(from, "run"), container), "into a folder that is there")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(container, "run", "link")))
	require.NoError(t, c.Fetch(t.Context(), filepath.Join(container, "run"), back))
	raw, err := os.ReadFile(filepath.Join(back, "run", "deep", "weights"))
	require.NoError(t, err)
	require.Equal(t, "1234", string(raw))
	info, err := os.Stat(filepath.Join(back, "run", "start.sh"))
	require.NoError(t, err)
	require.EqualValues(t, 0o755, info.Mode().Perm())
	require.Equal(t, Copy{Files: 4, Bytes: 12}, c.Copy)
	require.NoFileExists(t, filepath.Join(back, "run", "link"))
	require.Len(t, *said, 1, "a link is left out, and that is said")
}

// hostile lists files whose names lead out of the folder.
type hostile struct{ name string }

func (h hostile) Filelist(*sftp.Request) (sftp.ListerAt, error) { return h, nil }

func (h hostile) ListAt(to []os.FileInfo, at int64) (int, error) {
	if at > 0 {
		return 0, io.EOF
	}
	to[0] = named(h)
	return 1, io.EOF
}

type named struct{ name string }

func (n named) Name() string     { return n.name }
func (named) Size() int64        { return 1 }
func (named) Mode() os.FileMode  { return 0o644 }
func (named) ModTime() time.Time { return time.Time{} }
func (n named) IsDir() bool      { return false }
func (named) Sys() any           { return nil }

func (hostile) Fileread(*sftp.Request) (io.ReaderAt, error) { return strings.NewReader("x"), nil }

func TestNamesOfAContainerStayBelowTheTarget(t *testing.T) {
	for _, name := range []string{"../evil", "..", ".", "/etc/cron.d/evil", "a/../../evil", "a\x00b", `a\b`} {
		outer := t.TempDir()
		target := filepath.Join(outer, "target")
		require.NoError(t, os.Mkdir(target, 0o700))
		here, there := net.Pipe()
		server := sftp.NewRequestServer(there, sftp.Handlers{FileList: hostile{name}, FileGet: hostile{name}})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve()
		}()
		client, err := sftp.NewClientPipe(here, here)
		require.NoError(t, err)
		c := &Copier{there: client, say: func(string, ...any) {}}
		root, err := os.OpenRoot(target)
		require.NoError(t, err)
		_ = c.fetchFolder(t.Context(), root, "/data", "data", 0) // refuses the name, or takes its last part
		require.NoError(t, root.Close())
		_ = client.Close()
		_ = server.Close()
		<-done
		all, err := os.ReadDir(outer)
		require.NoError(t, err)
		require.Len(t, all, 1, "%q", name)
		all, err = os.ReadDir(target)
		require.NoError(t, err)
		require.Len(t, all, 1, "%q", name)
		require.Equal(t, "data", all[0].Name())
	}
}
