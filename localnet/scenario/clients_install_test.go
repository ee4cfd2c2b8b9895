//go:build e2e

package scenario

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/browser"
)

// runner runs a program within a time, with further variables.
type runner = func(limit time.Duration, env []string, name string, args ...string)

// installWheel is the folder of commands of a new environment of Python, into which pip has installed the wheel of this checkout and
// what it needs, without an index. The command gantry is there, and it needs no Go.
func installWheel(t *testing.T, python, root string, run runner) string {
	t.Helper()
	dir := t.TempDir()
	run(20*time.Minute, []string{"VERSION=1.2.3"}, filepath.Join(root, "scripts/wheels.sh"), dir, "linux/"+runtime.GOARCH)
	wheels, err := filepath.Glob(filepath.Join(dir, "gantry_market-1.2.3-py3-none-manylinux_2_17_*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	venv, err := exec.CommandContext(t.Context(), python, "-c", "import sys; print(sys.prefix)").Output()
	require.NoError(t, err)
	run(5*time.Minute, nil, python, "-m", "venv", filepath.Join(dir, "venv"))
	commands := filepath.Join(dir, "venv", "bin")
	without := []string{"PATH=" + commands + ":/usr/bin:/bin", "HOME=" + dir, "PYTHONPATH="}
	run(5*time.Minute, without, filepath.Join(commands, "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-index",
		"--find-links", filepath.Join(strings.TrimSpace(string(venv)), "wheels"), wheels[0])
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "command -v go || gantry --version")
	cmd.Env = append(os.Environ(), without...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "1.2.3")
	return commands
}

// installNpm is a folder in which the packed npm package of this checkout is installed with what it needs.
func installNpm(t *testing.T, root string, run runner) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(root, "clients/typescript")
	run(2*time.Minute, nil, "npm", "pack", "--silent", "--prefix", source, "--pack-destination", dir, source)
	packed := filepath.Join(dir, "gantry-market-0.1.0.tgz")
	list, err := exec.CommandContext(t.Context(), "tar", "-tzf", packed).Output()
	require.NoError(t, err)
	files := strings.Fields(string(list))
	slices.Sort(files)
	require.Equal(t, []string{
		"package/LICENSE", "package/README.md", "package/dist/index.d.ts", "package/dist/index.js", "package/dist/schema.d.ts", "package/dist/schema.js", "package/package.json",
	}, files)
	into := filepath.Join(dir, "node_modules", "gantry-market")
	require.NoError(t, os.MkdirAll(into, 0o755))
	run(time.Minute, nil, "tar", "-xzf", packed, "-C", into, "--strip-components=1")
	for _, needs := range []string{"openapi-fetch", "openapi-typescript-helpers"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, "node_modules", needs), os.DirFS(filepath.Join(source, "node_modules", needs))))
	}
	// A program that uses the package has its types, in both ways in which TypeScript finds packages, and without those of Node.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "use.mts"), []byte(`import { Gantry, type Lease } from 'gantry-market';
const leases: Lease[] = await new Gantry('http://127.0.0.1:8484', 'token').leases();
// @ts-expect-error a lease has no such field
leases[0]?.nothing;
`), 0o600))
	for _, how := range [][]string{{"nodenext", "nodenext"}, {"esnext", "bundler"}} {
		run(2*time.Minute, nil, filepath.Join(source, "node_modules/.bin/tsc"), "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom,esnext.disposable",
			"--module", how[0], "--moduleResolution", how[1], filepath.Join(dir, "use.mts"))
	}
	return dir
}

// A page of somebody's application, on an origin that the server allows, rents a machine with the npm package. The same page on another
// origin reads nothing.
func TestClientInABrowser(t *testing.T) {
	t.Parallel()
	browser.Find(t)
	_, root, run := clientTest(t)
	npm := installNpm(t, root, run)
	mux := http.NewServeMux()
	mux.Handle("GET /node_modules/", http.FileServer(http.Dir(npm)))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><title>application</title><script type="importmap">{"imports": {
			"gantry-market": "/node_modules/gantry-market/dist/index.js", "openapi-fetch": "/node_modules/openapi-fetch/dist/index.mjs"}}</script>`))
	})
	allowed, other := httptest.NewServer(mux), httptest.NewServer(mux)
	t.Cleanup(allowed.Close)
	t.Cleanup(other.Close)
	n := marketOfOneModel(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[0], "25", "--allow-origin", allowed.URL)
	require.NoError(t, err)
	browser.Run(t, pageTime, "client.mjs", allowed.URL, other.URL, served.URL, served.TokenFile)
	require.Equal(t, 1, leasesBought(t, n, n.Keys.Customers[0]))
}
