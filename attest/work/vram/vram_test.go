package vram

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func random(t testing.TB) (b [32]byte) {
	t.Helper()
	_, err := rand.Read(b[:])
	require.NoError(t, err)
	return b
}

// round plays one challenge against a prover and returns the verifier's verdict.
func round(t testing.TB, r Resident, seed [32]byte, s Shape, k int) error {
	t.Helper()
	c := Claim{Seed: seed, Nonce: random(t), Shape: s}
	sweep, err := r.Sweep(context.Background(), c.Nonce)
	require.NoError(t, err)
	c.Root = sweep.Root
	selected := Select(c, random(t), k)
	opened, err := sweep.Open(selected)
	require.NoError(t, err)
	return Verify(context.Background(), c, selected, opened)
}

func TestHonestMemoryPasses(t *testing.T) {
	for _, s := range []Shape{{1, 1}, {2, 1}, {3, 2}, {17, 3}} {
		seed := random(t)
		r, err := CPU{}.Fill(context.Background(), seed, s)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, round(t, r, seed, s, 4), "%v", s)
		}
		require.NoError(t, r.Close())
	}
}

// The contents are pinned by another implementation, of 15 lines of Python over hashlib.
func TestContents(t *testing.T) {
	for _, c := range []struct {
		index, passes uint32
		digest        string
	}{
		{0, 1, "ba8b2cfb50b5b2157420701a65b5dd1ca247f06d261c85d878442481e9507960"},
		{7, 3, "09688103f1d378df066b2a7ca54e50fc14a6bc4c43648dc7409f465d90ff6b13"},
	} {
		b, err := Block([32]byte{1}, c.index, c.passes)
		require.NoError(t, err)
		d, err := Digest(b, [32]byte{2}, c.index)
		require.NoError(t, err)
		require.Equal(t, c.digest, hex.EncodeToString(d[:]))
	}
	_, err := Block([32]byte{}, MaxBlocks, 1)
	require.ErrorIs(t, err, ErrShape)
	_, err = Block([32]byte{}, 0, 0)
	require.ErrorIs(t, err, ErrShape)
	_, err = Digest(make([]byte, 32), [32]byte{}, 0)
	require.ErrorIs(t, err, ErrShape)
}

func TestBlocksDependOnEverything(t *testing.T) {
	base, err := Block([32]byte{1}, 5, 2)
	require.NoError(t, err)
	for name, make := range map[string]func() ([]byte, error){
		"seed":   func() ([]byte, error) { return Block([32]byte{2}, 5, 2) },
		"index":  func() ([]byte, error) { return Block([32]byte{1}, 6, 2) },
		"passes": func() ([]byte, error) { return Block([32]byte{1}, 5, 3) },
	} {
		other, err := make()
		require.NoError(t, err)
		for j := 0; j < BlockSize; j += LabelSize {
			require.NotEqual(t, base[j:j+LabelSize], other[j:j+LabelSize], name)
		}
	}
}

// A cheat that keeps a part is found as often as the formula says, and what it recomputes in time counts as kept.
func TestPartialMemoryIsFound(t *testing.T) {
	const rounds, k = 80, 6
	s := Shape{Blocks: 24, Passes: 1}
	for _, c := range []Partial{{Keep: 0.5}, {Keep: 0.9}, {Keep: 0.75, Recompute: 2}} {
		seed := random(t)
		r, err := c.Fill(context.Background(), seed, s)
		require.NoError(t, err)
		missed := 0
		for range rounds {
			err := round(t, r, seed, s, k)
			if err == nil {
				missed++
			} else {
				require.ErrorIs(t, err, ErrMissing)
			}
		}
		want := MissProbability(1-c.Keep, float64(c.Recompute)/float64(s.Blocks), k)
		got := float64(missed) / rounds
		t.Logf("%s, %d recomputed: missed %.3f, at most %.3f", c.Name(), c.Recompute, got, want)
		// Five standard deviations above the bound; drawing without repetition stays below it.
		require.LessOrEqual(t, got, want+5*0.5/8.94)
	}
	r, err := Partial{}.Fill(context.Background(), random(t), s)
	require.NoError(t, err)
	require.ErrorIs(t, round(t, r, random(t), s, 1), ErrMissing)
}

func TestOpeningsMustBeThoseAskedFor(t *testing.T) {
	s := Shape{Blocks: 9, Passes: 1}
	seed, ctx := random(t), context.Background()
	r, err := CPU{}.Fill(ctx, seed, s)
	require.NoError(t, err)
	c := Claim{Seed: seed, Nonce: random(t), Shape: s}
	sweep, err := r.Sweep(ctx, c.Nonce)
	require.NoError(t, err)
	c.Root = sweep.Root
	opened, err := sweep.Open([]int{1, 8})
	require.NoError(t, err)
	require.NoError(t, Verify(ctx, c, []int{1, 8}, opened))
	require.ErrorIs(t, Verify(ctx, c, []int{1, 7}, opened), ErrSample)
	require.ErrorIs(t, Verify(ctx, c, []int{1}, opened), ErrSample)
	require.ErrorIs(t, Verify(ctx, c, []int{8, 1}, opened), ErrSample)

	moved := opened[0]
	moved.Index = 2
	require.ErrorIs(t, Verify(ctx, c, []int{2}, []Opening{moved}), ErrRoot)
	moved.Index = 99
	require.ErrorIs(t, Verify(ctx, c, []int{99}, []Opening{moved}), ErrSample)

	later := c
	later.Nonce[0]++
	require.ErrorIs(t, Verify(ctx, later, []int{1, 8}, opened), ErrMissing, "a sweep of another nonce is worth nothing")
	bad := c
	bad.Shape.Passes = MaxPasses + 1
	require.ErrorIs(t, Verify(ctx, bad, []int{1}, opened[:1]), ErrShape)
	_, err = sweep.Open([]int{9})
	require.ErrorIs(t, err, ErrShape)
	_, err = NewSweep(nil)
	require.ErrorIs(t, err, ErrShape)

	done, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, Verify(done, c, []int{1, 8}, opened), context.Canceled)
	_, err = CPU{}.Fill(done, seed, s)
	require.ErrorIs(t, err, context.Canceled)
	_, err = r.Sweep(done, seed)
	require.ErrorIs(t, err, context.Canceled)
	_, err = CPU{}.Fill(ctx, seed, Shape{})
	require.ErrorIs(t, err, ErrShape)
}

func TestClaimAndOpeningEncoding(t *testing.T) {
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	c := Claim{Domain: [8]byte{1}, Node: random(t), Seed: random(t), Nonce: random(t), Shape: Shape{5, 6}, Root: random(t)}
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
	for _, bad := range [][]byte{nil, b[:151], append(bytes.Clone(b[:]), 0)} {
		_, err := ParseClaim(bad)
		require.ErrorIs(t, err, ErrEncoding)
	}
	o := Opening{Index: 2, Digest: random(t), Siblings: [][32]byte{random(t), random(t)}}
	p, err := ParseOpening(o.Bytes(), 3)
	require.ErrorIs(t, err, ErrEncoding, "the last of three has one sibling: %v", p)
	o.Siblings = o.Siblings[:1]
	p, err = ParseOpening(o.Bytes(), 3)
	require.NoError(t, err)
	require.Equal(t, o, p)
	for _, blocks := range []uint32{0, 2, MaxBlocks + 1} {
		_, err = ParseOpening(o.Bytes(), blocks)
		require.ErrorIs(t, err, ErrEncoding)
	}
}

func TestNumbers(t *testing.T) {
	require.InDelta(t, 0.0097, MissProbability(0.1, 0, 44), 0.0001)
	require.Equal(t, 1.0, MissProbability(0.1, 0.2, 44))
	s := ShapeFor(80<<30, DefaultPasses)
	require.EqualValues(t, 80<<30, s.Bytes())
	// 10¹³ operations a second, 128 passes: 3.9 GB/s, so 0.1 s gives 0.5 % of 80 GiB.
	rate := RefillRate(1e13, DefaultPasses)
	require.InDelta(t, 3.9e9, rate, 1e8)
	require.InDelta(t, 0.0045, Refill(rate, 100*time.Millisecond, s), 0.0005)
	require.Equal(t, 1.0, Refill(rate, time.Hour, s))
}

func FuzzParseClaim(f *testing.F) {
	b := Claim{Shape: Shape{1, 1}}.Bytes()
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

func FuzzParseOpening(f *testing.F) {
	f.Add(Opening{Index: 1, Siblings: make([][32]byte, 2)}.Bytes(), uint32(3))
	f.Add([]byte{}, uint32(1))
	f.Fuzz(func(t *testing.T, b []byte, blocks uint32) {
		o, err := ParseOpening(b, blocks)
		if err != nil {
			return
		}
		if !bytes.Equal(o.Bytes(), b) {
			t.Fatal("two encodings of one opening")
		}
		if o.Index >= blocks {
			t.Fatal("index out of range")
		}
	})
}

func BenchmarkBlock(b *testing.B) {
	block, seed := make([]byte, BlockSize), [32]byte{1}
	for _, passes := range []uint32{1, DefaultPasses} {
		b.Run(fmt.Sprintf("passes=%d", passes), func(b *testing.B) {
			b.SetBytes(BlockSize)
			for b.Loop() {
				fillBlock(block, &seed, 3, passes)
			}
		})
	}
}

func BenchmarkDigest(b *testing.B) {
	block, nonce := make([]byte, BlockSize), [32]byte{1}
	b.SetBytes(BlockSize)
	for b.Loop() {
		digestBlock(block, &nonce, 3)
	}
}
