package dot

import "testing"

// FuzzColumns: the fused product of AVX2 is that of plain Go, for all rows and keys.
func FuzzColumns(f *testing.F) {
	f.Add([]byte{0x80, 0x7f, 1}, uint32(1), uint32(2), uint32(3), uint32(4))
	f.Fuzz(func(t *testing.T, entries []byte, a, b, c, d uint32) {
		row := make([]int16, (len(entries)/Block+1)*Block)
		for i, e := range entries {
			row[i] = int16(int8(e))
		}
		keys := [][2]uint32{{a, b}, {c, d}}
		got, want := make([]int32, 2), make([]int32, 2)
		Columns(got, row, keys)
		columns(want, row, keys)
		if got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
