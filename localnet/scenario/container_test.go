//go:build e2e

package scenario

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
)

// A customer rents a container of an image by its tag: it runs in the sandbox, sees none of the machine's files, and its
// output and exit reach the customer. The time in which the image was fetched is not billed: the lease starts after it.
func TestAContainerIsRented(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	n, customer := newMarket(t)
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))

	require.Contains(t, ok(t, n, customer, "search", "gpu=A100 sandbox simulated", "--json").Stdout, `"isolation": "`+offered()+`"`)
	rent := []string{"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--run-to-completion", "--network", "none", "--image"}
	done := ok(t, n, customer, append(rent, image, "--", "kernel", "list=/", "env=GANTRY_GPU_COUNT")...)
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	printed := ok(t, n, customer, "logs", deployed.Leases[0].Address).Stdout
	require.Contains(t, printed, "gvisor")
	require.Contains(t, printed, "entry bin")
	require.NotContains(t, printed, "entry usr")
	require.Contains(t, printed, "GANTRY_GPU_COUNT 1")
	t.Run("visited", func(t *testing.T) { visited(t, n, customer) })

	// The machines of a local network connect no containers, and say so before the lease starts.
	connected, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--image", image, "--", "exit")
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, connected.Code, connected.Stderr)
	require.Contains(t, connected.Stderr, "its provider has switched it off; order with --network none")
	unknown, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--duration", "10m", "--image", image, "--network", "host")
	require.NoError(t, err)
	require.Contains(t, unknown.Stderr, `--network "host" is not known`)

	missing, err := n.Gantry(t.Context(), customer, append(rent, image+"-missing")...)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, missing.Code)
	require.Contains(t, missing.Stderr, "not there, or not public")
}

// jobImage is an image of the program of agent/runtime/testdata/job.
func jobImage(t *testing.T) v1.Image {
	t.Helper()
	built := filepath.Join(t.TempDir(), "job")
	build := exec.Command("go", "build", "-o", built, "../../agent/runtime/testdata/job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	binary, err := os.ReadFile(built)
	require.NoError(t, err)
	return imagetest.Image(t, "amd64", v1.Config{Entrypoint: []string{"/bin/job"}}, imagetest.Layer(t, imagetest.File("bin/job", string(binary))))
}

// A private image is rented with a token for it, which is in no file when the job is over; the password never leaves. Commands run in
// such a container over HTTP.
func TestAPrivateImageIsRented(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	registry := imagetest.Closed(t, true)
	image, _ := registry.Push(t, "team/private", jobImage(t), imagetest.Auth())
	n, customer := newMarket(t)
	settings := filepath.Join(n.Dir(), "homes", customer.Name, ".docker")
	require.NoError(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	require.NoError(t, os.Rename(imagetest.Login(t, registry), settings))

	rent := []string{"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--run-to-completion", "--network", "none", "--image", image}
	closed, err := n.Gantry(t.Context(), customer, append(rent, "--", "kernel")...)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, closed.Code)
	require.Contains(t, closed.Stderr, "--registry-credentials token")
	done := ok(t, n, customer, append(rent, "--registry-credentials", "token", "--", "kernel")...)
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	require.Contains(t, ok(t, n, customer, "logs", deployed.Leases[0].Address).Stdout, "gvisor")

	// A server takes an account with the request, and never the logins of its owner.
	served, err := n.StartServe(t.Context(), customer, "5")
	require.NoError(t, err)
	owners := filepath.Join(n.Dir(), "homes", "serve", ".docker")
	require.NoError(t, os.MkdirAll(filepath.Dir(owners), 0o700))
	require.NoError(t, os.Rename(settings, owners))
	secret, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	server := &models{t: t, url: served.URL, token: strings.TrimSpace(string(secret))}
	order := map[string]any{
		"gpu": "A100", "maxPricePerGpuHour": "3", "seconds": 600, "allowSimulated": true, "runToCompletion": true, "network": "none", "image": image, "command": []string{"kernel"},
		"registryCredentials": "token", "env": map[string]string{"HF_TOKEN": "a-secret-of-the-job"},
	}
	code, said := server.order("owner", order, nil)
	require.Equal(t, http.StatusConflict, code, said)
	require.Contains(t, said, "give registryUser and registryPassword")
	order["registryUser"], order["registryPassword"] = imagetest.User, imagetest.Password
	var bought struct{ Leases []struct{ Address string } }
	require.Eventually(t, func() bool {
		code, said = server.order("own", order, &bought)
		require.Less(t, code, http.StatusBadRequest, said)
		return code == http.StatusCreated
	}, 2*time.Minute, 500*time.Millisecond)
	require.Len(t, bought.Leases, 1)
	require.Eventually(t, func() bool {
		var lease struct{ Status string }
		code, said = server.ask(http.MethodGet, "/v1/leases/"+bought.Leases[0].Address, nil, &lease)
		return code == http.StatusOK && lease.Status == "ended"
	}, 2*time.Minute, 500*time.Millisecond)
	require.Contains(t, ok(t, n, customer, "logs", bought.Leases[0].Address).Stdout, "gvisor")
	commandsOverHTTP(t, server, order)

	require.Eventually(t, func() bool { // the server forgets secrets once it sees that the lease is over
		records, err := filepath.Glob(filepath.Join(n.Dir(), "homes", "serve", "state", "gantry", "*", "*", "orders", "*", "purchase.json"))
		require.NoError(t, err)
		return len(records) > 0 && !slices.ContainsFunc(records, func(path string) bool {
			raw, err := os.ReadFile(path)
			return err != nil || strings.Contains(string(raw), imagetest.Password) || strings.Contains(string(raw), "a-secret-of-the-job")
		})
	}, time.Minute, 100*time.Millisecond)
	require.NoError(t, os.RemoveAll(owners))
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"key","typ":"JWT"}`)) + "."
	require.NoError(t, filepath.WalkDir(n.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == "disk.img" {
			return nil // files come and go while machines run; a container's disk is the job's own, and as large as its limit
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			require.NotContains(t, string(raw), token, path)
			require.NotContains(t, string(raw), imagetest.Password, path)
		}
		return nil
	}))
}

// A machine that cannot run what was ordered declines the lease, and the order goes to the other machine, which declines it as
// well. The customer gets all back but the seconds in which machines were kept, and no machine's record changes.
func TestADeclinedLeaseIsNeverBilled(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	nodes := network.DefaultNodes(2)
	for i := range nodes {
		nodes[i].GPU, nodes[i].Price = "A100", market.PricePerHour(1_300_000)
	}
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	// The machines of this market give containers no network, which a customer learns from them alone.
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	credits := func() market.Credits {
		c, ok := snapshotOf(t, n).CreditsOf(customer.Address())
		require.True(t, ok)
		return c
	}
	before := credits()
	refused, err := n.Gantry(t.Context(), customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--image", image, "--", "/bin/busybox", "true")
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, refused.Code, refused.Stderr)
	require.Contains(t, refused.Stderr, "does not start")
	require.Contains(t, refused.Stderr, "is open again for another machine")
	require.Eventually(t, func() bool {
		for _, l := range snapshotOf(t, n).LeasesOfCustomer(customer.Address()) {
			require.NotEqual(t, market.LeaseRunning, l.State())
		}
		return credits().Reserved == 0
	}, 5*time.Minute, 500*time.Millisecond)
	// All but the seconds in which machines were kept is there, and no machine's record has changed.
	require.Less(t, before.Balance-credits().Balance, uint64(market.OneUSDC/10))
	for _, node := range snapshotOf(t, n).Nodes() {
		require.Zero(t, node.JobsFailed, node.Address)
		require.Zero(t, node.Missed, node.Address)
	}
}
