package buy

import (
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
	"github.com/gantry-market/gantry/sdk/volumes"
)

// A request that is repeated asks for the same, whatever its volume has become meanwhile.
func TestAKeptVolumeIsAskedForByItsName(t *testing.T) {
	asks := func(text string, mib uint64, from, given byte) [32]byte {
		r := terms{volume: text, given: snapshot.Hash{given}, request: Request{Keep: true}, backup: &messages.Backup{Bucket: "b", From: [32]byte{from}}}
		r.job.Volume = &messages.Volume{Name: "data", MiB: mib, Path: "/data"}
		r.args.Requirement.MinDiskGib = uint32(mib)
		out, err := r.fingerprint()
		require.NoError(t, err)
		return out
	}
	first := asks("data", 16, 0, 0)
	require.Equal(t, first, asks("data", 32, 7, 0))
	require.NotEqual(t, first, asks("data:32MiB", 32, 7, 0))
	require.NotEqual(t, first, asks("data", 32, 7, 7))
}

// The command that continues a suspended container names its volume where that is kept, and its bucket's folder otherwise.
func TestGoOnWith(t *testing.T) {
	order := solana.PublicKey{1}
	p := purchase.Purchase{Order: order, Backup: &messages.Backup{Bucket: "b", Prefix: "team/volumes/c/w/data", Endpoint: "https://s3.example"}}
	l := &service.Lease{Order: order.String(), Model: "A100"}
	require.Contains(t, GoOnWith([]purchase.Purchase{p}, l, snapshot.Hash{}), " --backup s3://b/team/volumes/c/w/data --backup-endpoint https://s3.example --gpu A100")
	p.Kept = "team"
	require.Contains(t, GoOnWith([]purchase.Purchase{p}, l, snapshot.Hash{}), " --volume data --keep --backup s3://b/team --backup-endpoint https://s3.example --gpu A100")
	require.Contains(t, GoOnWith(nil, &service.Lease{}, snapshot.Hash{}), "as the lease was deployed) --gpu MODEL")
}

// Errors of volumes say what to do, and stay what they are for programs.
func TestFailuresOfVolumes(t *testing.T) {
	require.NoError(t, VolumeFailed("data", nil))
	for want, err := range map[string]error{
		"gantry stop LEASE":        &volumes.InUse{Name: "data", By: volumes.VolumeUse{Says: "lease L"}},
		"gantry volume list":       fmt.Errorf("%w: data", volumes.ErrNone),
		"--volume data:50GiB":      volumes.ErrSize,
		"--restore HASH":           volumes.ErrSuspended,
		"begin with an older one":  volumes.ErrLost,
		"copy the file backup.key": snapshot.ErrDamaged,
		"credentials":              snapshot.ErrBucket,
	} {
		got := VolumeFailed("data", err)
		require.ErrorContains(t, got, want)
		require.ErrorIs(t, got, err)
	}
	require.ErrorContains(t, noBucket(), "gantry context set NAME --bucket")
}

func TestABucketThatACommandNamesComesFirst(t *testing.T) {
	of := Bucket{Folder: "s3://a/b", Endpoint: "https://one", Price: "1"}
	require.Equal(t, of, of.Or("", "https://two"))
	require.Equal(t, Bucket{Folder: "s3://c/d", Endpoint: "https://two", Price: "1"}, of.Or("s3://c/d", "https://two"))
	require.Equal(t, Bucket{Folder: "s3://c/d", Price: "1"}, of.Or("s3://c/d", ""), "Amazon's")
	var r Request
	r.Backup = "s3://own/folder"
	r.KeepIn(of)
	require.Equal(t, "s3://own/folder", r.Backup, "it keeps no volume")
}
