package imagetest

import (
	"archive/tar"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	for _, file := range append(linked(t, path), path) {
		out = append(out, hostFile(t, file))
	}
	return out
}

// linked are the files of the libraries that a program links.
func linked(t testing.TB, program string) []string {
	t.Helper()
	listed, err := exec.Command("ldd", program).Output()
	require.NoError(t, err)
	return slices.DeleteFunc(strings.Fields(string(listed)), func(word string) bool { return !filepath.IsAbs(word) })
}

// hostFile is a file of this machine, at the same path.
func hostFile(t testing.TB, path string) Entry {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return File(strings.TrimPrefix(path, "/"), string(raw))
}

// CUDALibraries are the parts of this machine's C library that libcuda links and a program does not, for images of programs
// that load it.
func CUDALibraries(t testing.TB, program string) (out []Entry) {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	for _, file := range linked(t, path) {
		if filepath.Base(file) != "libc.so.6" {
			continue
		}
		for _, name := range []string{"libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"} {
			out = append(out, hostFile(t, filepath.Join(filepath.Dir(file), name)))
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
