package service

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestPick(t *testing.T) {
	a, b := solana.MustPublicKeyFromBase58("Ciwj8PqZQka6qhy9cBxaBPGSZ4dbCVHVmTqpTwRZ9tqB"), solana.MustPublicKeyFromBase58("BFTbKQwzWYk6BSRiQj93bqD4VYtfwS3F7dw1mQLoxqYj")
	all := []solana.PublicKey{a, b}
	for text, want := range map[string]solana.PublicKey{a.String(): a, "Ciwj": a, "Ciw…": a, "BFTbKQ...": b} {
		got, err := PickAddress(text, "lease", all)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, message := range map[string]string{"Ci": "is too short to find the lease", "xyz": "no lease begins with", "": "is too short to find the lease"} {
		_, err := PickAddress(text, "lease", all)
		require.ErrorContains(t, err, message, text)
	}
	_, err := PickAddress("Ciwj", "lease", append(all, a))
	require.ErrorContains(t, err, "matches 2 leases")
}
