// Command gen writes the AVX2 code of package dot: run `go generate` in its folder. It is a module of its own, so that
// the assembler is not among what the market depends on.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Constants of the expansion, as docs/protocol/measurement.md has them.
const (
	wordStep   = 0x9E3779B9
	wordFactor = 0x846CA68B
	lanes      = 8 // words in a register
)

func main() {
	ConstraintExpr("amd64")
	steps := GLOBL("steps", RODATA|NOPTR)
	for i := range lanes {
		DATA(4*i, U32(uint32(i)*wordStep&0xffffffff))
	}
	expand(steps)
	columns(steps)
	tile()
	Generate()
}

// words holds what the expansion of a row needs in registers.
type words struct{ factor, eight, ones reg.VecVirtual }

func broadcast(v uint32) reg.VecVirtual {
	y, g := YMM(), GP32()
	MOVL(U32(v), g)
	VMOVD(g, y.AsX())
	VPBROADCASTD(y.AsX(), y)
	return y
}

func newWords() words {
	step := uint32(wordStep)
	return words{factor: broadcast(wordFactor), eight: broadcast(lanes * step), ones: broadcast(1)}
}

// key loads a row's key: the counter of its first eight words and its factor.
func (w words) key(k0, k1 Op, steps Mem) (counter, factor reg.VecVirtual) {
	counter, factor = YMM(), YMM()
	VPBROADCASTD(k0, counter)
	VPADDD(steps, counter, counter)
	VPBROADCASTD(k1, factor)
	VPOR(w.ones, factor, factor)
	return counter, factor
}

// next makes the eight words of a counter, as entries 0 and 2 and entries 1 and 3 of each word, and counts on.
func (w words) next(counter, factor reg.VecVirtual) (even, odd reg.VecVirtual) {
	even, odd = YMM(), YMM()
	VPSRLD(U8(16), counter, odd)
	VPXOR(counter, odd, odd)
	VPADDD(w.eight, counter, counter)
	VPMULLD(factor, odd, odd)
	VPSRLD(U8(15), odd, even)
	VPXOR(even, odd, odd)
	VPMULLD(w.factor, odd, odd)
	VPSRLD(U8(16), odd, even)
	VPXOR(even, odd, odd)
	VPSLLW(U8(8), odd, even)
	VPSRAW(U8(8), even, even)
	VPSRAW(U8(8), odd, odd)
	return even, odd
}

func zero() reg.VecVirtual {
	y := YMM()
	VPXOR(y, y, y)
	return y
}

func expand(steps Mem) {
	TEXT("expandAVX2", NOSPLIT, "func(dst *int16, blocks uint64, key *[2]uint32)")
	Doc("expandAVX2 writes blocks of 32 entries of a row.")
	Pragma("noescape")
	dst, blocks, key := Load(Param("dst"), GP64()), Load(Param("blocks"), GP64()), Load(Param("key"), GP64())
	w := newWords()
	counter, factor := w.key(Mem{Base: key}, Mem{Base: key, Disp: 4}, steps)
	Label("expandLoop")
	even, odd := w.next(counter, factor)
	VMOVDQU(even, Mem{Base: dst})
	VMOVDQU(odd, Mem{Base: dst, Disp: 32})
	ADDQ(U8(64), dst)
	DECQ(blocks)
	JNZ(LabelRef("expandLoop"))
	VZEROUPPER()
	RET()
}

func columns(steps Mem) {
	TEXT("columnsAVX2", NOSPLIT, "func(out *int32, row *int16, blocks uint64, keys *[2]uint32, pairs uint64)")
	Doc("columnsAVX2 multiplies a row of blocks of 32 entries with columns, two at a time, which it expands on the way.")
	Pragma("noescape")
	out, row := Load(Param("out"), GP64()), Load(Param("row"), GP64())
	blocks, keys, pairs := Load(Param("blocks"), GP64()), Load(Param("keys"), GP64()), Load(Param("pairs"), GP64())
	w := newWords()
	at, left := GP64(), GP64()
	Label("columnsPair")
	MOVQ(row, at)
	MOVQ(blocks, left)
	var counters, factors, sums [2]reg.VecVirtual
	for i := range sums {
		counters[i], factors[i] = w.key(Mem{Base: keys, Disp: 8 * i}, Mem{Base: keys, Disp: 8*i + 4}, steps)
		sums[i] = zero()
	}
	Label("columnsLoop")
	for i := range sums {
		even, odd := w.next(counters[i], factors[i])
		VPMADDWD(Mem{Base: at}, even, even)
		VPMADDWD(Mem{Base: at, Disp: 32}, odd, odd)
		VPADDD(even, sums[i], sums[i])
		VPADDD(odd, sums[i], sums[i])
	}
	ADDQ(U8(64), at)
	DECQ(left)
	JNZ(LabelRef("columnsLoop"))
	VPHADDD(sums[1], sums[0], sums[0])
	VPHADDD(sums[0], sums[0], sums[0])
	VEXTRACTI128(U8(1), sums[0], sums[1].AsX())
	VPADDD(sums[1].AsX(), sums[0].AsX(), sums[0].AsX())
	VMOVQ(sums[0].AsX(), Mem{Base: out})
	ADDQ(U8(8), out)
	ADDQ(U8(16), keys)
	DECQ(pairs)
	JNZ(LabelRef("columnsPair"))
	VZEROUPPER()
	RET()
}

func tile() {
	TEXT("tileAVX2", NOSPLIT, "func(out *[8]int32, rows *int16, columns *int16, blocks uint64)")
	Doc("tileAVX2 multiplies two rows with four columns, all of blocks of 32 entries, that lie one after the other.")
	Pragma("noescape")
	out, rows := Load(Param("out"), GP64()), Load(Param("rows"), GP64())
	columns, blocks := Load(Param("columns"), GP64()), Load(Param("blocks"), GP64())
	stride, stride3, second := GP64(), GP64(), GP64()
	MOVQ(blocks, stride)
	SHLQ(U8(6), stride)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, stride3)
	LEAQ(Mem{Base: rows, Index: stride, Scale: 1}, second)
	var sums [2][4]reg.VecVirtual
	for i := range sums {
		for j := range sums[i] {
			sums[i][j] = zero()
		}
	}
	Label("tileLoop")
	for _, half := range []int{0, 32} {
		a := [2]reg.VecVirtual{YMM(), YMM()}
		VMOVDQU(Mem{Base: rows, Disp: half}, a[0])
		VMOVDQU(Mem{Base: second, Disp: half}, a[1])
		column := [4]Mem{
			{Base: columns, Disp: half},
			{Base: columns, Disp: half, Index: stride, Scale: 1},
			{Base: columns, Disp: half, Index: stride, Scale: 2},
			{Base: columns, Disp: half, Index: stride3, Scale: 1},
		}
		for j := range column {
			b, t := YMM(), YMM()
			VMOVDQU(column[j], b)
			VPMADDWD(b, a[0], t)
			VPADDD(t, sums[0][j], sums[0][j])
			VPMADDWD(b, a[1], b)
			VPADDD(b, sums[1][j], sums[1][j])
		}
	}
	for _, p := range []reg.Register{rows, second, columns} {
		ADDQ(U8(64), p)
	}
	DECQ(blocks)
	JNZ(LabelRef("tileLoop"))
	for i, s := range sums {
		VPHADDD(s[1], s[0], s[0])
		VPHADDD(s[3], s[2], s[2])
		VPHADDD(s[2], s[0], s[0])
		VEXTRACTI128(U8(1), s[0], s[1].AsX())
		VPADDD(s[1].AsX(), s[0].AsX(), s[0].AsX())
		VMOVDQU(s[0].AsX(), Mem{Base: out, Disp: 16 * i})
	}
	VZEROUPPER()
	RET()
}
