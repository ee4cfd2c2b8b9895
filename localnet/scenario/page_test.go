//go:build e2e

package scenario

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
)

// browserTest is the folder of what tries the page in a browser.
const browserTest = "../../client/serve/page/testdata/browser"

// browser is the browser on this machine; the test is skipped where there is none.
func browser(t *testing.T) string {
	t.Helper()
	var chromium string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if _, err := exec.LookPath("node"); err != nil || chromium == "" {
		t.Skip("SKIPPED: the page is tried in a browser where there is one: it takes chromium and node, then scripts/toolchain.sh browser")
	}
	if _, err := os.Stat(filepath.Join(browserTest, "node_modules", "playwright-core")); err != nil {
		t.Skip("SKIPPED: playwright-core is missing: scripts/toolchain.sh browser")
	}
	return chromium
}

// inBrowser runs a script of the folder. GANTRY_SCREENSHOTS names a folder for pictures.
func inBrowser(t *testing.T, chromium, script string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	path, err := filepath.Abs(filepath.Join(browserTest, script))
	require.NoError(t, err)
	args = append([]string{path, chromium}, args...)
	if folder := os.Getenv("GANTRY_SCREENSHOTS"); folder != "" {
		args = append(args, folder)
	}
	out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

// A person opens the page that `gantry serve` shows, signs in by its link, sees the offers, orders, watches the lease and
// stops it, in a browser.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	chromium := browser(t)
	n, _ := market(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25")
	require.NoError(t, err)
	inBrowser(t, chromium, "page.mjs", served.Page, served.TokenFile)
	require.Len(t, snapshotOf(t, n).LeasesOfCustomer(n.Keys.Customers[1].Address()), 1)
	if times := os.Getenv("GANTRY_PAINT"); times != "" { // how often the first paint is measured
		path, err := filepath.Abs(filepath.Join(browserTest, "paint.mjs"))
		require.NoError(t, err)
		out, err := exec.CommandContext(t.Context(), "node", path, chromium, served.URL, served.TokenFile, times).CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
	}
}

// A person looks at providers, one of whom is slashed, at the templates, and makes a deployment, in a browser.
func TestPageOfProvidersAndDeployments(t *testing.T) {
	t.Parallel()
	chromium := browser(t)
	nodes := network.DefaultNodes(1)
	nodes = append(nodes, network.NodeSpec{Name: "node-2", Provider: 1, GPU: "A100", Count: 1, Region: "eu-central-1", Price: 1_900_000, Wrong: true})
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 2, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	ok(t, n, n.Keys.Customers[0], "credits", "add", "10")
	args := deploy("1.30", "A100", "--run-to-completion")
	ok(t, n, n.Keys.Customers[0], append(args[:len(args)-1], "sleep", "12")...) // some seconds are paid
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25")
	require.NoError(t, err)
	wallets := map[string]string{}
	for _, m := range n.Nodes {
		wallets[m.Name] = m.Owner.Address().String()
	}
	inBrowser(t, chromium, "views.mjs", served.Page, wallets["node-1"], wallets["node-2"])
}

// A person with a wallet that has no credits signs in with it, deposits, authorises the server's session key and has a
// running lease, within a minute and with three signatures at most; what the wallet has not signed as it was shown is
// refused.
func TestPageWithAWallet(t *testing.T) {
	t.Parallel()
	chromium := browser(t)
	n, _ := market(t)
	customer := n.Keys.Customers[1]
	served, err := n.StartServeForWallet(t.Context(), customer)
	require.NoError(t, err)
	inBrowser(t, chromium, "wallet.mjs", served.URL, customer.Path)
	require.Len(t, snapshotOf(t, n).LeasesOfCustomer(customer.Address()), 1)
}

// A person watches a container, opens a terminal in it, extends, stops, rates and disputes its lease, in a browser.
func TestPageOfALease(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	chromium := browser(t)
	n, _ := market(t)
	customer := n.Keys.Customers[1]
	served, err := n.StartServeForWallet(t.Context(), customer)
	require.NoError(t, err)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	inBrowser(t, chromium, "lease.mjs", served.URL, customer.Path, image)
}
