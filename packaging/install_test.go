package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "gantry-1.2.3-linux-" + runtime.GOARCH // the archive of this system

// release is a server with one release, whose program is a script. Tests change its files by edit.
type release struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	cut   string // a file of which half is sent
}

func newRelease(t *testing.T) *release {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("it is tried on Linux")
	}
	r := &release{files: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := filepath.Base(q.URL.Path)
		content, ok := r.files[name]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		if name == r.cut {
			content = content[:len(content)/2]
		}
		_, _ = w.Write(content)
	}))
	t.Cleanup(r.Close)
	r.edit(func(r *release) {
		r.files[top+".tar.gz"] = archive(top, map[string]string{
			"gantry": "#!/bin/sh\necho gantry version 1.2.3\n", "LICENSE": "ours", "THIRD-PARTY-LICENSES.txt": "theirs", "gantry.1.gz": "page",
		})
		r.files["gantry-1.2.3-plan9-mips.tar.gz"] = []byte("another")
		r.files["gantry-agent-1.2.3-linux-"+runtime.GOARCH+".tar.gz"] = []byte("the agent")
		r.sum()
	})
	return r
}

// edit changes what the server has, while it answers nobody.
func (r *release) edit(change func(*release)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// sum writes SHA256SUMS.
func (r *release) sum() {
	var sums bytes.Buffer
	delete(r.files, "SHA256SUMS")
	for name, content := range r.files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	r.files["SHA256SUMS"] = sums.Bytes()
}

func archive(top string, files map[string]string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, content := range files {
		_ = w.WriteHeader(&tar.Header{Name: top + "/" + name, Mode: 0o755, Size: int64(len(content))}) // a buffer takes everything
		_, _ = w.Write([]byte(content))
	}
	_, _ = w.Close(), z.Close()
	return out.Bytes()
}

// install runs the script in a fresh home, and says what it printed and what is in the home then.
func install(t *testing.T, env []string, args ...string) (home, output string, err error) {
	t.Helper()
	home = t.TempDir()
	script, err := filepath.Abs("install.sh")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	cmd.Dir, cmd.Env = home, append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return home, string(out), err
}

func TestInstall(t *testing.T) {
	r := newRelease(t)
	home, out, err := install(t, nil, "--from", r.URL+"/v1/")
	require.NoError(t, err, out)
	require.Contains(t, out, "Installed "+home+"/.local/bin/gantry: gantry version 1.2.3\n")
	require.Contains(t, out, `Add it to your PATH: export PATH="`+home+`/.local/bin:$PATH"`)
	require.Contains(t, out, "The signature was not verified")
	got, err := exec.CommandContext(t.Context(), filepath.Join(home, ".local/bin/gantry")).Output()
	require.NoError(t, err)
	require.Equal(t, "gantry version 1.2.3\n", string(got))
	for _, name := range []string{"share/doc/gantry/LICENSE", "share/doc/gantry/THIRD-PARTY-LICENSES.txt", "share/man/man1/gantry.1.gz"} {
		require.FileExists(t, filepath.Join(home, ".local", name))
	}
}

// By wget, into another folder, from a place that the environment names, over a version that is there.
func TestInstallOtherwise(t *testing.T) {
	r := newRelease(t)
	prefix := filepath.Join(t.TempDir(), "with space")
	require.NoError(t, os.MkdirAll(filepath.Join(prefix, "bin"), 0o755))
	program := filepath.Join(prefix, "bin/gantry")
	require.NoError(t, os.WriteFile(program, []byte("an older one"), 0o600))
	env := []string{"GANTRY_DOWNLOAD=" + r.URL}
	if _, err := exec.LookPath("wget"); err == nil {
		env = append(env, "PATH="+only(t, "sh", "uname", "mktemp", "rm", "wget", "grep", "sed", "wc", "sha256sum", "mkdir", "tar", "gzip", "head", "cp", "chmod", "mv", "cat"))
	}
	home, out, err := install(t, env, "--prefix", prefix)
	require.NoError(t, err, out)
	require.Contains(t, out, "Installed "+program)
	require.NoDirExists(t, filepath.Join(home, ".local"))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Join(prefix, "bin"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// only is a PATH with these programs of the system's and no others.
func only(t *testing.T, programs ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range programs {
		at, err := exec.LookPath(p)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(at, filepath.Join(dir, p)))
	}
	return dir
}

// Whatever is wrong, the script says what, and the home stays empty.
func TestNothingIsInstalled(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *release)
		uname  string
		args   func(r *release) []string
		says   string
	}{
		"no place":            {args: func(*release) []string { return nil }, says: "nothing of Gantry was released yet"},
		"a flag alone":        {args: func(*release) []string { return []string{"--from"} }, says: "--from needs a value"},
		"another flag":        {args: func(r *release) []string { return []string{"--to", r.URL} }, says: "unknown argument --to"},
		"no such folder":      {args: func(*release) []string { return []string{"--from", "/nowhere/at/all"} }, says: "neither a folder nor a URL"},
		"not encrypted":       {args: func(*release) []string { return []string{"--from", "http://example.com"} }, says: "is not encrypted"},
		"a name like ours":    {args: func(*release) []string { return []string{"--from", "http://localhost.example.com"} }, says: "is not encrypted"},
		"nothing there":       {change: func(r *release) { clear(r.files) }, says: "SHA256SUMS was not downloaded"},
		"no archive":          {change: func(r *release) { delete(r.files, top+".tar.gz") }, says: top + ".tar.gz was not downloaded"},
		"changed":             {change: func(r *release) { r.files[top+".tar.gz"][100] ^= 1 }, says: "is not the file that SHA256SUMS names"},
		"cut off":             {change: func(r *release) { r.cut = top + ".tar.gz" }, says: "was not downloaded, or not whole"},
		"list cut off":        {change: func(r *release) { r.cut = "SHA256SUMS" }, says: "SHA256SUMS was not downloaded, or not whole"},
		"another system":      {uname: "case $1 in -s) echo Plan9;; *) echo x86_64;; esac", says: "there is no gantry for Plan9"},
		"another processor":   {uname: "case $1 in -s) echo Linux;; *) echo mips;; esac", says: "there is no gantry for processors of type mips"},
		"not in this release": {uname: "case $1 in -s) echo Darwin;; *) echo arm64;; esac", says: "has no gantry for darwin-arm64. It has:"},
		"several versions":    {change: func(r *release) { r.files["gantry-1.2.4-linux-"+runtime.GOARCH+".tar.gz"] = nil; r.sum() }, says: "has several versions"},
		"another archive":     {change: func(r *release) { r.files[top+".tar.gz"] = []byte("<html>"); r.sum() }, says: "cannot be unpacked"},
		"without the program": {change: func(r *release) {
			r.files[top+".tar.gz"] = archive(top, map[string]string{"README": "read me"})
			r.sum()
		}, says: "has no gantry"},
		"of another system": {change: func(r *release) {
			r.files[top+".tar.gz"] = archive(top, map[string]string{"gantry": "\x7fELF"})
			r.sum()
		}, says: "does not run here"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t)
			if c.change != nil {
				r.edit(c.change)
			}
			args := []string{"--from", r.URL}
			if c.args != nil {
				args = c.args(r)
			}
			var env []string
			if c.uname != "" {
				dir := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\n"+c.uname+"\n"), 0o755))
				env = append(env, "PATH="+dir+":"+os.Getenv("PATH"))
			}
			home, out, err := install(t, env, args...)
			require.Error(t, err, out)
			require.Contains(t, out, c.says)
			require.Contains(t, out, "Nothing was installed.")
			entries, err := os.ReadDir(home)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// Half of the script does nothing.
func TestHalfOfTheScript(t *testing.T) {
	r := newRelease(t)
	raw, err := os.ReadFile("install.sh")
	require.NoError(t, err)
	home := t.TempDir()
	for _, n := range []int{len(raw) / 4, len(raw) / 2, len(raw) - len("main \"$@\"\n")} {
		cmd := exec.CommandContext(t.Context(), "sh", "-s", "--", "--from", r.URL)
		cmd.Stdin, cmd.Env, cmd.Dir = bytes.NewReader(raw[:n]), []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, home
		_ = cmd.Run() // a half of a function is an error
	}
	entries, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// Releases are signed with minisign: here with the tool that signs, and verified with the one that is there.
func TestSignature(t *testing.T) {
	if _, err := exec.LookPath("minisign"); err != nil {
		t.Skip("minisign is not installed: scripts/toolchain.sh dist")
	}
	r, dir := newRelease(t), t.TempDir()
	key, other := filepath.Join(dir, "key.pub"), filepath.Join(dir, "other.pub")
	minisign(t.Context(), t, "-G", "-W", "-p", key, "-s", filepath.Join(dir, "key"))
	minisign(t.Context(), t, "-G", "-W", "-p", other, "-s", filepath.Join(dir, "other"))
	sums := filepath.Join(dir, "SHA256SUMS")
	require.NoError(t, os.WriteFile(sums, r.files["SHA256SUMS"], 0o600))
	minisign(t.Context(), t, "-S", "-s", filepath.Join(dir, "key"), "-m", sums)

	_, out, err := install(t, nil, "--from", r.URL, "--key", key)
	require.Error(t, err)
	require.Contains(t, out, "SHA256SUMS.minisig was not downloaded")
	signature, err := os.ReadFile(sums + ".minisig")
	require.NoError(t, err)
	r.edit(func(r *release) { r.files["SHA256SUMS.minisig"] = signature })
	_, out, err = install(t, nil, "--from", r.URL, "--key", other)
	require.Error(t, err)
	require.Contains(t, out, "was not signed by this key")
	home, out, err := install(t, nil, "--from", r.URL, "--key", key)
	require.NoError(t, err, out)
	require.Contains(t, out, "The signature of SHA256SUMS is good.")
	require.FileExists(t, filepath.Join(home, ".local/bin/gantry"))
	raw, err := os.ReadFile(key)
	require.NoError(t, err)
	_, out, err = install(t, []string{"GANTRY_PUBLIC_KEY=" + string(bytes.Split(raw, []byte("\n"))[1])}, "--from", r.URL)
	require.NoError(t, err, out)
	require.Contains(t, out, "The signature of SHA256SUMS is good.")
	r.edit(func(r *release) { r.files["SHA256SUMS"] = append(r.files["SHA256SUMS"], '\n') })
	_, out, err = install(t, nil, "--from", r.URL, "--key", key)
	require.Error(t, err)
	require.Contains(t, out, "was not signed by this key")
}

func minisign(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(ctx, "minisign", args...).CombinedOutput()
	require.NoError(t, err, string(out))
}
