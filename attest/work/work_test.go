package work

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func seedOf(b byte) Seed {
	var s Seed
	for i := range s {
		s[i] = b + byte(i)
	}
	return s
}

// naive computes the product by the definition alone.
func naive(seed Seed, n int) []int32 {
	c := make([]int32, n*n)
	a, b := make([]int8, n), make([]int8, n)
	for j := 0; j < n; j++ {
		deriveLine(b, &seed, sideB, uint32(j))
		for i := 0; i < n; i++ {
			deriveLine(a, &seed, sideA, uint32(i))
			c[i*n+j] = dot(a, b)
		}
	}
	return c
}

func prove(t testing.TB, b byte, n int) *Proof {
	t.Helper()
	p, err := CPU{Workers: 2}.Prove(context.Background(), seedOf(b), n)
	require.NoError(t, err)
	return p
}

func encode(t testing.TB, p *Proof) []byte {
	t.Helper()
	var buf bytes.Buffer
	k, err := p.WriteTo(&buf)
	require.NoError(t, err)
	require.EqualValues(t, buf.Len(), k)
	return buf.Bytes()
}

func TestCPUMatchesDefinition(t *testing.T) {
	for _, n := range []int{32, 64, 96, 160, 192} {
		for _, workers := range []int{0, 1, 3} {
			p, err := CPU{Workers: workers}.Prove(context.Background(), seedOf(7), n)
			require.NoError(t, err)
			require.Equal(t, naive(seedOf(7), n), p.C, "n=%d workers=%d", n, workers)
		}
	}
}

// The kernel packs two sums in one word; extreme factors must not leak.
func TestPackedSumsAtTheirBounds(t *testing.T) {
	for _, left := range []int8{-128, 127} {
		for _, right := range []int8{-128, 127} {
			for _, v := range []int8{-128, 127} {
				a0, a1 := make([]int8, MaxN), make([]int8, MaxN)
				p0, p1 := make([]int64, MaxN), make([]int64, MaxN)
				for k := range a0 {
					a0[k], a1[k] = v, -1
					p0[k] = int64(left) + int64(right)<<32
					p1[k] = int64(right) + int64(left)<<32
				}
				s00, s01, s10, _ := dotPairs(a0, a1, p0, p1)
				lo, hi := unpack(s00)
				require.Equal(t, int32(left)*int32(v)*MaxN, lo)
				require.Equal(t, int32(right)*int32(v)*MaxN, hi)
				lo, hi = unpack(s01)
				require.Equal(t, int32(right)*int32(v)*MaxN, lo)
				require.Equal(t, int32(left)*int32(v)*MaxN, hi)
				lo, hi = unpack(s10)
				require.Equal(t, -int32(left)*MaxN, lo)
				require.Equal(t, -int32(right)*MaxN, hi)
			}
		}
	}
}

func TestCellMatchesProduct(t *testing.T) {
	p := prove(t, 1, 96)
	for k := 0; k < 200; k++ {
		i, j := rand.IntN(96), rand.IntN(96)
		v, err := Cell(p.Seed, 96, i, j)
		require.NoError(t, err)
		require.Equal(t, p.Row(i)[j], v)
	}
	for _, bad := range [][3]int{{96, -1, 0}, {96, 0, 96}, {33, 0, 0}, {0, 0, 0}, {8192, 0, 0}} {
		_, err := Cell(p.Seed, bad[0], bad[1], bad[2])
		require.Error(t, err)
	}
}

func TestHonestProofIsAccepted(t *testing.T) {
	for _, n := range []int{32, 96, 128, 256} {
		p := prove(t, byte(n), n)
		h, err := Verifier{}.Verify(context.Background(), p.Seed, n, bytes.NewReader(encode(t, p)))
		require.NoError(t, err)
		require.Equal(t, p.Header(), h)
		require.NoError(t, Verifier{}.VerifyProof(context.Background(), p))
		d, err := DecodeProof(encode(t, p), n)
		require.NoError(t, err)
		require.Equal(t, p, d)
	}
}

func TestTamperedProductsAreCaught(t *testing.T) {
	const n = 128
	honest := prove(t, 3, n)
	for k := 0; k < 50; k++ {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		c := append([]int32(nil), honest.C...)
		at := rng.IntN(n * n)
		c[at] = tamper(c[at], rng)
		p, err := NewProof(honest.Seed, n, c)
		require.NoError(t, err)
		err = Verifier{}.VerifyProof(context.Background(), p)
		var wrong *WrongEntryError
		require.ErrorAs(t, err, &wrong)
		require.ErrorIs(t, err, ErrWrongProduct)
		require.Equal(t, at, wrong.Row*n+wrong.Col)
		require.Equal(t, c[at], wrong.Got)
		require.Equal(t, honest.C[at], wrong.Want)

		// The fraud proof stands on its own.
		o, err := ParseChunkOpening(wrong.Opening.Bytes(), n)
		require.NoError(t, err)
		require.NoError(t, CheckPath(n, p.Root, o))
		require.ErrorIs(t, VerifyChunk(p.Seed, n, p.Root, o), ErrWrongProduct)
		require.ErrorIs(t, CheckPath(n, honest.Root, o), ErrRoot)
	}
}

// Swapping, shifting and other structured cheats keep many linear checks happy.
func TestStructuredCheatsAreCaught(t *testing.T) {
	const n = 64
	honest := prove(t, 9, n)
	cheats := map[string]func(c []int32){
		"zero product":          func(c []int32) { clear(c) },
		"swap two entries":      func(c []int32) { c[5], c[6] = c[6], c[5] },
		"swap two rows":         func(c []int32) { swapRows(c, n, 3, 4) },
		"transposed":            func(c []int32) { transpose(c, n) },
		"balanced within a row": func(c []int32) { c[0]++; c[1]-- },
		"last entry":            func(c []int32) { c[n*n-1]++ },
		"negated":               func(c []int32) { negate(c) },
		"repeat a row":          func(c []int32) { copy(c[n:2*n], c[:n]) },
	}
	for name, cheat := range cheats {
		c := append([]int32(nil), honest.C...)
		cheat(c)
		p, err := NewProof(honest.Seed, n, c)
		require.NoError(t, err)
		require.ErrorIs(t, Verifier{}.VerifyProof(context.Background(), p), ErrWrongProduct, name)
	}
}

func swapRows(c []int32, n, i, j int) {
	for k := 0; k < n; k++ {
		c[i*n+k], c[j*n+k] = c[j*n+k], c[i*n+k]
	}
}

func transpose(c []int32, n int) {
	for i := 0; i < n; i++ {
		for j := 0; j < i; j++ {
			c[i*n+j], c[j*n+i] = c[j*n+i], c[i*n+j]
		}
	}
}

func negate(c []int32) {
	for k := range c {
		c[k] = -c[k]
	}
}

// An entry plus a multiple of 2³¹−1 or of any 32-bit modulus wraps or leaves the range; both are refused before any
// algebra.
func TestEntryPlusModulusIsRefused(t *testing.T) {
	const n = 64
	honest := prove(t, 4, n)
	for _, delta := range []int64{1<<31 - 1, -(1<<31 - 1), 1 << 31, 1 << 30, int64(Bound(n)) * 2} {
		for at := 0; at < 20; at++ {
			c := append([]int32(nil), honest.C...)
			c[at] = int32(int64(c[at]) + delta)
			p, err := NewProof(honest.Seed, n, c)
			require.NoError(t, err)
			err = Verifier{}.VerifyProof(context.Background(), p)
			require.Error(t, err)
			require.True(t, errors.Is(err, ErrRange) || errors.Is(err, ErrWrongProduct), "%v", err)
			_, derr := DecodeProof(encode(t, p), n)
			require.Equal(t, errors.Is(err, ErrRange), errors.Is(derr, ErrRange))
		}
	}
}

func TestEntriesMustMatchTheRoot(t *testing.T) {
	p := prove(t, 5, 64)
	raw := encode(t, p)
	raw[HeaderSize] ^= 1 // entry 0 changes by one, root stays
	_, err := Verifier{}.Verify(context.Background(), p.Seed, 64, bytes.NewReader(raw))
	require.ErrorIs(t, err, ErrRoot, "a body that does not match the root is no proof of bad work")
	_, err = DecodeProof(raw, 64)
	require.ErrorIs(t, err, ErrRoot)

	raw = encode(t, p)
	raw[48] ^= 1
	_, err = Verifier{}.Verify(context.Background(), p.Seed, 64, bytes.NewReader(raw))
	require.ErrorIs(t, err, ErrRoot)
}

func TestAnswerToAnotherChallenge(t *testing.T) {
	p := prove(t, 6, 64)
	raw := encode(t, p)
	_, err := Verifier{}.Verify(context.Background(), seedOf(9), 64, bytes.NewReader(raw))
	require.ErrorIs(t, err, ErrMismatch)
	_, err = Verifier{}.Verify(context.Background(), p.Seed, 128, bytes.NewReader(raw))
	require.ErrorIs(t, err, ErrMismatch)
	_, err = Verifier{MaxN: 32}.Verify(context.Background(), p.Seed, 64, bytes.NewReader(raw))
	require.ErrorIs(t, err, ErrOrder)
	// Right work for another seed under this seed's header.
	q, err := NewProof(seedOf(9), 64, p.C)
	require.NoError(t, err)
	require.ErrorIs(t, Verifier{}.VerifyProof(context.Background(), q), ErrWrongProduct)
}

func TestTruncatedAndOverlong(t *testing.T) {
	p := prove(t, 8, 32)
	raw := encode(t, p)
	for cut := 0; cut < len(raw); cut += 13 {
		_, err := Verifier{}.Verify(context.Background(), p.Seed, 32, bytes.NewReader(raw[:cut]))
		require.ErrorIs(t, err, ErrEncoding, "cut at %d", cut)
		_, err = DecodeProof(raw[:cut], MaxN)
		require.ErrorIs(t, err, ErrEncoding, "cut at %d", cut)
	}
	_, err := DecodeProof(append(raw, 0), MaxN)
	require.ErrorIs(t, err, ErrEncoding)
	_, err = DecodeProof(raw, 0)
	require.ErrorIs(t, err, ErrOrder)
}

func TestBadHeaders(t *testing.T) {
	good := Header{Seed: seedOf(1), N: 64}.Bytes()
	for name, change := range map[string]func(b []byte){
		"tag":      func(b []byte) { b[0]++ },
		"reserved": func(b []byte) { b[12] = 1 },
		"n = 0":    func(b []byte) { b[8] = 0 },
		"n = 33":   func(b []byte) { b[8] = 33 },
		"n huge":   func(b []byte) { binary.LittleEndian.PutUint32(b[8:], 1<<31) },
		"n = 4128": func(b []byte) { binary.LittleEndian.PutUint32(b[8:], 4128) },
	} {
		b := good
		change(b[:])
		_, err := ParseHeader(b[:])
		require.ErrorIs(t, err, ErrEncoding, name)
	}
	h, err := ParseHeader(good[:])
	require.NoError(t, err)
	require.Equal(t, good, h.Bytes())
}

func TestOrders(t *testing.T) {
	for _, n := range []int{-32, 0, 1, 31, 33, 100, 4097, 4128, 1 << 20} {
		_, err := CPU{}.Prove(context.Background(), seedOf(1), n)
		require.ErrorIs(t, err, ErrOrder)
		_, err = NewProof(seedOf(1), n, nil)
		require.ErrorIs(t, err, ErrOrder)
		require.ErrorIs(t, VerifyChunk(seedOf(1), n, Hash{}, ChunkOpening{}), ErrOrder)
		require.ErrorIs(t, VerifyRow(seedOf(1), n, Hash{}, RowOpening{}), ErrOrder)
		require.ErrorIs(t, Verifier{}.VerifyBody(context.Background(), Header{N: n}, nil), ErrOrder)
	}
	_, err := NewProof(seedOf(1), 64, make([]int32, 64))
	require.Error(t, err)
}

func TestFieldAgainstBigIntegers(t *testing.T) {
	p := new(big.Int).SetUint64(prime)
	for k := 0; k < 5000; k++ {
		a, b := rand.Uint64()%prime, rand.Uint64()%prime
		v := int64(rand.Uint64())
		if k == 0 {
			a, b, v = prime-1, prime-1, -1<<63
		}
		want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
		require.Equal(t, want.Mod(want, p).Uint64(), mulMod(a, b))
		want = new(big.Int).Mod(big.NewInt(v), p)
		require.Equal(t, want.Uint64(), reduceSigned(v))
	}
}

// Sums of the largest entries against the largest vector must not overflow.
func TestFieldSumsAtTheirBounds(t *testing.T) {
	const n = MaxN
	x := newHalves(n)
	c, a := make([]int32, n), make([]int8, n)
	for _, sign := range []int32{1, -1} {
		for k := 0; k < n; k++ {
			x.set(k, prime-1)
			c[k], a[k] = sign*Bound(n), int8(sign*127)
		}
		p := new(big.Int).SetUint64(prime)
		want := new(big.Int).Mul(big.NewInt(int64(c[0])*n), new(big.Int).SetUint64(prime-1))
		require.Equal(t, want.Mod(want, p).Uint64(), dotEntries(c, x))
		want = new(big.Int).Mul(big.NewInt(int64(a[0])*n), new(big.Int).SetUint64(prime-1))
		require.Equal(t, want.Mod(want, p).Uint64(), dotBytes(a, x))
	}
}

func TestCancelledProver(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := CPU{Workers: 2}.Prove(ctx, seedOf(1), 2048)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(start), 3*time.Second)
	require.ErrorIs(t, Verifier{}.VerifyBody(ctx, Header{N: 64}, bytes.NewReader(nil)), context.DeadlineExceeded)
}

func TestFaultyProverIsWrongAsOftenAsItSays(t *testing.T) {
	const n = 128
	honest := prove(t, 2, n)
	p, err := Faulty{Prover: CPU{}, Fraction: 0.1}.Prove(context.Background(), honest.Seed, n)
	require.NoError(t, err)
	wrong := 0
	for k := range p.C {
		if p.C[k] != honest.C[k] {
			wrong++
		}
	}
	require.Equal(t, 1638, wrong)
	require.ErrorIs(t, Verifier{}.VerifyProof(context.Background(), p), ErrWrongProduct)
}

func TestClaim(t *testing.T) {
	pub, priv, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	domain, node := [8]byte{1}, [32]byte{3}
	p := prove(t, 1, 32)
	c := p.Claim(domain, node, 9)
	b := c.Bytes()
	back, err := ParseClaim(b[:])
	require.NoError(t, err)
	require.Equal(t, c, back)
	s := c.Sign(priv)
	require.True(t, c.Verify(pub, s))
	c.Period++
	require.False(t, c.Verify(pub, s))
	require.False(t, c.Verify(nil, s))
	for _, at := range []int{0, 88, 92} {
		bad := b
		bad[at]++
		_, err := ParseClaim(bad[:])
		require.ErrorIs(t, err, ErrClaim, "byte %d", at)
	}
	_, err = ParseClaim(b[:127])
	require.ErrorIs(t, err, ErrClaim)
}

func TestRate(t *testing.T) {
	require.InDelta(t, 2.147, GOPS(1024, time.Second), 0.001)
	require.Zero(t, GOPS(1024, 0))
}
