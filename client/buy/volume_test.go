package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Each lease has a key of its own, which a resumed command makes again of what is stored, as long as the purchase goes
// on.
func TestKeysOfVolumes(t *testing.T) {
	secret := make([]byte, volumeSecretBytes)
	d := &deal{p: purchase.Purchase{Secret: secret}}
	key, err := d.volumeKey(solana.PublicKey{1})
	require.NoError(t, err)
	require.Nil(t, key, "a job without a volume has none")
	d.r.job.Volume = &messages.Volume{Name: "data", MiB: 16, Path: "/data"}
	seen := map[string]bool{}
	for i := range byte(8) {
		secret[0] = i / 4
		lease := solana.PublicKey{i % 4}
		key, err := d.volumeKey(lease)
		require.NoError(t, err)
		require.Len(t, key, messages.VolumeKeyBytes)
		again, err := d.volumeKey(lease)
		require.NoError(t, err)
		require.Equal(t, key, again)
		require.False(t, seen[string(key)])
		seen[string(key)] = true
	}
	d.p.End(service.CodeDone, "done", nil)
	_, err = d.volumeKey(solana.PublicKey{1})
	require.ErrorContains(t, err, "has no secret")
}

// An order whose volume is more than a node's share of disk is not for that node.
func TestVolumesFitIntoTheShare(t *testing.T) {
	n := &market.Node{}
	n.Spec.Gpus, n.Spec.DiskGib = 4, 400
	require.True(t, volumeFits(nil, n, 1))
	for gpus, most := range map[uint8]uint64{1: 100<<10 - jobspec.MinFilesMiB, 4: 400<<10 - jobspec.MinFilesMiB} {
		require.True(t, volumeFits(&messages.Volume{MiB: most}, n, gpus))
		require.False(t, volumeFits(&messages.Volume{MiB: most + 1}, n, gpus))
	}
	require.False(t, volumeFits(&messages.Volume{MiB: messages.MaxVolumeMiB}, n, 4))
	n.Spec.DiskGib = 0
	require.False(t, volumeFits(&messages.Volume{MiB: messages.MinVolumeMiB}, n, 4))
}
