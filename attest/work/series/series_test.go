package series

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/work"
)

func claimOf(seed work.Seed, n int, roots []work.Hash) Claim {
	return Claim{Seed: seed, N: uint32(n), Rounds: uint32(len(roots)), Roots: Digest(roots)}
}

// opener computes rounds again, as a prover does.
func opener(seed work.Seed, roots []work.Hash, n int) func(int) (io.Reader, error) {
	seeds := Seeds(seed, roots)
	return func(r int) (io.Reader, error) {
		p, err := work.CPU{}.Prove(context.Background(), seeds[r], n)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		_, err = p.WriteTo(&b)
		return &b, err
	}
}

func TestSeries(t *testing.T) {
	const n, rounds = 32, 5
	ctx, seed := context.Background(), work.Seed{7}
	roots, err := Prove(ctx, work.CPU{}, seed, n, rounds)
	require.NoError(t, err)
	c := claimOf(seed, n, roots)
	open := opener(seed, roots, n)
	require.NoError(t, Verify(ctx, c, roots, []int{0, 1, 2, 3, 4}, open))
	require.ErrorIs(t, Verify(ctx, c, roots[:4], []int{0}, open), ErrRoots)
	require.ErrorIs(t, Verify(ctx, c, roots, []int{5}, open), ErrEncoding)
	require.ErrorContains(t, Verify(ctx, c, roots, []int{1}, func(int) (io.Reader, error) { return nil, errors.New("gone") }), "gone")

	// A made-up root is found where it is looked at, and makes all later seeds others.
	made := append([]work.Hash(nil), roots...)
	made[2][0]++
	c = claimOf(seed, n, made)
	open = opener(seed, made, n)
	require.NoError(t, Verify(ctx, c, made, []int{0, 1}, open))
	require.ErrorIs(t, Verify(ctx, c, made, []int{2}, open), ErrRound)
	require.ErrorIs(t, Verify(ctx, c, made, []int{3}, open), ErrRound, "it was not computed from the made-up root")

	_, err = Prove(ctx, work.CPU{}, seed, n, 0)
	require.ErrorIs(t, err, ErrEncoding)
	_, err = Prove(ctx, work.CPU{}, seed, 33, 1)
	require.ErrorIs(t, err, work.ErrOrder)
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Prove(done, work.CPU{}, seed, n, 2)
	require.ErrorIs(t, err, context.Canceled)
}

func TestClaim(t *testing.T) {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	c := Claim{Domain: [8]byte{1}, Node: [32]byte{2}, Period: 3, Seed: work.Seed{4}, N: 64, Rounds: 5, Roots: [32]byte{6}}
	b := c.Bytes()
	back, err := ParseClaim(b[:])
	require.NoError(t, err)
	require.Equal(t, c, back)
	signature := c.Sign(key)
	require.True(t, c.Signed(pub, signature))
	require.False(t, c.Signed(nil, signature))
	for at := range b {
		flipped := b
		flipped[at] ^= 1
		if d, err := ParseClaim(flipped[:]); err == nil {
			require.False(t, d.Signed(pub, signature), "byte %d", at)
		}
	}
	for _, bad := range [][]byte{nil, b[:135], append(bytes.Clone(b[:]), 0)} {
		_, err := ParseClaim(bad)
		require.ErrorIs(t, err, ErrEncoding)
	}
	require.Len(t, Select(c, [32]byte{1}, 3), 3)
}

func FuzzParseClaim(f *testing.F) {
	b := Claim{N: 32, Rounds: 1}.Bytes()
	f.Add(b[:])
	f.Add([]byte(claimTag))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseClaim(b)
		if err != nil {
			return
		}
		if out := c.Bytes(); !bytes.Equal(out[:], b) {
			t.Fatal("two encodings of one claim")
		}
	})
}
