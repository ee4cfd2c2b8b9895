package purchase

import (
	"os"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

// TestAPaymentIsKeptUntilItIsForgotten: one command at a time, and the transaction outlives no record.
func TestAPaymentIsKeptUntilItIsForgotten(t *testing.T) {
	f, err := Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	gateway := solana.PublicKey{3}
	h, err := f.HoldPayment(gateway)
	require.NoError(t, err)
	_, err = f.HoldPayment(gateway)
	require.ErrorIs(t, err, ErrHeld)
	other, err := f.HoldPayment(solana.PublicKey{4})
	require.NoError(t, err)
	require.NoError(t, other.Release())
	_, err = h.Read()
	require.ErrorIs(t, err, ErrNotFound)
	want := Payment{Gateway: gateway, Customer: solana.PublicKey{2}, Number: 1 << 63, Amount: 5, Price: 6}
	require.NoError(t, h.Write(want))
	require.NoError(t, os.WriteFile(h.Transactions(), nil, 0o600))
	require.NoError(t, h.Release())

	h, err = f.HoldPayment(gateway)
	require.NoError(t, err)
	defer h.Release()
	got, err := h.Read()
	require.NoError(t, err)
	want.Version = version
	require.Equal(t, want, got)
	require.NoError(t, h.Forget())
	require.NoFileExists(t, h.Path())
	require.NoFileExists(t, h.Transactions())
	require.NoError(t, h.Forget())
	require.NoError(t, os.WriteFile(h.Path(), []byte(`{"version":2}`), 0o600))
	_, err = h.Read()
	require.ErrorIs(t, err, ErrRecord)
}
