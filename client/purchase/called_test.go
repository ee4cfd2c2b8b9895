package purchase

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// The name that a person chose for a lease comes before that of its purchase. A key of an interface is not shown as a name.
func TestTheNameOfALease(t *testing.T) {
	f, err := Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	lease, other := solana.PublicKey{7}, solana.PublicKey{8}
	bought := func(p Purchase) {
		h, err := f.Hold(p.Order)
		require.NoError(t, err)
		require.NoError(t, h.Write(p))
		require.NoError(t, h.Release())
	}
	first, added, byKey, unknown := solana.PublicKey{3}, solana.PublicKey{4}, solana.PublicKey{5}, solana.PublicKey{6}
	bought(Purchase{Order: first, Name: "train"})
	bought(Purchase{Order: added, Joins: first})
	bought(Purchase{Order: byKey, Name: "http/3f2c"})
	name := func(order, lease solana.PublicKey) string {
		got, _, err := f.NameOfLease(order, lease)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []string{"train", "train", "", ""}, []string{name(first, lease), name(added, lease), name(byKey, lease), name(unknown, lease)})

	require.NoError(t, f.Call(first, Called{Names: map[string]string{lease.String(): "nightly"}, Runs: "vllm"}))
	require.Equal(t, []string{"nightly", "train", "train"}, []string{name(first, lease), name(first, other), name(added, lease)})
	require.NoError(t, f.Call(unknown, Called{Names: map[string]string{lease.String(): "by a server"}}))
	require.Equal(t, "by a server", name(unknown, lease))
	_, runs, err := f.NameOfLease(first, other)
	require.NoError(t, err)
	require.Equal(t, "vllm", runs)
	all, err := f.All()
	require.NoError(t, err)
	require.Len(t, all, 3, "a name is no purchase")

	require.NoError(t, os.WriteFile(filepath.Join(f.Dir(), orders, first.String(), fileCalled), []byte("{"), 0o600))
	_, _, err = f.NameOfLease(first, lease)
	require.ErrorContains(t, err, first.String())
}
