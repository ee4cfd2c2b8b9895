// Package dot multiplies rows with columns of signed bytes, as processors do it best: entries are widened to 16 bits, for
// which AVX2 adds products exactly (its product of signed bytes saturates), and columns that are used once are expanded in
// registers. Without AVX2 the same is done in plain Go, four times slower.
//
// Rows are in the order in which AVX2 takes words apart: of each block of 32 entries first those with even numbers, then
// those with odd ones.
package dot

import "unsafe"

//go:generate sh -c "cd gen && go run . -out ../dot_amd64.s -stubs ../dot_amd64.go -pkg dot"

// Block is the number of entries that rows and columns are multiples of.
const Block = 32

// Constants of the expansion, as docs/protocol/measurement.md has them.
const (
	wordStep   = 0x9E3779B9
	wordFactor = 0x846CA68B
)

// Expand writes the row of a key.
func Expand(dst []int16, key [2]uint32) {
	if len(dst) == 0 {
		return
	}
	check(len(dst)%Block == 0, "a row is not of whole blocks")
	if fast {
		expandAVX2(unsafe.SliceData(dst), uint64(len(dst)/Block), &key)
		return
	}
	expand(dst, key)
}

// Columns sets out to the products of a row with the columns of keys, of which there is an even number.
func Columns(out []int32, row []int16, keys [][2]uint32) {
	if len(out) == 0 {
		return
	}
	check(len(out) == len(keys) && len(out)%2 == 0, "columns are not pairs")
	check(len(row) > 0 && len(row)%Block == 0, "a row is not of whole blocks")
	if fast {
		columnsAVX2(unsafe.SliceData(out), unsafe.SliceData(row), uint64(len(row)/Block), unsafe.SliceData(keys), uint64(len(keys)/2))
		return
	}
	columns(out, row, keys)
}

// Tile multiplies two rows with four columns: rows and columns have n entries and lie one after the other. The first four
// products are those of the first row.
func Tile(out *[8]int32, rows, columns []int16, n int) {
	check(n > 0 && n%Block == 0 && len(rows) >= 2*n && len(columns) >= 4*n, "a tile is not of two rows and four columns")
	if fast {
		tileAVX2(out, unsafe.SliceData(rows), unsafe.SliceData(columns), uint64(n/Block))
		return
	}
	tile(out, rows, columns, n)
}

// check panics where assembly would read beyond a slice: only a mistake of this module's code leads there.
func check(ok bool, what string) {
	if !ok {
		panic("dot: " + what)
	}
}
