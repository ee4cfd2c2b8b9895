package dot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomRow(r *rand.Rand, n int) []int16 {
	row := make([]int16, n)
	for i := range row {
		row[i] = int16(int8(r.Uint32()))
	}
	return row
}

// TestFastAndPlainAgree: random rows, columns and keys of all lengths of the format, and the extremes.
func TestFastAndPlainAgree(t *testing.T) {
	if !fast {
		t.Skip("this processor has no AVX2: there is nothing to compare")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{32, 64, 96, 1024, 4096, 8192, 16384} {
		for range 20 {
			keys := make([][2]uint32, 2*(1+r.IntN(5)))
			for i := range keys {
				keys[i] = [2]uint32{r.Uint32(), r.Uint32()}
			}
			keys[0][0], keys[1][1] = math.MaxUint32, uint32(r.IntN(2))
			got, want := make([]int16, n), make([]int16, n)
			Expand(got, keys[0])
			expand(want, keys[0])
			if !slices.Equal(got, want) {
				t.Fatalf("expansion of %d entries of key %v", n, keys[0])
			}
			row := randomRow(r, n)
			one, other := make([]int32, len(keys)), make([]int32, len(keys))
			Columns(one, row, keys)
			columns(other, row, keys)
			if !slices.Equal(one, other) {
				t.Fatalf("columns %v of %d entries: %v, want %v", keys, n, one, other)
			}
			sameTile(t, randomRow(r, 2*n), randomRow(r, 4*n), n)
		}
		least := slices.Repeat([]int16{-128}, 4*n)
		sameTile(t, least[:2*n], least, n)
	}
}

func sameTile(t *testing.T, rows, columns []int16, n int) {
	t.Helper()
	var got, want [8]int32
	Tile(&got, rows, columns, n)
	tile(&want, rows, columns, n)
	if got != want {
		t.Fatalf("a tile of %d entries: %v, want %v", n, got, want)
	}
}

// TestColumnsAreProductsOfExpandedRows holds the fused product to expansion and product one after the other, and the
// order of entries to that of words.
func TestColumnsAreProductsOfExpandedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 1024
	keys := [][2]uint32{{r.Uint32(), r.Uint32()}, {r.Uint32(), r.Uint32()}}
	row, out := make([]int16, n), make([]int32, 2)
	Expand(row, [2]uint32{r.Uint32(), r.Uint32()})
	Columns(out, row, keys)
	for j, key := range keys {
		column := make([]int16, n)
		Expand(column, key)
		var want int32
		for i := range row {
			want += int32(row[i]) * int32(column[i])
		}
		if out[j] != want {
			t.Errorf("column %d: %d, want %d", j, out[j], want)
		}
		for w := range uint32(n / 4) {
			x, block, at := word(key, w), w/8*Block, w%8*2
			for i, p := range []uint32{block + at, block + 16 + at, block + at + 1, block + 16 + at + 1} {
				if column[p] != int16(int8(x>>(8*i))) {
					t.Fatalf("entry %d of word %d lies elsewhere than at %d", i, w, p)
				}
			}
		}
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"row":          func() { Expand(make([]int16, 33), [2]uint32{}) },
		"odd columns":  func() { Columns(make([]int32, 3), make([]int16, 32), make([][2]uint32, 3)) },
		"fewer keys":   func() { Columns(make([]int32, 4), make([]int16, 32), make([][2]uint32, 2)) },
		"short row":    func() { Columns(make([]int32, 2), make([]int16, 16), make([][2]uint32, 2)) },
		"no row":       func() { Columns(make([]int32, 2), nil, make([][2]uint32, 2)) },
		"few columns":  func() { Tile(new([8]int32), make([]int16, 64), make([]int16, 127), 32) },
		"one row":      func() { Tile(new([8]int32), make([]int16, 32), make([]int16, 128), 32) },
		"half a block": func() { Tile(new([8]int32), make([]int16, 64), make([]int16, 128), 16) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkColumns(b *testing.B) {
	for name, f := range map[string]func([]int32, []int16, [][2]uint32){"fast": Columns, "plain": columns} {
		b.Run(name, func(b *testing.B) {
			const n = 16384
			row, keys, out := make([]int16, n), make([][2]uint32, 128), make([]int32, 128)
			Expand(row, [2]uint32{1, 2})
			for i := range keys {
				keys[i] = [2]uint32{uint32(i) * 77, uint32(i) * 99}
			}
			b.SetBytes(n * 128) // one multiplication each
			for b.Loop() {
				f(out, row, keys)
			}
		})
	}
}

func BenchmarkTile(b *testing.B) {
	for name, f := range map[string]func(*[8]int32, []int16, []int16, int){"fast": Tile, "plain": tile} {
		b.Run(name, func(b *testing.B) {
			const n = 1024
			r := rand.New(rand.NewPCG(5, 6))
			rows, columns := randomRow(r, 2*n), randomRow(r, 4*n)
			var out [8]int32
			b.SetBytes(8 * n)
			for b.Loop() {
				f(&out, rows, columns, n)
			}
		})
	}
}
