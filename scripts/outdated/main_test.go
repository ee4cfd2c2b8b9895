package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func ago(days int) time.Time { return now.AddDate(0, 0, -days) }

func TestVersionsAreOrdered(t *testing.T) {
	for _, row := range [][]string{
		{"v0.9.0", "v0.10.0-rc.1", "v0.10.0-rc.2", "v0.10.0-rc.10", "v0.10.0", "v0.10.1"},
		{"0.13.0-1", "0.13.4-1"},
		{"1.98.4", "2.0.0-alpha.1", "2.0.0-rc.2", "2.0.0-rc.3", "2.0.0", "10.0.0"},
		{"2026.10.19", "2026.10.19.post1", "2026.10.20"},
		{"3.0.0a1", "3.0.0a2", "3.0.0b1", "3.0.0rc1", "3.0.0", "3.0.0.post1", "3.0.1.dev1", "3.0.1"},
		{"v28.2.2+incompatible", "v29.0.0+incompatible"},
	} {
		for i := range row[1:] {
			a, ok := parseVersion(row[i])
			require.True(t, ok, row[i])
			b, ok := parseVersion(row[i+1])
			require.True(t, ok, row[i+1])
			require.Negative(t, a.compare(b), "%s %s", row[i], row[i+1])
			require.Positive(t, b.compare(a), "%s %s", row[i], row[i+1])
		}
	}
	a, _ := parseVersion("1.2")
	b, _ := parseVersion("1.2.0")
	require.Zero(t, a.compare(b))
	for _, none := range []string{"", "latest", "^1.2", "v0.0.1-2020.1.3x/y", "1.x"} {
		v, ok := parseVersion(none)
		require.True(t, !ok || !v.stable(), none)
	}
}

func TestWhatIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		pinned string
		all    []release
		late   bool
		newest string
	}{
		"nothing is newer":              {"v1.2.0", []release{{"v1.1.0", ago(500)}, {"v1.2.0", ago(400)}}, false, ""},
		"newer for ninety days":         {"v1.2.0", []release{{"v1.3.0", ago(90)}}, false, "v1.3.0"},
		"newer for longer":              {"v1.2.0", []release{{"v1.3.0", ago(91)}}, true, "v1.3.0"},
		"the newest is young":           {"v1.2.0", []release{{"v1.3.0", ago(91)}, {"v1.4.0", ago(1)}}, true, "v1.4.0"},
		"an old branch goes on":         {"v2.0.0", []release{{"v1.9.0", ago(100)}, {"v2.0.0", ago(200)}}, false, ""},
		"only a release candidate":      {"v1.2.0", []release{{"v1.3.0-rc.1", ago(200)}}, false, ""},
		"of a release candidate":        {"2.0.0-rc.2", []release{{"2.0.0-rc.3", ago(91)}}, true, "2.0.0-rc.3"},
		"the release of the candidate":  {"2.0.0-rc.2", []release{{"2.0.0", ago(91)}}, true, "2.0.0"},
		"a version that cannot be read": {"v1.2.0", []release{{"nonsense", ago(300)}}, false, ""},
	} {
		newer, err := replacements(pin{version: c.pinned}, c.all)
		require.NoError(t, err, name)
		f := finding{newer: newer}
		require.Equal(t, c.late, f.late(now), name)
		if c.newest != "" {
			require.Equal(t, c.newest, f.newest().version, name)
		}
	}
	_, err := replacements(pin{version: "latest"}, nil)
	require.Error(t, err)
}

func TestReasons(t *testing.T) {
	why, err := readReasons(strings.NewReader("# a comment\n\ngo a.example/x v1.0.0 its successor is another program\nnpm gone 1.0.0 it was removed since then\n" +
		"go b.example/x v1.0.0 the registry is silent today\n"))
	require.NoError(t, err)
	old := []release{{"v2.0.0", ago(200)}}
	r := decide([]finding{
		{pin: pin{registry: "go", name: "a.example/x", version: "v1.0.0"}, newer: old},
		{pin: pin{registry: "go", name: "b.example/x", version: "v1.0.0"}, err: errSilent},
		{pin: pin{registry: "go", name: "c.example/x", version: "v1.0.0"}, newer: old},
		{pin: pin{registry: "go", name: "d.example/x", version: "v1.0.0"}},
	}, why, now)
	require.False(t, r.ok())
	require.Equal(t, "c.example/x", r.late[0].name)
	require.Equal(t, "a.example/x", r.excused[0].name)
	require.Equal(t, []string{"npm gone 1.0.0"}, r.stale)
	require.Len(t, r.unasked, 1)
	require.Equal(t, 3, r.asked)

	// A reason is for one version.
	r = decide([]finding{{pin: pin{registry: "go", name: "a.example/x", version: "v1.0.1"}, newer: old}}, reasons{"go a.example/x v1.0.0": "as above"}, now)
	require.Len(t, r.late, 1)
	require.Len(t, r.stale, 1)

	for _, bad := range []string{"go a.example/x v1.0.0 later", "go a.example/x", "go a b one two three\ngo a b one two three"} {
		_, err := readReasons(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}

// proxy is a Go module proxy in a folder.
func proxy(t *testing.T, path string, versions map[string]time.Time) []string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, path, "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	var list strings.Builder
	for v, at := range versions {
		fmt.Fprintln(&list, v)
		require.NoError(t, os.WriteFile(filepath.Join(dir, v+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, v, at.Format(time.RFC3339)), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, v+".mod"), fmt.Appendf(nil, "module %s\n", path), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(list.String()), 0o600))
	cache := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", cache).Run() })
	return []string{"GOPROXY=file://" + root, "GONOSUMDB=*", "GONOSUMCHECK=1", "GOFLAGS=-modcacherw", "GOMODCACHE=" + cache, "GOSUMDB=off"}
}

// tree is a repository with some files.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, exec.Command("git", "-C", root, "init", "-q").Run())
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	return root
}

// A branch with an old pin is red, and green when the pin is new, or a line says why it stays.
func TestAnOldPinIsRed(t *testing.T) {
	from := public()
	from.goEnv = proxy(t, "a.example/x", map[string]time.Time{"v1.0.0": ago(400), "v1.1.0": ago(100), "v1.2.0": ago(10), "v2.0.0-rc.1": ago(200)})
	check := func(version, why string) report {
		root := tree(t, map[string]string{
			"go.mod":      "module b.example/y\n\ngo 1.26\n\nrequire a.example/x " + version + "\n\nrequire a.example/z v0.1.0 // indirect\n",
			"reasons.txt": why,
		})
		r, err := run(t.Context(), root, "reasons.txt", from, now)
		require.NoError(t, err)
		require.Empty(t, r.unasked)
		return r
	}
	red := check("v1.0.0", "")
	require.False(t, red.ok())
	var said bytes.Buffer
	red.print(&said, "reasons.txt", now)
	require.Contains(t, said.String(), "OUTDATED go a.example/x v1.0.0: a newer version has been there for 100 days (v1.1.0), and the newest is v1.2.0; update it in go.mod, or say why not in reasons.txt\n")
	require.True(t, check("v1.1.0", "").ok(), "the newer one has been there for ten days")
	require.True(t, check("v1.2.0", "").ok())
	require.True(t, check("v1.0.0", "go a.example/x v1.0.0 the next one needs another compiler\n").ok())
	require.False(t, check("v1.2.0", "go a.example/x v1.0.0 the next one needs another compiler\n").ok(), "the line is not needed any more")
}

// A registry that cannot be reached is named; nothing is judged by what it has not said.
func TestASilentRegistry(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	for _, at := range []string{closed.URL, broken.URL} {
		from := registries{client: http.DefaultClient, crates: at, npm: at, pypi: at, rust: at, goEnv: []string{"GOPROXY=" + at, "GOMODCACHE=" + t.TempDir()}}
		for _, p := range []pin{
			{registry: "go", name: "a.example/x", version: "v1.0.0"},
			{registry: "crates", name: "serde", version: "1.0.0"},
			{registry: "npm", name: "@a/x", version: "1.0.0"},
			{registry: "pypi", name: "x", version: "1.0.0"},
			{registry: "rust", name: "stable", version: "1.99.1"},
		} {
			f := from.find(t.Context(), p, now)
			require.ErrorIs(t, f.err, errSilent, p.String())
			r := decide([]finding{f}, nil, now)
			require.True(t, r.ok())
			var said bytes.Buffer
			r.print(&said, "reasons.txt", now)
			require.Contains(t, said.String(), "SKIPPED "+p.String()+": its registry could not be asked")
			require.Contains(t, said.String(), "1 could not be looked up")
		}
	}
}

// answers are what the registries have said, shortened.
var answers = map[string]string{
	"/se/rd/serde_json": `{"name":"serde_json","vers":"1.0.150","yanked":false,"pubtime":"2026-05-01T10:00:00Z"}
{"name":"serde_json","vers":"1.0.151","yanked":true,"pubtime":"2026-07-20T10:00:00Z"}
{"name":"serde_json","vers":"1.0.152","yanked":false,"pubtime":"2026-08-01T10:00:00Z"}`,
	"/3/s/syn": `{"name":"syn","vers":"2.0.0","yanked":false,"pubtime":"2026-05-01T10:00:00Z"}`,
	"/@solana%2Fpay": `{"dist-tags":{"latest":"1.0.16","next":"2.0.0"},"versions":{"0.2.6":{},"1.0.0":{"deprecated":"a mistake"},"1.0.16":{},"2.0.0":{}},
		"time":{"created":"2022-01-01T00:00:00.000Z","0.2.6":"2025-01-01T00:00:00.000Z","1.0.0":"2025-02-01T00:00:00.000Z","1.0.16":"2026-05-08T00:00:00.000Z","2.0.0":"2026-05-09T00:00:00.000Z"}}`,
	"/pypi/httpx/json": `{"releases":{"0.28.1":[{"upload_time_iso_8601":"2024-12-06T15:37:21.000000Z","yanked":false}],"0.29.0":[{"upload_time_iso_8601":"2026-01-01T00:00:00.000000Z","yanked":true}],
		"1.0.dev3":[{"upload_time_iso_8601":"2025-09-15T15:25:01.000000Z","yanked":false}],"0.30.0":[],"0.28.2":[{"upload_time_iso_8601":"2026-11-01T00:00:00Z","yanked":false}]}}`,
	"/dist/channel-rust-stable.toml": "manifest-version = \"2\"\ndate = \"2026-10-15\"\n\n[pkg.cargo]\nversion = \"0.100.0 (5f94df478 2026-08-27)\"\n\n[pkg.rust]\nversion = \"1.99.1 (aaaaaaaaa 2026-10-14)\"\n",
	"/dist/channel-rust-1.98.0.toml": "manifest-version = \"2\"\ndate = \"2026-08-20\"\n\n[pkg.rust]\nversion = \"1.98.0 (bbbbbbbbb 2026-08-18)\"\n",
}

func TestRegistries(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.EscapedPath()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer web.Close()
	from := registries{client: web.Client(), crates: web.URL, npm: web.URL, pypi: web.URL, rust: web.URL}
	for _, c := range []struct {
		pin
		newer []string
		first string
	}{
		{pin{registry: "crates", name: "serde_json", version: "1.0.150"}, []string{"1.0.152"}, "2026-08-01"},
		{pin{registry: "crates", name: "serde_json", version: "1.0.152"}, nil, ""},
		{pin{registry: "crates", name: "syn", version: "1.0.0"}, []string{"2.0.0"}, "2026-05-01"},
		{pin{registry: "npm", name: "@solana/pay", version: "0.2.6"}, []string{"1.0.16"}, "2026-05-08"},
		{pin{registry: "pypi", name: "httpx", version: "0.28.1"}, []string{"0.28.2"}, "2026-11-01"},
		{pin{registry: "rust", name: "stable", version: "1.99.1"}, nil, ""},
		{pin{registry: "rust", name: "stable", version: "1.99.0"}, []string{"1.99.1"}, "2026-10-15"},
		{pin{registry: "rust", name: "stable", version: "1.97.2"}, []string{"1.99.1"}, "2026-08-20"},
		{pin{registry: "rust", name: "nightly", version: "nightly-2026-10-20"}, []string{"nightly-2026-11-28"}, "2026-10-21"},
	} {
		f := from.find(t.Context(), c.pin, now)
		require.NoError(t, f.err, c.String())
		var newer []string
		for _, r := range f.newer {
			newer = append(newer, r.version)
		}
		require.Equal(t, c.newer, newer, c.String())
		if c.first != "" {
			require.Equal(t, c.first, f.newer[0].at.Format(time.DateOnly), c.String())
		}
	}
}

// A commit that has no version is late when the newest commit is another one, and it is itself old.
func TestCommitsOfGo(t *testing.T) {
	const pinned, next = "v0.0.0-20260701000000-0123456789ab", "v0.0.0-20261101000000-123456789abc"
	dir := proxy(t, "a.example/x", map[string]time.Time{pinned: ago(150), next: ago(20)})
	root := strings.TrimPrefix(dir[0], "GOPROXY=file://")
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.example/x/@v/list"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a.example/x/@latest"), fmt.Appendf(nil, `{"Version":%q,"Time":%q}`, next, ago(20).Format(time.RFC3339)), 0o600))
	from := registries{goEnv: dir}
	f := from.find(t.Context(), pin{registry: "go", name: "a.example/x", version: pinned}, now)
	require.NoError(t, f.err)
	require.True(t, f.late(now))
	require.Equal(t, next, f.newest().version)
	f = from.find(t.Context(), pin{registry: "go", name: "a.example/x", version: next}, now)
	require.NoError(t, f.err)
	require.False(t, f.late(now))
}

// Everything that this repository pins is found, and the reasons are for pins that it has.
func TestThePinsOfThisRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is missing")
	}
	pins, err := readPins(context.Background(), "../..")
	require.NoError(t, err)
	for _, want := range []pin{
		{registry: "go", name: "github.com/libp2p/go-libp2p", where: "go.mod"},
		{registry: "go", name: "github.com/rclone/gofakes3", where: "go.mod"},
		{registry: "crates", name: "anchor-lang", where: "program/framework/Cargo.toml"},
		{registry: "crates", name: "solana-clock", where: "program/tests/Cargo.toml"},
		{registry: "crates", name: "surfpool-core", where: "localnet/surfnet/Cargo.toml"},
		{registry: "crates", name: "anchor-lang-idl", where: "program/tools/idl/Cargo.toml"},
		{registry: "crates", name: "agave-validator", where: "scripts/versions.sh"},
		{registry: "npm", name: "openapi-fetch", where: "clients/typescript/package.json"},
		{registry: "npm", name: "playwright-core", where: "web/testdata/browser/package.json"},
		{registry: "pypi", name: "httpx", where: "clients/python/requirements.txt"},
		{registry: "pypi", name: "jupyterlab", where: "scripts/python/jupyter.txt"},
		{registry: "go", name: "gvisor.dev/gvisor", where: "scripts/versions.sh"},
		{registry: "rust", name: "nightly", where: "scripts/versions.sh"},
	} {
		require.True(t, slices.ContainsFunc(pins, func(p pin) bool {
			return p.registry == want.registry && p.name == want.name && p.version != "" && strings.Contains(p.where, want.where)
		}), want.String())
	}
	f, err := os.Open("../outdated.txt")
	require.NoError(t, err)
	defer f.Close()
	why, err := readReasons(f)
	require.NoError(t, err)
	for key := range why {
		require.True(t, slices.ContainsFunc(pins, func(p pin) bool { return p.String() == key }), "%s is pinned nowhere", key)
	}
}

func TestLockedCrates(t *testing.T) {
	manifest := "[package]\nversion = \"1.0.0\"\n[dependencies]\na = \"=1.2.3\"\nb = { version = \"~2.1\", default-features = false }\nc = { path = \"..\" }\n[dev-dependencies]\nd = \"0.3\"\n[lints.clippy]\nx = \"deny\"\n"
	lock := ""
	for _, v := range [][2]string{{"a", "1.2.3"}, {"a", "2.0.0"}, {"b", "1.9.0"}, {"b", "2.1.7"}, {"d", "0.2.9"}, {"d", "0.3.4"}} {
		lock += fmt.Sprintf("[[package]]\nname = %q\nversion = %q\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n\n", v[0], v[1])
	}
	pins, err := cratePins([]byte(manifest), []byte(lock))
	require.NoError(t, err)
	require.Equal(t, []pin{
		{registry: "crates", name: "a", version: "1.2.3"}, {registry: "crates", name: "b", version: "2.1.7"}, {registry: "crates", name: "d", version: "0.3.4"},
	}, pins)
	_, err = cratePins([]byte("[dependencies]\na = \"3\"\n"), []byte(lock))
	require.ErrorContains(t, err, "no a that satisfies")
}

// A tool whose versions come from nowhere known is not passed over.
func TestUnknownPins(t *testing.T) {
	_, err := toolPins([]byte("NEW_TOOL=1.2.3\n"))
	require.ErrorContains(t, err, "NEW_TOOL")
	_, err = pythonPins("clients/other/requirements.txt", []byte("x==1\n"))
	require.Error(t, err)
}
