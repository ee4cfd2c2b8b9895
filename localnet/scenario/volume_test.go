//go:build e2e

package scenario

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/sdk/market"
)

// offered is how nodes of this machine say that they run jobs.
func offered() string {
	if runtime.CheckVolumes() != nil {
		return market.Sandbox.String()
	}
	return market.Volumes.String()
}

// below reads every file of a network but those of its customers and the disks of containers. Files come and go.
func below(t *testing.T, root string, read func(path string, raw []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err == nil && e.IsDir() && e.Name() == "homes":
			return fs.SkipDir
		case err != nil || !e.Type().IsRegular() || e.Name() == "disk.img":
			return nil
		}
		if raw, err := os.ReadFile(path); err == nil {
			read(path, raw)
		}
		return nil
	}))
}

// secretOf is what a customer's client has stored for the keys of its volumes.
func secretOf(t *testing.T, home string) (secret []byte) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "purchase.json" {
			return err
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var p struct{ Secret []byte }
		require.NoError(t, json.Unmarshal(raw, &p))
		if p.Secret != nil {
			require.Nil(t, secret, "one order is not over")
			secret = p.Secret
		}
		return nil
	}))
	return secret
}

// A customer rents a container with a volume. The key never lies on the machine, what the job writes is not readable there,
// and nothing of the volume is left when the lease ends. What no machine can have is refused before money moves.
func TestAVolumeIsRented(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	n, customer := newMarket(t)
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	rent := []string{"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--network", "none", "--image", image}
	for volume, want := range map[string]string{"data:1GB": "its size", "data:16TiB": "of disk (with the volume", "data:1GiB:/proc": "makes /proc itself"} {
		refused, err := n.Gantry(t.Context(), customer, append(rent, "--volume", volume, "--", "exit")...)
		require.NoError(t, err)
		require.NotZero(t, refused.Code)
		require.Contains(t, refused.Stderr, want)
	}
	v := snapshotOf(t, n)
	require.Empty(t, v.Orders(), "nothing was ordered")

	const content = "the-content-of-a-file-in-a-volume"
	done := ok(t, n, customer, append(rent, "--detach", "--volume", "data:32MiB:/mnt", "--", "put=/mnt/x,"+content, "put=/mnt/z,read ", "get=/mnt/z", "fill=/mnt/y", "wait")...)
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	require.Len(t, deployed.Leases, 1)
	lease := deployed.Leases[0].Address
	var printed string
	require.Eventually(t, func() bool {
		printed = ok(t, n, customer, "logs", lease).Stdout
		return strings.Contains(printed, "waiting")
	}, time.Minute, 200*time.Millisecond)
	require.Contains(t, printed, `got /mnt/z \"read read \" <nil>`)
	require.Contains(t, printed, "no space left on device")

	secret := secretOf(t, filepath.Join(n.Dir(), "homes", customer.Name))
	require.Len(t, secret, 32, "the client keeps what it needs to go on")
	address := solana.MustPublicKeyFromBase58(lease)
	key, err := hkdf.Key(sha256.New, secret, address[:], "gantry-volume-1", 64)
	require.NoError(t, err)
	volumes := 0
	below(t, n.Dir(), func(path string, raw []byte) {
		if filepath.Base(path) == "volume.img" {
			volumes++
		}
		for _, text := range []string{content + content, string(key), hex.EncodeToString(key), base64.StdEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(secret)} {
			require.False(t, strings.Contains(string(raw), text), "%s", path)
		}
	})
	require.Equal(t, 1, volumes)
	ok(t, n, customer, "stop", lease)
	require.Eventually(t, func() bool {
		volumes = 0
		below(t, n.Dir(), func(path string, _ []byte) {
			if filepath.Base(path) == "volume.img" {
				volumes++
			}
		})
		return volumes == 0
	}, time.Minute, 200*time.Millisecond)
	attached, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	require.NoError(t, err)
	for _, file := range attached {
		raw, err := os.ReadFile(file)
		require.False(t, err == nil && strings.HasPrefix(string(raw), n.Dir()), "%s", raw)
	}
}

// What a job leaves in its volume is in the customer's bucket, its hash on chain, and a later lease goes on from it.
// Buckets that cannot be used, and snapshots that are not there, are refused before the order.
func TestAVolumeIsKeptAndRestored(t *testing.T) {
	t.Parallel()
	needsVolumes(t)
	n, customer := newMarket(t)
	bucket := s3test.Start(t, nil)
	image, _ := imagetest.Start(t, nil).Push(t, "team/job", jobImage(t))
	write := func(secret string) { require.NoError(t, n.KeepBucketKeys(customer, s3test.AccessKey, secret)) }
	rent := []string{
		"deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--network", "none", "--run-to-completion", "--image", image,
		"--volume", "data:32MiB", "--backup", "s3://" + s3test.Bucket + "/team/training", "--backup-endpoint", bucket.URL,
	}
	write("wrong")
	refused, err := n.Gantry(t.Context(), customer, append(rent, "--", "who")...)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, refused.Code, refused.Stderr)
	require.Contains(t, refused.Stderr, "the bucket cannot be used")
	write(s3test.SecretKey)
	refused, err = n.Gantry(t.Context(), customer, append(rent, "--restore", strings.Repeat("00", 31)+"01", "--", "who")...)
	require.NoError(t, err)
	require.Contains(t, refused.Stderr, "it has no snapshot 0000")
	require.Empty(t, snapshotOf(t, n).Orders(), "nothing was ordered")

	first := ok(t, n, customer, append(rent, "--", "put=/data/x,kept ")...)
	found := regexp.MustCompile(`snapshot ([0-9a-f]{64}) of the volume`).FindStringSubmatch(first.Stderr)
	require.Len(t, found, 2, first.Stderr)
	require.Contains(t, bucket.Objects(t), "team/training/manifests/"+found[1])
	second := ok(t, n, customer, append(rent, "--restore", found[1], "--", "get=/data/x")...)
	require.Contains(t, second.Stderr, `got /data/x "kept kept " <nil>`)
	prune := []string{"prune", "s3://" + s3test.Bucket + "/team/training", "--backup-endpoint", bucket.URL, "--keep", "1", "--json"}
	var pruned struct{ Kept, SnapshotsRemoved int }
	for _, aged := range []time.Duration{0, 72 * time.Hour} {
		bucket.Advance(aged)
		require.NoError(t, json.Unmarshal([]byte(ok(t, n, customer, prune...).Stdout), &pruned))
		t.Logf("%v later: %+v", aged, pruned)
		require.Equal(t, 2, pruned.Kept+pruned.SnapshotsRemoved)
		require.True(t, aged > 0 || pruned.Kept == 2, "they are younger than two days")
	}
	refused, err = n.Gantry(t.Context(), n.Keys.Customers[1], prune...)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, refused.Code)
	require.Contains(t, refused.Stderr, "there is no backup.key")
	newest := regexp.MustCompile(`snapshot ([0-9a-f]{64}) of the volume`).FindStringSubmatch(second.Stderr)
	require.Len(t, newest, 2, second.Stderr)
	third := ok(t, n, customer, append(rent, "--restore", newest[1], "--", "get=/data/x")...)
	require.Contains(t, third.Stderr, `got /data/x "kept kept " <nil>`)
	below(t, n.Dir(), func(path string, raw []byte) {
		require.False(t, strings.Contains(string(raw), s3test.SecretKey), "%s", path)
	})
}
