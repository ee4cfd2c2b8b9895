package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
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
