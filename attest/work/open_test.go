package work

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEveryChunkOpens(t *testing.T) {
	for _, n := range []int{32, 64, 96, 224} {
		p := prove(t, byte(n), n)
		for i := 0; i < n; i += 5 {
			for k := 0; k < n/ChunkEntries; k++ {
				o, err := p.OpenChunk(i, k)
				require.NoError(t, err)
				require.NoError(t, VerifyChunk(p.Seed, n, p.Root, o))
				back, err := ParseChunkOpening(o.Bytes(), n)
				require.NoError(t, err)
				require.NoError(t, CheckPath(n, p.Root, back))
				require.Equal(t, o.Bytes(), back.Bytes())
			}
		}
		_, err := p.OpenChunk(n, 0)
		require.Error(t, err)
		_, err = p.OpenChunk(0, n/ChunkEntries)
		require.Error(t, err)
		_, err = p.OpenRow(-1)
		require.Error(t, err)
	}
}

func TestOpeningsDoNotMove(t *testing.T) {
	const n = 96
	p := prove(t, 1, n)
	rapid.Check(t, func(rt *rapid.T) {
		o, err := p.OpenChunk(rapid.IntRange(0, n-1).Draw(rt, "row"), rapid.IntRange(0, 2).Draw(rt, "chunk"))
		require.NoError(rt, err)
		raw := o.Bytes()
		at := rapid.IntRange(0, len(raw)-1).Draw(rt, "byte")
		raw[at] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		bad, err := ParseChunkOpening(raw, n)
		if err == nil && CheckPath(n, p.Root, bad) == nil {
			rt.Fatalf("byte %d of an opening can be changed", at)
		}
	})
}

func TestRowOpenings(t *testing.T) {
	const n = 96
	p := prove(t, 2, n)
	for _, i := range Sample(p.Root, [32]byte{1}, n, 8) {
		o, err := p.OpenRow(i)
		require.NoError(t, err)
		require.NoError(t, VerifyRow(p.Seed, n, p.Root, o))
		o.Values[3]++
		require.ErrorIs(t, VerifyRow(p.Seed, n, p.Root, o), ErrRoot)
		o.Values = o.Values[:95]
		require.ErrorIs(t, VerifyRow(p.Seed, n, p.Root, o), ErrEncoding)
	}
	bad, err := Faulty{Prover: CPU{}, Fraction: 1}.Prove(context.Background(), p.Seed, n)
	require.NoError(t, err)
	o, err := bad.OpenRow(5)
	require.NoError(t, err)
	err = VerifyRow(bad.Seed, n, bad.Root, o)
	var wrong *WrongEntryError
	require.ErrorAs(t, err, &wrong)
	require.NoError(t, CheckPath(n, bad.Root, wrong.Opening))
	require.ErrorIs(t, VerifyChunk(bad.Seed, n, bad.Root, wrong.Opening), ErrWrongProduct)
}

func TestSampleIsDistinctAndBound(t *testing.T) {
	a := Sample(Hash{1}, [32]byte{2}, 100, 16)
	require.Len(t, a, 16)
	require.IsIncreasing(t, a)
	require.NotEqual(t, a, Sample(Hash{2}, [32]byte{2}, 100, 16))
	require.NotEqual(t, a, Sample(Hash{1}, [32]byte{3}, 100, 16))
	require.Len(t, Sample(Hash{}, [32]byte{}, 4, 16), 4)
	require.InDelta(t, 0.185, MissProbability(0.1, 16), 0.001)
}

// Opening k chunks finds a cheat as often as the documentation says.
func TestDetectionRateOfSamples(t *testing.T) {
	const n, opened, rounds = 64, 6, 400
	const chunks = n * n / ChunkEntries
	missed := 0
	for r := 0; r < rounds; r++ {
		root := Hash{byte(r), byte(r >> 8)}
		seen := false
		for _, k := range Sample(root, [32]byte{7}, chunks, opened) {
			seen = seen || k < chunks/4 // a quarter of the chunks is wrong
		}
		if !seen {
			missed++
		}
	}
	require.InDelta(t, MissProbability(0.25, opened), float64(missed)/rounds, 0.06)
}
