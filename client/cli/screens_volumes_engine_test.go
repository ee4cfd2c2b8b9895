package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// A machine writes three snapshots of a volume that is kept. When the lease is over, old ones are pruned, and the volume is deleted.
func TestScreensOfVolumes(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	me, s, customer := stallOf(t, w, market.Volumes)
	s.stays = true
	defer serving(t, s, customer)()
	bucket := s3test.Start(t, nil)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	t.Setenv("AWS_REGION", "us-east-1")
	in := []string{"--backup", "s3://" + s3test.Bucket + "/team", "--backup-endpoint", bucket.URL}
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	var out struct{ Leases []struct{ Address string } }
	me.ok(&out, append(append([]string{"deploy"}, in...), "--volume", "data:16MiB", "--keep", "--gpu", "A100", "--hours", "1", "--max-price", "4", "--detach", "--allow-simulated", "--image", image, "--", "true")...)
	lease := out.Leases[0].Address

	s.m.mu.Lock()
	backup := *s.m.backup
	s.m.mu.Unlock()
	machine, err := snapshot.Open(backup, nil)
	require.NoError(t, err)
	machine.For(lease)
	volume, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = volume.Close() })
	for epoch := range byte(3) {
		require.NoError(t, os.WriteFile(filepath.Join(volume.Name(), "model"), bytes.Repeat([]byte{epoch}, 1<<20), 0o600))
		_, err = machine.Save(t.Context(), volume, 16<<20)
		require.NoError(t, err)
	}
	with := func(args ...string) step { return me.says(append(args, in...)...) }
	runs(t, with("volume", "list"), with("volume", "show", "data"), me.says("stop", lease))
	w.Lease(solana.MustPublicKeyFromBase58(lease), func(l market.Lease) bool { return l.EndedAt > 0 })
	require.NoError(t, machine.Over(t.Context()))
	bucket.Advance(72 * time.Hour)
	runs(t, me.says("prune", "s3://"+s3test.Bucket+"/"+backup.Prefix, "--backup-endpoint", bucket.URL, "--keep", "1"), with("volume", "delete", "data"), with("volume", "list"))
}
