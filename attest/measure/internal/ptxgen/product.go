package ptxgen

import (
	"fmt"
	"strconv"
)

func hex(v uint32) string { return fmt.Sprintf("0x%08x", v) }

func digit(i int) string { return strconv.Itoa(i) }

// product multiplies the factors with dp4a.
func product() string {
	var s source
	s.b.WriteString(header)
	s.entry("product", `product: C = A*B for n a multiple of 32, A at a (rows of n, row by row), B at b (n by n, column by column), int8; C at
c (row by row), int32. 256 threads make a tile of 64 by 64, each thread 4 by 4 of it, in steps of 32 along the inner
dimension. The tiles of A and B lie in shared memory with four int8 to a word, word by word: word k of line r at
k*68+r, so that a thread reads four lines at once. Grid: (n+63)/64 by (rows+63)/64.`, "a", "b", "c", "n", "rows")
	s.op(".shared .align 16 .b32 ta[544]")
	s.op(".shared .align 16 .b32 tb[544]")
	s.regs(numbered("a", 4)...)
	s.regs(numbered("b", 4)...)
	s.regs(numbered("acc", 16)...)
	s.regs("thr", "tx", "ty", "row0", "col0", "n32", "m32", "line", "pair", "x0", "x1", "step", "steps", "sa", "sb", "la", "lb")
	s.regs64("pa", "pb", "ad", "off")
	s.preds("p", "ina", "inb")
	s.op("cvt.u32.u64 %%n32, %%n")
	s.op("cvt.u32.u64 %%m32, %%rows")
	s.op("mov.u32 %%thr, %%tid.x")
	s.op("mov.u32 %%row0, %%ctaid.y")
	s.op("shl.b32 %%row0, %%row0, 6")
	s.op("mov.u32 %%col0, %%ctaid.x")
	s.op("shl.b32 %%col0, %%col0, 6")
	s.note("this thread loads two words of line tid/4 of each tile: words 2*(tid%%4) and the next")
	s.op("shr.u32 %%line, %%thr, 2")
	s.op("and.b32 %%pair, %%thr, 3")
	for _, side := range []struct{ from, ptr, in, origin, limit string }{{"a", "pa", "ina", "row0", "m32"}, {"b", "pb", "inb", "col0", "n32"}} {
		s.op("add.u32 %%x0, %%%s, %%line", side.origin)
		s.op("setp.lt.u32 %%%s, %%x0, %%%s", side.in, side.limit)
		s.op("mul.wide.u32 %%off, %%x0, %%n32")
		s.op("mul.wide.u32 %%ad, %%pair, 8")
		s.op("add.u64 %%off, %%off, %%ad")
		s.op("add.u64 %%%s, %%%s, %%off", side.ptr, side.from)
	}
	s.note("where its words go: (2*pair*68+line)*4 bytes")
	s.op("mul.lo.u32 %%x0, %%pair, 136")
	s.op("add.u32 %%x0, %%x0, %%line")
	s.op("shl.b32 %%x0, %%x0, 2")
	s.op("mov.u32 %%sa, ta")
	s.op("mov.u32 %%sb, tb")
	s.note("and where it reads: four lines from 4*(tid/16) of A and 4*(tid%%16) of B")
	s.op("shr.u32 %%ty, %%thr, 4")
	s.op("shl.b32 %%ty, %%ty, 2")
	s.op("and.b32 %%tx, %%thr, 15")
	s.op("shl.b32 %%tx, %%tx, 2")
	s.op("shl.b32 %%x1, %%ty, 2")
	s.op("add.u32 %%la, %%sa, %%x1")
	s.op("shl.b32 %%x1, %%tx, 2")
	s.op("add.u32 %%lb, %%sb, %%x1")
	s.op("add.u32 %%sa, %%sa, %%x0")
	s.op("add.u32 %%sb, %%sb, %%x0")
	s.productSteps()
	s.productResult()
	s.end()
	return s.b.String()
}

// productSteps adds up the products of all steps in acc0 to acc15: two words of each tile are loaded by every thread,
// then each thread multiplies its four lines with its four columns.
func (s *source) productSteps() {
	for i := range 16 {
		s.op("mov.u32 %%acc%d, 0", i)
	}
	s.op("mov.u32 %%step, 0")
	s.op("shr.u32 %%steps, %%n32, 5")
	s.label("STEP")
	s.note("lines beyond the matrix count as zero")
	for i := range 2 {
		s.op("mov.u32 %%a%d, 0", i)
		s.op("mov.u32 %%b%d, 0", i)
	}
	s.op("@%%ina ld.global.v2.u32 {%%a0, %%a1}, [%%pa]")
	s.op("@%%inb ld.global.v2.u32 {%%b0, %%b1}, [%%pb]")
	s.op("bar.sync 0")
	s.op("st.shared.u32 [%%sa], %%a0")
	s.op("st.shared.u32 [%%sa+272], %%a1")
	s.op("st.shared.u32 [%%sb], %%b0")
	s.op("st.shared.u32 [%%sb+272], %%b1")
	s.op("bar.sync 0")
	for k := range 8 {
		s.op("ld.shared.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%%la+%d]", 272*k)
		s.op("ld.shared.v4.u32 {%%b0, %%b1, %%b2, %%b3}, [%%lb+%d]", 272*k)
		for i := range 4 {
			for j := range 4 {
				s.op("dp4a.s32.s32 %%acc%d, %%a%d, %%b%d, %%acc%d", 4*i+j, i, j, 4*i+j)
			}
		}
	}
	s.op("add.u64 %%pa, %%pa, 32")
	s.op("add.u64 %%pb, %%pb, 32")
	s.op("add.u32 %%step, %%step, 1")
	s.op("setp.lt.u32 %%p, %%step, %%steps")
	s.op("@%%p bra STEP")
}

// productResult stores a thread's 4 by 4 entries, those of them that are inside of the matrix.
func (s *source) productResult() {
	s.note("n is a multiple of 4, so four columns are inside of the matrix or outside together")
	s.op("add.u32 %%col0, %%col0, %%tx")
	s.op("add.u32 %%row0, %%row0, %%ty")
	s.op("setp.ge.u32 %%p, %%col0, %%n32")
	s.op("@%%p bra DONE")
	for i := range 4 {
		s.op("setp.ge.u32 %%p, %%row0, %%m32")
		s.op("@%%p bra DONE")
		s.op("mul.wide.u32 %%off, %%row0, %%n32")
		s.op("cvt.u64.u32 %%ad, %%col0")
		s.op("add.u64 %%off, %%off, %%ad")
		s.op("shl.b64 %%off, %%off, 2")
		s.op("add.u64 %%ad, %%c, %%off")
		s.op("st.global.v4.u32 [%%ad], {%%acc%d, %%acc%d, %%acc%d, %%acc%d}", 4*i, 4*i+1, 4*i+2, 4*i+3)
		s.op("add.u32 %%row0, %%row0, 1")
	}
	s.label("DONE")
}
