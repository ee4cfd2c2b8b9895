package purchase

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// Names are good as long as their grant is.
func TestNames(t *testing.T) {
	f, err := Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	order, now := solana.PublicKey{3}, time.UnixMilli(1_000_000)
	urls := map[uint16]string{8080: "https://a.example/"}
	shows := func(want map[uint16]string) {
		t.Helper()
		got, err := f.Published(order, now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	shows(nil)
	require.NoError(t, f.Publish(order, Names{Issued: 900_000, Until: 1_000_001, URLs: urls}))
	shows(urls)
	require.NoError(t, f.Revoke(order, 899_999)) // of a grant before
	shows(urls)
	require.NoError(t, f.Revoke(order, 900_000))
	shows(nil)
	require.NoError(t, f.Publish(order, Names{Issued: 900_001, Until: 1_000_000, URLs: urls}))
	shows(nil)
	all, err := f.All()
	require.NoError(t, err)
	require.Empty(t, all, "names are no purchase")
}

func TestLastGrant(t *testing.T) {
	f, err := Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	order := solana.PublicKey{3}
	last := func() int64 {
		at, err := f.LastGrant(order)
		require.NoError(t, err)
		return at
	}
	require.Zero(t, last())
	require.NoError(t, f.Publish(order, Names{Issued: 7, Until: 9}))
	require.EqualValues(t, 7, last())
	require.NoError(t, f.Revoke(order, 8))
	require.EqualValues(t, 8, last())
	require.NoError(t, f.Publish(order, Names{Issued: 10, Until: 11}))
	require.EqualValues(t, 10, last())
}
