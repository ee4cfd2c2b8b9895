package policy

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDeviceHash(t *testing.T) {
	// printf gantry-deviceGPU-1 | sha256sum
	h := DeviceHash([]byte("GPU-1"))
	require.Equal(t, "f65c59c8fd648157493db3ebff35bdfe40f4f253976a3775f5769aebc2c17ca0", hex.EncodeToString(h[:]))
}

func TestDeviceRoot(t *testing.T) {
	require.Equal(t, [32]byte{}, DeviceRoot(nil))
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [32]byte {
			return DeviceHash([]byte(rapid.StringN(1, 4, 8).Draw(t, "id")))
		}), 1, 9).Draw(t, "hashes")
		root := DeviceRoot(hashes)
		other := append(slices.Clone(hashes), hashes[0])
		slices.Reverse(other)
		require.Equal(t, root, DeviceRoot(other), "a set has one root")
		fresh := DeviceHash([]byte("one that is not among them"))
		require.NotEqual(t, root, DeviceRoot(append(other, fresh)))
		if len(hashes) > 1 && slices.Index(hashes[1:], hashes[0]) < 0 {
			require.NotEqual(t, root, DeviceRoot(hashes[1:]))
		}
	})
}
