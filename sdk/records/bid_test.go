package records

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestBidHidesAndBinds(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	bid := Bid{
		Domain: Domain{1}, Order: solana.PublicKey{2}, Node: solana.PublicKey{3}, CloseAt: -4, Price: 5, Salt: [32]byte{6},
	}
	raw := bid.Encode()
	back, err := DecodeBid(raw[:])
	require.NoError(t, err)
	require.Equal(t, bid, back)
	sig, err := bid.Sign(key)
	require.NoError(t, err)
	require.NoError(t, bid.Verify(key.PublicKey(), sig))
	require.NoError(t, VerifyCommitment(bid.Commitment(), key.PublicKey(), sig))
	for i := range raw {
		changed := raw
		changed[i] ^= 1
		other, err := DecodeBid(changed[:])
		if i < 8 {
			require.ErrorIs(t, err, ErrTag)
			continue
		}
		require.NoError(t, err)
		require.ErrorIs(t, other.Verify(key.PublicKey(), sig), ErrSignature, "byte %d", i)
	}
	_, err = DecodeBid(raw[1:])
	require.ErrorIs(t, err, ErrLength)
}

func FuzzDecodeBid(f *testing.F) {
	raw := Bid{Price: 1}.Encode()
	f.Add(raw[:])
	f.Add(raw[:BidSize-1])
	f.Fuzz(func(t *testing.T, b []byte) {
		if bid, err := DecodeBid(b); err == nil {
			if again := bid.Encode(); string(again[:]) != string(b) {
				t.Fatalf("%x becomes %x", b, again)
			}
		}
	})
}
