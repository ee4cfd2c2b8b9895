package gpus

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is what ldconfig reads in a cache.
func listed(t *testing.T, file string) string {
	t.Helper()
	ldconfig, err := exec.LookPath("ldconfig")
	if err != nil {
		t.Skip("SKIPPED: this machine has no ldconfig")
	}
	out, err := exec.Command(ldconfig, "-p", "-C", file).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// The machine's own cache, with the driver's libraries, is one that ldconfig reads, in the order in which the loader searches.
func TestTheImagesCacheHasTheDriversLibraries(t *testing.T) {
	rootfs, links := t.TempDir(), t.TempDir()
	d := Driver{Links: links}
	require.NoError(t, d.AddToCache(rootfs), "an image without a cache")
	require.NoFileExists(t, filepath.Join(rootfs, cacheFile))
	for _, name := range []string{"libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so.550.90.12", "libzzz.so.9", "aaa.so"} {
		require.NoError(t, os.Symlink("/x/"+name, filepath.Join(links, name)))
	}
	// ldconfig writes caches of both formats, and entries for processors in an extension.
	folder := filepath.Join(rootfs, "usr/lib/x86_64-linux-gnu")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "glibc-hwcaps/x86-64-v3"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(rootfs, "etc"), 0o755))
	libc, err := os.ReadFile(libraryOfThisMachine(t))
	require.NoError(t, err)
	for _, at := range []string{"libc.so.6", "glibc-hwcaps/x86-64-v3/libc.so.6"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, at), libc, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(rootfs, "etc/ld.so.conf"), []byte("/usr/lib/x86_64-linux-gnu\n"), 0o600))
	cache := filepath.Join(rootfs, cacheFile)
	for _, format := range []string{"new", "compat"} {
		out, err := exec.Command("ldconfig", "-r", rootfs, "-c", format).CombinedOutput()
		require.NoError(t, err, string(out))
		before := listed(t, cache)
		require.Contains(t, before, "libc.so.6")
		require.NoError(t, d.AddToCache(rootfs))
		after := listed(t, cache)
		for _, name := range []string{"libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so.550.90.12", "libzzz.so.9"} {
			require.Contains(t, after, name+" (libc6,x86-64) => /usr/local/gantry/lib64/"+name+"\n")
		}
		for _, line := range strings.Split(before, "\n")[1:] {
			// Of the older format what is in its extension is left out.
			if format == "new" || (!strings.Contains(line, "hwcap") && !strings.HasPrefix(line, "Cache generated")) {
				require.Contains(t, after, line)
			}
		}
		raw, err := os.ReadFile(cache)
		require.NoError(t, err)
		count := order.Uint32(raw[20:])
		for i, last := uint32(0), ""; i < count; i++ {
			key, ok := text(raw, order.Uint32(raw[cacheHeader+i*cacheEntry+4:]))
			require.True(t, ok)
			require.True(t, i == 0 || compareLibraries(last, key) >= 0, "%s after %s", key, last)
			last = key
		}
		require.NoError(t, d.AddToCache(rootfs))
		again, err := os.ReadFile(cache)
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, again), "once")
	}
}

// What is no cache, or says that it is larger than it is, stays as it is.
func TestACacheThatCannotBeReadStays(t *testing.T) {
	good, err := os.ReadFile("/etc/ld.so.cache")
	if err != nil {
		t.Skip("SKIPPED: this machine has no cache of libraries")
	}
	paths := []string{"/usr/local/gantry/lib64/libcuda.so.1"}
	_, ok := extendCache(good, paths)
	require.True(t, ok)
	for cut := 0; cut < len(good); cut += 97 {
		extendCache(good[:cut], paths)
	}
	for i := range min(len(good), 4096) {
		bad := bytes.Clone(good)
		bad[i] ^= 0xff
		extendCache(bad, paths)
	}
	for i := max(0, len(good)-512); i < len(good); i++ {
		bad := bytes.Clone(good)
		bad[i] ^= 0xff
		extendCache(bad, paths)
	}
	for _, bad := range []string{"", oldMagic, oldMagic + "\xff\xff\xff\xff", cacheMagic, cacheMagic + strings.Repeat("\xff", 28)} {
		_, ok := extendCache([]byte(bad), paths)
		require.False(t, ok)
	}
}

// libraryOfThisMachine is glibc's own.
func libraryOfThisMachine(t *testing.T) string {
	t.Helper()
	for _, at := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"} {
		if _, err := os.Stat(at); err == nil {
			return at
		}
	}
	t.Skip("SKIPPED: this machine has no glibc")
	return ""
}
