//go:build e2e

package scenario

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/internal/testkit/browser"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// pageTime bounds what a script does on the page.
const pageTime = 5 * time.Minute

// A person opens the page that `gantry serve` shows, signs in by its link, sees the offers, orders, watches the lease and
// stops it, in a browser.
func TestPageInABrowser(t *testing.T) {
	t.Parallel()
	chromium, folder := browser.Find(t)
	n, _ := newMarket(t)
	served, err := n.StartServe(t.Context(), n.Keys.Customers[1], "25")
	require.NoError(t, err)
	browser.Run(t, pageTime, "page.mjs", served.Page, served.TokenFile)
	require.Equal(t, 1, leasesBought(t, n, n.Keys.Customers[1]))
	if times := os.Getenv("GANTRY_PAINT"); times != "" { // how often the first paint is measured
		out, err := exec.CommandContext(t.Context(), "node", filepath.Join(folder, "paint.mjs"), chromium, served.URL, served.TokenFile, times).CombinedOutput()
		t.Logf("%s", out)
		require.NoError(t, err)
	}
}

// A visitor without an account looks at the market, a machine, an audit, keepers and slashes, in a browser.
func TestPageForEveryone(t *testing.T) {
	t.Parallel()
	browser.Find(t)
	n, _ := newMarket(t)
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	args := deploy("1.60", "A100", "--run-to-completion")
	ok(t, n, customer, args...)
	history, err := invariants.ReadHistory(t.Context(), n.Chain, nil, 0)
	require.NoError(t, err)
	orders, _ := ledger(history)
	var lease string
	for _, o := range orders {
		for l := range o.leases {
			lease = l.String()
		}
	}
	require.NotEmpty(t, lease)
	served, err := n.StartPublic(t.Context())
	require.NoError(t, err)
	browser.Run(t, pageTime, "public.mjs", served.URL, lease)
}

// leasesBought is how many leases a wallet was awarded, those that are closed by now included.
func leasesBought(t *testing.T, n *network.Network, customer seed.Wallet) (bought int) {
	t.Helper()
	history, err := invariants.ReadHistory(t.Context(), n.Chain, nil, 0)
	require.NoError(t, err)
	orders, _ := ledger(history)
	for _, o := range orders {
		if o.customer == customer.Address() {
			bought += len(o.leases)
		}
	}
	return bought
}

// A person looks at providers, one of whom is slashed, at the templates, and makes a deployment, in a browser.
func TestPageOfProvidersAndDeployments(t *testing.T) {
	t.Parallel()
	browser.Find(t)
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
	browser.Run(t, pageTime, "views.mjs", served.Page, wallets["node-1"], wallets["node-2"])
}

// A person with a wallet that has no credits signs in with it, deposits, authorises the server's session key and has a
// running lease, within a minute and with three signatures at most; what the wallet has not signed as it was shown is
// refused.
func TestPageWithAWallet(t *testing.T) {
	t.Parallel()
	browser.Find(t)
	n, _ := newMarket(t)
	customer := n.Keys.Customers[1]
	served, err := n.StartServeForWallet(t.Context(), customer)
	require.NoError(t, err)
	browser.Run(t, pageTime, "wallet.mjs", served.URL, customer.Path)
	require.Equal(t, 1, leasesBought(t, n, customer))
}

// A person watches a container, opens a terminal in it, extends, stops, rates and disputes its lease, in a browser.
func TestPageOfALease(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	browser.Find(t)
	n, _ := newMarket(t)
	customer := n.Keys.Customers[1]
	served, err := n.StartServeForWallet(t.Context(), customer)
	require.NoError(t, err)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	browser.Run(t, pageTime, "lease.mjs", served.URL, customer.Path, image)
}

// A person buys a cluster, looks at its members, adds a machine and ends it, in a browser.
func TestPageOfClusters(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	browser.Find(t)
	nodes := network.DefaultNodes(3)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Count, nodes[i].Price = "A100", 1, market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	served, err := n.StartServe(t.Context(), customer, "10")
	require.NoError(t, err)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	browser.Run(t, pageTime, "clusters.mjs", served.Page, image)
	require.Equal(t, 3, leasesBought(t, n, customer))
}

// A person keeps a volume, sees which lease uses it and what it takes, and deletes it, in a browser.
func TestPageOfVolumes(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	browser.Find(t)
	n, _ := newMarket(t)
	customer := n.Keys.Customers[1]
	bucket := s3test.Start(t, nil)
	require.NoError(t, n.KeepBucketKeys(seed.Wallet{Name: "serve"}, s3test.AccessKey, s3test.SecretKey))
	served, err := n.StartServe(t.Context(), customer, "25", "--backup", "s3://"+s3test.Bucket+"/page", "--backup-endpoint", bucket.URL)
	require.NoError(t, err)
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	browser.Run(t, pageTime, "volumes.mjs", served.Page, image)
	for name := range bucket.Objects(t) {
		require.NotContains(t, name, "/data/", "all of it is gone")
	}
}
