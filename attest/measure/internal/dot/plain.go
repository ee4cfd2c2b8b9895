package dot

// word is four entries of a row, the first in the lowest byte.
func word(key [2]uint32, w uint32) uint32 {
	x := key[0] + w*wordStep
	x = (x ^ x>>16) * (key[1] | 1)
	x = (x ^ x>>15) * wordFactor
	return x ^ x>>16
}

func expand(dst []int16, key [2]uint32) {
	w := uint32(0)
	for ; len(dst) >= Block; dst = dst[Block:] {
		even, odd := dst[:Block/2], dst[Block/2:Block]
		for i := 0; i < Block/2; i += 2 {
			x := word(key, w)
			even[i], odd[i], even[i+1], odd[i+1] = int16(int8(x)), int16(int8(x>>8)), int16(int8(x>>16)), int16(int8(x>>24))
			w++
		}
	}
}

func columns(out []int32, row []int16, keys [][2]uint32) {
	for j, key := range keys {
		var sum int32
		w := uint32(0)
		for r := row; len(r) >= Block; r = r[Block:] {
			even, odd := r[:Block/2], r[Block/2:Block]
			for i := 0; i < Block/2; i += 2 {
				x := word(key, w)
				sum += int32(even[i])*int32(int8(x)) + int32(odd[i])*int32(int8(x>>8)) +
					int32(even[i+1])*int32(int8(x>>16)) + int32(odd[i+1])*int32(int8(x>>24))
				w++
			}
		}
		out[j] = sum
	}
}

func tile(out *[8]int32, rows, columns []int16, n int) {
	a, b := rows[:n], rows[n:2*n]
	for j := range 4 {
		c := columns[j*n : (j+1)*n]
		var s, t int32
		for i, v := range c {
			s += int32(a[i]) * int32(v)
			t += int32(b[i]) * int32(v)
		}
		out[j], out[4+j] = s, t
	}
}
