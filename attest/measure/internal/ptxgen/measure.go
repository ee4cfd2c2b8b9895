package ptxgen

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Constants of the measurement's format (docs/protocol/measurement.md).
const (
	wordStep    = 0x9E3779B9
	wordFactor  = 0x846CA68B
	cellFactor  = 0x9E3779B1
	mixStart    = 0x85EBCA6B
	placeFactor = "0xD6E8FEB86659FD93"
	stepFactor0 = "0x9E3779B97F4A7C15"
	stepFactor1 = "0xC2B2AE3D27D4EB4F"

	walkSteps = 64
)

// measurement is the module of the kernels that measure a GPU.
func measurement() string {
	var s source
	s.b.WriteString(header)
	constants(&s)
	first(&s, "rowkeys", "row", 2)
	first(&s, "lanestates", "lane", 4)
	rows(&s)
	cells(&s, 2)
	cells(&s, 4)
	leaves(&s, "mixleaves", 256)
	walk(&s)
	trace(&s)
	join(&s)
	pad(&s)
	return s.b.String()
}

// first stores the beginning of a hash of a seed and an index.
func first(s *source, name, tag string, words int) {
	s.entry(name, fmt.Sprintf(`%s: thread t writes the first %d bytes of sha256(tag(%q) | seed | first+t as u32) at dst+%dt.`, name, 4*words, tag, 4*words),
		"dst", "s0", "s1", "s2", "s3", "first", "count")
	sha256Registers(s)
	s.regs("i", "part", "number")
	s.index("i", "count")
	s.op("cvt.u32.u64 %%number, %%first")
	s.op("add.u32 %%number, %%number, %%i")
	t := sha256.Sum256([]byte("gantry/measure/1/" + tag))
	for i := range 8 {
		s.op("mov.u32 %%w%d, %s", i, hex(binary.BigEndian.Uint32(t[4*i:])))
	}
	for i := range 4 {
		s.op("cvt.u32.u64 %%w%d, %%s%d", 8+2*i, i)
		s.op("shr.u64 %%s%d, %%s%d, 32", i, i)
		s.op("cvt.u32.u64 %%w%d, %%s%d", 9+2*i, i)
	}
	for i := 8; i < 16; i++ {
		s.swap("w"+digit(i), "w"+digit(i))
	}
	sha256Init(s)
	s.op("mov.u32 %%part, 0")
	s.op("bra COMPRESS")
	s.label("TAIL")
	s.swap("w0", "number")
	s.op("mov.u32 %%w1, 0x80000000")
	for i := 2; i < 15; i++ {
		s.op("mov.u32 %%w%d, 0", i)
	}
	s.op("mov.u32 %%w15, %d", 68*8)
	s.label("COMPRESS")
	compress(s)
	s.op("add.u32 %%part, %%part, 1")
	s.op("setp.eq.u32 %%p, %%part, 1")
	s.op("@%%p bra TAIL")
	for i := range words {
		s.swap("h"+digit(i), "h"+digit(i))
	}
	s.op("mul.wide.u32 %%ad, %%i, %d", 4*words)
	s.op("add.u64 %%ad, %%ad, %%dst")
	if words == 2 {
		s.op("st.global.v2.u32 [%%ad], {%%h0, %%h1}")
	} else {
		s.op("st.global.v4.u32 [%%ad], {%%h0, %%h1, %%h2, %%h3}")
	}
	s.label("DONE")
	s.end()
}

// rows expands rows of A or columns of B.
func rows(s *source) {
	s.entry("rows", `rows: thread t writes the 16 entries t%2^shift of row t/2^shift, of which the key is at keys+8*row, at dst+16t; shift is
log2(n/16).`, "keys", "dst", "shift", "count")
	s.regs(numbered("e", 4)...)
	s.regs("i", "x0", "x1", "k0", "k1", "t", "by")
	s.regs64("ad")
	s.preds("p")
	s.index("i", "count")
	s.op("cvt.u32.u64 %%by, %%shift")
	s.op("shr.u32 %%x0, %%i, %%by")
	s.op("mul.wide.u32 %%ad, %%x0, 8")
	s.op("add.u64 %%ad, %%ad, %%keys")
	s.op("ld.global.v2.u32 {%%k0, %%k1}, [%%ad]")
	s.op("or.b32 %%k1, %%k1, 1")
	s.op("shl.b32 %%x0, %%x0, %%by")
	s.op("sub.u32 %%x1, %%i, %%x0")
	s.op("shl.b32 %%x1, %%x1, 2")
	s.op("mad.lo.u32 %%k0, %%x1, %s, %%k0", hex(wordStep))
	for i := range 4 {
		e := "e" + digit(i)
		s.op("shr.u32 %%t, %%k0, 16")
		s.op("xor.b32 %%%s, %%k0, %%t", e)
		s.op("mul.lo.u32 %%%s, %%%s, %%k1", e, e)
		s.op("shr.u32 %%t, %%%s, 15", e)
		s.op("xor.b32 %%%s, %%%s, %%t", e, e)
		s.op("mul.lo.u32 %%%s, %%%s, %s", e, e, hex(wordFactor))
		s.op("shr.u32 %%t, %%%s, 16", e)
		s.op("xor.b32 %%%s, %%%s, %%t", e, e)
		if i < 3 {
			s.op("add.u32 %%k0, %%k0, %s", hex(wordStep))
		}
	}
	s.op("mul.wide.u32 %%ad, %%i, 16")
	s.op("add.u64 %%ad, %%ad, %%dst")
	s.op("st.global.v4.u32 [%%ad], {%%e0, %%e1, %%e2, %%e3}")
	s.label("DONE")
	s.end()
}

// cellGroups is the number of groups of four entries that a block of 128 threads takes in cells: four for each thread,
// so that neighbouring threads read and write neighbouring bytes.
const cellGroups = 512

// cells makes both bytes of the entries of a product.
func cells(s *source, fold int) {
	name := fmt.Sprintf("cells%d", fold)
	s.entry(name, fmt.Sprintf(`%s: makes the kept bytes of entries at src, one for each, and the mix bytes, one for %d. A block of 128 threads takes
2048 entries, so that there must be a multiple of them.`, name, fold), "src", "kept", "mixed")
	s.regs(numbered("r", 4)...)
	s.regs(numbered("y", 4)...)
	s.regs("v", "x0", "h", "g", "t")
	s.regs64("ad")
	s.op("mov.u32 %%v, %%tid.x")
	s.op("mov.u32 %%x0, %%ctaid.x")
	s.op("mad.lo.u32 %%v, %%x0, %d, %%v", cellGroups)
	for part := range 4 {
		s.op("mul.wide.u32 %%ad, %%v, 16")
		s.op("add.u64 %%ad, %%ad, %%src")
		s.load4("r", 0, 1, "ad", 0)
		for i := range 4 {
			s.op("shr.u32 %%t, %%r%d, 15", i)
			s.op("xor.b32 %%y%d, %%r%d, %%t", i, i)
			s.op("mul.lo.u32 %%y%d, %%y%d, %s", i, i, hex(cellFactor))
		}
		s.note("the highest bytes of four words")
		s.op("prmt.b32 %%y0, %%y0, %%y1, 0x0073")
		s.op("prmt.b32 %%y2, %%y2, %%y3, 0x0073")
		s.op("prmt.b32 %%y0, %%y0, %%y2, 0x5410")
		s.op("mul.wide.u32 %%ad, %%v, 4")
		s.op("add.u64 %%ad, %%ad, %%kept")
		s.op("st.global.u32 [%%ad], %%y0")
		if fold == 4 {
			s.mixed("h", 0, 4)
			s.op("cvt.u64.u32 %%ad, %%v")
			s.op("add.u64 %%ad, %%ad, %%mixed")
			s.op("st.global.u8 [%%ad], %%h")
		} else {
			s.mixed("h", 0, 2)
			s.mixed("g", 2, 2)
			s.op("shl.b32 %%g, %%g, 8")
			s.op("or.b32 %%h, %%h, %%g")
			s.op("mul.wide.u32 %%ad, %%v, 2")
			s.op("add.u64 %%ad, %%ad, %%mixed")
			s.op("st.global.u16 [%%ad], %%h")
		}
		if part < 3 {
			s.op("add.u32 %%v, %%v, %d", cellGroups/4)
		}
	}
	s.end()
}

// mixed makes the mix byte of entries in r.
func (s *source) mixed(dst string, from, count int) {
	s.op("mov.u32 %%%s, %s", dst, hex(mixStart))
	for i := from; i < from+count; i++ {
		s.op("xor.b32 %%%s, %%%s, %%r%d", dst, dst, i)
		s.op("mul.lo.u32 %%%s, %%%s, %s", dst, dst, hex(cellFactor))
		s.op("shr.u32 %%t, %%%s, 15", dst)
		s.op("xor.b32 %%%s, %%%s, %%t", dst, dst)
	}
	s.op("shr.u32 %%%s, %%%s, 24", dst, dst)
}

// walkRegisters declares what steps uses: the state s0 and s1, the lane's place, an item.
func walkRegisters(s *source) {
	s.regs("step")
	s.regs64(append(numbered("m", 16), "s0", "s1", "place", "t", "u")...)
	s.preds("next")
}

// place mixes a walk's place, lane in the register and walk in the other, into s0.
func (s *source) place(lane, walk string) {
	s.op("shl.b64 %%place, %%%s, 32", lane)
	s.op("add.u64 %%place, %%place, %%%s", walk)
	s.op("add.u64 %%place, %%place, 1")
	s.op("mul.lo.u64 %%place, %%place, %s", placeFactor)
	s.op("xor.b64 %%s0, %%s0, %%place")
}

// steps makes the steps of a walk. All loads of an item come before its arithmetic, so that they wait together.
func (s *source) steps() {
	s.op("mov.u32 %%step, 0")
	s.label("STEP")
	s.op("mul.hi.u64 %%t, %%s0, %%items")
	s.op("shl.b64 %%t, %%t, 7")
	s.op("add.u64 %%t, %%t, %%data")
	for i := range 8 {
		s.op("ld.global.v2.u64 {%%m%d, %%m%d}, [%%t+%d]", 2*i, 2*i+1, 16*i)
	}
	for i := range 8 {
		for half, k := range []struct {
			factor string
			shift  int
		}{{stepFactor0, 32}, {stepFactor1, 29}} {
			s.op("xor.b64 %%s%d, %%s%d, %%m%d", half, half, 2*i+half)
			s.op("mul.lo.u64 %%s%d, %%s%d, %s", half, half, k.factor)
			s.op("shr.u64 %%u, %%s%d, %d", half, k.shift)
			s.op("xor.b64 %%s%d, %%s%d, %%u", half, half)
		}
	}
	s.op("shl.b64 %%t, %%s0, 23")
	s.op("shr.u64 %%u, %%s0, 41")
	s.op("or.b64 %%t, %%t, %%u")
	s.op("add.u64 %%s0, %%s0, %%s1")
	s.op("xor.b64 %%s1, %%s1, %%t")
	s.op("add.u32 %%step, %%step, 1")
	s.op("setp.lt.u32 %%next, %%step, %d", walkSteps)
	s.op("@%%next bra STEP")
}

// walk makes one walk of each lane and its leaf.
func walk(s *source) {
	s.entry("walk", `walk: thread t makes walk number walk of lane t over the items at data: its state is at states+16t, before and after; the
leaf of the walk goes to dst+32t.`, "data", "items", "states", "dst", "walk", "count")
	sha256Registers(s)
	s.regs(numbered("r", 8)...)
	s.regs("i", "carry")
	s.regs64("lane", "b0", "b1", "at")
	walkRegisters(s)
	s.index("i", "count")
	s.op("mul.wide.u32 %%at, %%i, 16")
	s.op("add.u64 %%at, %%at, %%states")
	s.op("ld.global.v2.u64 {%%s0, %%s1}, [%%at]")
	s.op("mov.u64 %%b0, %%s0")
	s.op("mov.u64 %%b1, %%s1")
	s.op("cvt.u64.u32 %%lane, %%i")
	s.place("lane", "walk")
	s.steps()
	s.op("st.global.v2.u64 [%%at], {%%s0, %%s1}")
	for i, v := range []string{"b0", "b1", "s0", "s1"} {
		s.op("cvt.u32.u64 %%r%d, %%%s", 2*i, v)
		s.op("shr.u64 %%%s, %%%s, 32", v, v)
		s.op("cvt.u32.u64 %%r%d, %%%s", 2*i+1, v)
	}
	s.op("mov.u32 %%carry, 3")
	shifted(s, 8)
	tail(s, 8, 33*8)
	sha256Init(s)
	compress(s)
	storeDigest(s, "i", "dst")
	s.label("DONE")
	s.end()
}

// trace makes all walks of a few lanes once more.
func trace(s *source) {
	s.entry("trace", `trace: thread t < 4 makes the first walks of the lane that parameter lt names, from the state at states+16t, and writes
the state after walk j at dst+16*(t*walks+j).`, "data", "items", "states", "dst", "l0", "l1", "l2", "l3", "walks", "count")
	s.regs("i", "x0", "x1", "last", "j")
	s.regs64("lane", "walk", "at")
	s.preds("p")
	walkRegisters(s)
	s.index("i", "count")
	s.op("mov.u64 %%lane, %%l0")
	for i := 1; i < 4; i++ {
		s.op("setp.eq.u32 %%p, %%i, %d", i)
		s.op("@%%p mov.u64 %%lane, %%l%d", i)
	}
	s.op("mul.wide.u32 %%at, %%i, 16")
	s.op("add.u64 %%at, %%at, %%states")
	s.op("ld.global.v2.u64 {%%s0, %%s1}, [%%at]")
	s.op("cvt.u32.u64 %%last, %%walks")
	s.op("mul.wide.u32 %%at, %%i, %%last")
	s.op("shl.b64 %%at, %%at, 4")
	s.op("add.u64 %%at, %%at, %%dst")
	s.op("mov.u32 %%j, 0")
	s.label("WALK")
	s.op("cvt.u64.u32 %%walk, %%j")
	s.place("lane", "walk")
	s.steps()
	s.op("st.global.v2.u64 [%%at], {%%s0, %%s1}")
	s.op("add.u64 %%at, %%at, 16")
	s.op("add.u32 %%j, %%j, 1")
	s.op("setp.lt.u32 %%p, %%j, %%last")
	s.op("@%%p bra WALK")
	s.label("DONE")
	s.end()
}

// join makes a level of the lanes' trees.
func join(s *source) {
	s.entry("join", `join: thread t writes sha256(0x01 | 32 bytes at left+32t | 32 bytes at right+32t) at dst+32t, which may be right.`,
		"left", "right", "dst", "count")
	sha256Registers(s)
	s.regs(numbered("r", 16)...)
	s.regs("i", "carry", "part")
	s.index("i", "count")
	s.op("mul.wide.u32 %%ad, %%i, 32")
	s.op("add.u64 %%left, %%left, %%ad")
	s.op("add.u64 %%right, %%right, %%ad")
	s.load4("r", 0, 2, "left", 0)
	s.load4("r", 8, 2, "right", 0)
	node(s, "dst")
	s.label("DONE")
	s.end()
}

// pad is join with padding on the right.
func pad(s *source) {
	s.entry("pad", `pad: thread t writes sha256(0x01 | 32 bytes at left+32t | the 32 bytes of q0 to q3) at dst+32t, which may be left.`,
		"left", "dst", "q0", "q1", "q2", "q3", "count")
	sha256Registers(s)
	s.regs(numbered("r", 16)...)
	s.regs("i", "carry", "part")
	s.index("i", "count")
	s.op("mul.wide.u32 %%ad, %%i, 32")
	s.op("add.u64 %%left, %%left, %%ad")
	s.load4("r", 0, 2, "left", 0)
	for i := range 4 {
		s.op("cvt.u32.u64 %%r%d, %%q%d", 8+2*i, i)
		s.op("shr.u64 %%q%d, %%q%d, 32", i, i)
		s.op("cvt.u32.u64 %%r%d, %%q%d", 9+2*i, i)
	}
	node(s, "dst")
	s.label("DONE")
	s.end()
}
