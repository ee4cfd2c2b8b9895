package mesh

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2s"
)

// A flood of initiations that are for nobody must not take QUIC's reader more time than their limit allows.
func TestAFloodOfInitiationsIsNotHashed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := NewPrivateKey()
		require.NoError(t, err)
		var d devices
		b := newBind(&Port{}, key.Public())
		junk, valid := make([]byte, initiationLen), make([]byte, initiationLen)
		junk[0], valid[0] = initiation, initiation
		mac, err := blake2s.New128(b.mac1Key[:])
		require.NoError(t, err)
		end := initiationLen - 2*mac1Len
		mac.Write(valid[:end])
		copy(valid[end:], mac.Sum(nil))

		require.Nil(t, d.receiver(valid), "there is no device")
		d.add(b)
		require.Same(t, b, d.receiver(valid))
		for range initiationsMost {
			require.Nil(t, d.receiver(junk))
		}
		require.Nil(t, d.receiver(valid))
		time.Sleep(time.Millisecond)
		require.Same(t, b, d.receiver(valid))
	})
}
