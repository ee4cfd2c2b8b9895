package imagetest

import (
	"archive/tar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Busybox are the files of a shell with the usual small tools. It skips the test where there is none.
func Busybox(t testing.TB) []Entry {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("SKIPPED: the image of this test needs a static busybox: scripts/toolchain.sh ssh")
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	out := []Entry{File("bin/busybox", string(raw))}
	for _, name := range []string{"sh", "cat", "echo", "head", "httpd", "ls", "mkdir", "printf", "ps", "setsid", "sha256sum", "sleep", "stty", "touch", "tr"} {
		out = append(out, Entry{Header: tar.Header{Name: "bin/" + name, Linkname: "busybox", Typeflag: tar.TypeSymlink, Mode: 0o777}})
	}
	return out
}

// HostProgram is a program of this machine with its libraries, at the same paths. It is empty where there is none.
func HostProgram(t testing.TB, name string) (out []Entry) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	listed, err := exec.Command("ldd", path).Output()
	require.NoError(t, err)
	for _, word := range append(strings.Fields(string(listed)), path) {
		if !filepath.IsAbs(word) {
			continue
		}
		raw, err := os.ReadFile(word)
		require.NoError(t, err)
		out = append(out, File(strings.TrimPrefix(word, "/"), string(raw)))
	}
	return out
}

// CUDALibraries are the parts of this machine's C library that libcuda links beside those of a program, for images of programs
// that load it.
func CUDALibraries(t testing.TB, program string) (out []Entry) {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	listed, err := exec.Command("ldd", path).Output()
	require.NoError(t, err)
	for _, word := range strings.Fields(string(listed)) {
		if filepath.Base(word) != "libc.so.6" || !filepath.IsAbs(word) {
			continue
		}
		for _, name := range []string{"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"} {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(word), name))
			require.NoError(t, err)
			out = append(out, File(strings.TrimPrefix(filepath.Join(filepath.Dir(word), name), "/"), string(raw)))
		}
	}
	require.NotEmpty(t, out, "%s does not link the C library", path)
	return out
}

// Program builds a package of this repository for containers of any image, and returns the path.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}
