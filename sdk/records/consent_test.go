package records

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

func TestAConsentIsOfOneKeyOneWalletOneClusterAndOneTime(t *testing.T) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	c := Consent{Domain: Domain{1, 2, 3, 4, 5, 6, 7, 8}, Wallet: solana.PublicKey{9, 31: 10}, Until: time.Unix(258, 0).UTC()}
	b := c.Encode()
	want := append([]byte("GANTRYH1\x01\x02\x03\x04\x05\x06\x07\x08"), c.Wallet[:]...)
	want = append(want, 2, 1, 0, 0, 0, 0, 0, 0)
	require.Equal(t, want, b[:])
	again, err := DecodeConsent(b[:])
	require.NoError(t, err)
	require.Equal(t, c, again)
	_, err = DecodeConsent(b[:55])
	require.ErrorIs(t, err, ErrLength)
	b[7] ^= 1
	_, err = DecodeConsent(b[:])
	require.ErrorIs(t, err, ErrTag)

	sig, err := c.Sign(key)
	require.NoError(t, err)
	require.NoError(t, c.Verify(key.PublicKey(), sig))
	require.ErrorIs(t, c.Verify(c.Wallet, sig), ErrSignature)
	for _, other := range []Consent{
		{Domain: Domain{1}, Wallet: c.Wallet, Until: c.Until},
		{Domain: c.Domain, Wallet: solana.PublicKey{1}, Until: c.Until},
		{Domain: c.Domain, Wallet: c.Wallet, Until: c.Until.Add(time.Second)},
	} {
		require.ErrorIs(t, other.Verify(key.PublicKey(), sig), ErrSignature)
	}
}

// A record in the wallet's name is verified by the keys that the wallet has named, and by no other.
func TestRecordsInAWalletsNameAreSignedByItsKeys(t *testing.T) {
	former, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	next, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	wallet := solana.PublicKey{7}
	m := Manifest{Domain: Domain{1}, Period: 4, Count: 2}
	sign := func(key solana.PrivateKey) solana.Signature {
		s := As(wallet, key)
		require.Equal(t, wallet, s.PublicKey())
		sig, err := m.Sign(s)
		require.NoError(t, err)
		return sig
	}
	keys := Keys(func(keeper solana.PublicKey, p Period) []solana.PublicKey {
		require.Equal(t, Period(4), p)
		if keeper != wallet {
			return nil
		}
		return []solana.PublicKey{next.PublicKey(), former.PublicKey()}
	})
	for _, key := range []solana.PrivateKey{former, next} {
		sig := sign(key)
		by, err := keys.Find(wallet, 4, func(key solana.PublicKey) error { return m.Verify(key, sig) })
		require.NoError(t, err)
		require.Equal(t, key.PublicKey(), by)
		_, err = Keys(Wallets).Find(wallet, 4, func(key solana.PublicKey) error { return m.Verify(key, sig) })
		require.ErrorIs(t, err, ErrSignature)
	}
	_, err = keys.Find(solana.PublicKey{8}, 4, func(solana.PublicKey) error { return nil })
	require.ErrorIs(t, err, ErrSignature, "no keeper has no keys")
}
