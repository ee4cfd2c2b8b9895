//go:build e2e

package scenario

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browserTest is the folder of what tries the page in a browser.
const browserTest = "../../client/serve/page/testdata/browser"

// A person opens the page that `gantry serve` shows, signs in by its link, sees the offers, orders, watches the lease and
// stops it, in a browser. GANTRY_SCREENSHOTS names a folder for pictures.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	var chromium string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	node, err := exec.LookPath("node")
	if err != nil || chromium == "" {
		t.Skip("SKIPPED: the page is tried in a browser where there is one: it takes chromium and node, then scripts/toolchain.sh browser")
	}
	if _, err := os.Stat(filepath.Join(browserTest, "node_modules", "playwright-core")); err != nil {
		t.Skip("SKIPPED: playwright-core is missing: scripts/toolchain.sh browser")
	}
	n, _ := market(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	script, err := filepath.Abs(browserTest + "/page.mjs")
	require.NoError(t, err)
	args := []string{script, chromium, served.Page, served.TokenFile}
	if folder := os.Getenv("GANTRY_SCREENSHOTS"); folder != "" {
		args = append(args, folder)
	}
	out, err := exec.CommandContext(ctx, node, args...).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Len(t, snapshotOf(t, n).LeasesOfCustomer(n.Keys.Customers[1].Address()), 1)
}
