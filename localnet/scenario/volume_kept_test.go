//go:build e2e

package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/localnet/network"
)

// A volume is kept by its name: a second lease on another machine reads what the first has written, without a hash or a size. While a
// lease uses it, another order and its removal are refused before money moves; so is an order without a bucket.
func TestAVolumeIsKeptByItsName(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	nodes := network.DefaultNodes(2)
	nodes[1].GPU = "A100"
	n, err := network.Start(t.Context(), network.Config{Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 1, Nodes: nodes, Log: warnings(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	bucket := s3test.Start(t, nil)
	require.NoError(t, n.KeepBucketKeys(customer, s3test.AccessKey, s3test.SecretKey))
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	rent := []string{
		"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--network", "none", "--image", image, "--keep", "--volume",
	}
	in := []string{"--backup", "s3://" + s3test.Bucket + "/team", "--backup-endpoint", bucket.URL}
	deploy := func(volume string, words ...string) []string {
		return append(append(append(append([]string{}, rent...), volume), in...), words...)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		out, err := n.Gantry(t.Context(), customer, args...)
		require.NoError(t, err)
		require.NotZero(t, out.Code)
		require.Contains(t, out.Stderr, want)
	}
	refused("there is no bucket", append(append([]string{}, rent...), "data:32MiB", "--", "who")...)
	refused("nothing says how large it is", deploy("data", "--", "who")...)
	require.Empty(t, snapshotOf(t, n).Orders(), "nothing was ordered")

	done := ok(t, n, customer, deploy("data:32MiB", "--region", nodes[0].Region, "--detach", "--", "put=/data/x,kept ", "wait")...)
	var first struct {
		Leases []struct{ Address string }
	}
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &first), done.Stdout)
	lease := first.Leases[0].Address
	require.Eventually(t, func() bool {
		return strings.Contains(ok(t, n, customer, "logs", lease).Stdout, "waiting")
	}, time.Minute, 200*time.Millisecond)
	orders := len(snapshotOf(t, n).Orders())
	refused("volume data is in use by lease "+lease, deploy("data", "--", "who")...)
	refused("volume data is in use by lease "+lease, append([]string{"volume", "delete", "data"}, in...)...)
	require.Len(t, snapshotOf(t, n).Orders(), orders)

	ok(t, n, customer, "stop", lease)
	second := ok(t, n, customer, deploy("data:/mnt", "--region", nodes[1].Region, "--run-to-completion", "--", "get=/mnt/x", "put=/mnt/x,again ")...)
	require.Contains(t, second.Stderr, `got /mnt/x "kept kept " <nil>`, "the last snapshot of a lease that was stopped has what it wrote")
	third := ok(t, n, customer, deploy("data", "--run-to-completion", "--", "get=/mnt/x")...)
	require.Contains(t, third.Stderr, `got /mnt/x "again again " <nil>`)

	var listed struct {
		KeyFile string
		Volumes []struct {
			Name    string
			SizeMiB uint64
			Newest  struct{ Bytes int64 }
			UsedBy  *struct{ Says string }
		}
	}
	list := append([]string{"volume", "list", "--json"}, in...)
	require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, list...).Stdout), &listed))
	require.Len(t, listed.Volumes, 1)
	require.Equal(t, uint64(32), listed.Volumes[0].SizeMiB)
	require.NotZero(t, listed.Volumes[0].Newest.Bytes)
	require.Nil(t, listed.Volumes[0].UsedBy)
	require.Equal(t, "backup.key", filepath.Base(listed.KeyFile))

	// Another computer of the customer needs a copy of the key.
	raw, err := os.ReadFile(listed.KeyFile)
	require.NoError(t, err)
	state := t.TempDir()
	elsewhere := append([]string{"--state-dir", state}, list...)
	refused("there is no backup.key in "+state, elsewhere...)
	wallet := filepath.Dir(listed.KeyFile)
	file := filepath.Join(state, filepath.Base(filepath.Dir(wallet)), filepath.Base(wallet), "backup.key")
	require.NoError(t, os.WriteFile(file, make([]byte, len(raw)), 0o600))
	require.Contains(t, ok(t, n, customer, elsewhere...).Stdout, "of another key")
	refused("copy the file backup.key", append([]string{"--state-dir", state}, deploy("data", "--", "who")...)...)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	require.NotContains(t, ok(t, n, customer, elsewhere...).Stdout, "of another key")
	ok(t, n, customer, append([]string{"--state-dir", state, "volume", "delete", "data"}, in...)...)
	for name := range bucket.Objects(t) {
		require.NotContains(t, name, "/data/", "all of it is gone")
	}
}
