package ptxgen

import "fmt"

// sha256K are the round constants of FIPS 180-4, section 4.2.2.
var sha256K = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// iv are the first 32 bits of the fractional parts of the square roots of the first eight primes: the initial values of
// SHA-256 and of BLAKE2s.
var iv = [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}

// constants declares the round constants.
func constants(s *source) {
	s.f("\n// Round constants of SHA-256 (FIPS 180-4).\n.const .align 4 .u32 K[64] = {")
	for i := 0; i < 64; i += 8 {
		line := "\t"
		for k := i; k < i+8; k++ {
			line += hex(sha256K[k])
			if k < 63 {
				line += ","
			}
			if k < i+7 {
				line += " "
			}
		}
		s.f("%s", line)
	}
	s.f("};")
}

func sha256Module() string {
	var s source
	s.b.WriteString(header)
	constants(&s)
	pairs(&s)
	return s.b.String()
}

// sha256Registers declares what compress uses: message w, chain h, state a–h as v0–v7, temporaries.
func sha256Registers(s *source) {
	s.regs(numbered("w", 16)...)
	s.regs(numbered("h", 8)...)
	s.regs(numbered("v", 8)...)
	s.regs("t1", "t2", "t3", "round", "x0", "x1", "x2", "x3")
	s.regs64("k", "ad")
	s.preds("p", "q")
}

func sha256Init(s *source) {
	for i, v := range iv {
		s.op("mov.u32 %%h%d, %s", i, hex(v))
	}
}

// compress adds the compression of w to the chain h: four times sixteen rounds, after which the registers v are back at
// their places.
func compress(s *source) {
	for i := range 8 {
		s.op("mov.u32 %%v%d, %%h%d", i, i)
	}
	s.op("mov.u32 %%round, 0")
	s.op("mov.u64 %%k, K")
	s.label("ROUNDS")
	for i := range 16 {
		v := func(k int) int { return (k - i + 16) % 8 } // register of state word k in round i
		s.note("round %d of 16", i)
		s.op("ld.const.u32 %%t1, [%%k+%d]", 4*i)
		s.op("add.u32 %%t1, %%t1, %%w%d", i)
		s.op("add.u32 %%t1, %%t1, %%v%d", v(7))
		sigma(s, "t2", v(4), 6, 11, 25)
		s.op("add.u32 %%t1, %%t1, %%t2")
		s.op("lop3.b32 %%t2, %%v%d, %%v%d, %%v%d, 0xca", v(4), v(5), v(6)) // e ? f : g
		s.op("add.u32 %%t1, %%t1, %%t2")
		s.op("add.u32 %%v%d, %%v%d, %%t1", v(3), v(3))
		sigma(s, "t2", v(0), 2, 13, 22)
		s.op("add.u32 %%t1, %%t1, %%t2")
		s.op("lop3.b32 %%t2, %%v%d, %%v%d, %%v%d, 0xe8", v(0), v(1), v(2)) // majority
		s.op("add.u32 %%v%d, %%t1, %%t2", v(7))
	}
	s.op("add.u32 %%round, %%round, 1")
	s.op("setp.eq.u32 %%p, %%round, 4")
	s.op("@%%p bra ADD")
	s.note("the next sixteen words of the schedule")
	for i := range 16 {
		schedule(s, "t1", (i+1)%16, 7, 18, 3)
		s.op("add.u32 %%w%d, %%w%d, %%t1", i, i)
		schedule(s, "t1", (i+14)%16, 17, 19, 10)
		s.op("add.u32 %%w%d, %%w%d, %%t1", i, i)
		s.op("add.u32 %%w%d, %%w%d, %%w%d", i, i, (i+9)%16)
	}
	s.op("add.u64 %%k, %%k, 64")
	s.op("bra ROUNDS")
	s.label("ADD")
	for i := range 8 {
		s.op("add.u32 %%h%d, %%h%d, %%v%d", i, i, i)
	}
}

// sigma is the exclusive or of three rotations of v.
func sigma(s *source, dst string, v, a, b, c int) {
	s.op("shf.r.wrap.b32 %%%s, %%v%d, %%v%d, %d", dst, v, v, a)
	s.op("shf.r.wrap.b32 %%t3, %%v%d, %%v%d, %d", v, v, b)
	s.op("xor.b32 %%%s, %%%s, %%t3", dst, dst)
	s.op("shf.r.wrap.b32 %%t3, %%v%d, %%v%d, %d", v, v, c)
	s.op("xor.b32 %%%s, %%%s, %%t3", dst, dst)
}

// schedule is the exclusive or of two rotations and a shift of w.
func schedule(s *source, dst string, w, a, b, shift int) {
	s.op("shf.r.wrap.b32 %%%s, %%w%d, %%w%d, %d", dst, w, w, a)
	s.op("shf.r.wrap.b32 %%t2, %%w%d, %%w%d, %d", w, w, b)
	s.op("shr.u32 %%t3, %%w%d, %d", w, shift)
	s.op("lop3.b32 %%%s, %%%s, %%t2, %%t3, 0x96", dst, dst)
}

// storeDigest stores h, byte-swapped, at base + 32·index.
func storeDigest(s *source, index, base string) {
	for i := range 8 {
		s.swap("h"+digit(i), "h"+digit(i))
	}
	s.op("mul.wide.u32 %%ad, %%%s, 32", index)
	s.op("add.u64 %%ad, %%ad, %%%s", base)
	s.store8("ad", "h")
}

// shifted turns the first source words r0 … r15 (as loaded) into message words that begin one byte earlier; carry holds
// the byte before, in its low bits.
func shifted(s *source, words int) {
	for i := range words {
		s.swap("t1", "r"+digit(i))
		s.op("shf.r.wrap.b32 %%w%d, %%t1, %%carry, 8", i)
		s.op("mov.u32 %%carry, %%t1")
	}
}

// tail is the padded end of a message whose last byte is in carry and goes to word first.
func tail(s *source, first, bits int) {
	s.op("shl.b32 %%w%d, %%carry, 24", first)
	s.op("or.b32 %%w%d, %%w%d, 0x00800000", first, first)
	for i := first + 1; i < 15; i++ {
		s.op("mov.u32 %%w%d, 0", i)
	}
	s.op("mov.u32 %%w15, %d", bits)
}

// leaves hashes pieces of a number of bytes, a multiple of 64.
func leaves(s *source, name string, size int) {
	s.entry(name, fmt.Sprintf("%s: thread t writes sha256(0x00 | the %d bytes at src+%dt) at dst+32t.", name, size, size), "src", "dst", "count")
	sha256Registers(s)
	s.regs(numbered("r", 16)...)
	s.regs("i", "carry", "part")
	s.index("i", "count")
	s.op("mul.wide.u32 %%ad, %%i, %d", size)
	s.op("add.u64 %%src, %%src, %%ad")
	sha256Init(s)
	s.op("mov.u32 %%carry, 0")
	s.op("mov.u32 %%part, 0")
	s.label("LOAD")
	s.load4("r", 0, 4, "src", 0)
	shifted(s, 16)
	s.op("add.u64 %%src, %%src, 64")
	s.op("bra COMPRESS")
	s.label("TAIL")
	tail(s, 0, 8*(size+1))
	s.label("COMPRESS")
	compress(s)
	s.op("add.u32 %%part, %%part, 1")
	s.op("setp.lt.u32 %%p, %%part, %d", size/64)
	s.op("@%%p bra LOAD")
	s.op("setp.eq.u32 %%p, %%part, %d", size/64)
	s.op("@%%p bra TAIL")
	storeDigest(s, "i", "dst")
	s.label("DONE")
	s.end()
}

// node hashes the two nodes in r to base + 32·i.
func node(s *source, base string) {
	sha256Init(s)
	s.op("mov.u32 %%carry, 1")
	s.op("mov.u32 %%part, 0")
	shifted(s, 16)
	s.op("bra COMPRESS")
	s.label("TAIL")
	tail(s, 0, 65*8)
	s.label("COMPRESS")
	compress(s)
	s.op("add.u32 %%part, %%part, 1")
	s.op("setp.eq.u32 %%p, %%part, 1")
	s.op("@%%p bra TAIL")
	storeDigest(s, "i", base)
}

// pairs folds one level of many trees of the same size.
func pairs(s *source) {
	s.entry("pairs", `pairs: folds one level of trees of width nodes each, one tree after the other: thread t makes node t%half of
tree t/half, half = (width+1)/2, which is sha256(0x01 | left | right), or the last node of an odd level itself.
count = trees*half.`, "src", "dst", "width", "count")
	sha256Registers(s)
	s.regs(numbered("r", 16)...)
	s.regs("i", "carry", "part", "tree", "node")
	s.index("i", "count")
	s.op("cvt.u32.u64 %%x2, %%width")
	s.op("add.u32 %%x1, %%x2, 1")
	s.op("shr.u32 %%x1, %%x1, 1")
	s.op("div.u32 %%tree, %%i, %%x1")
	s.op("rem.u32 %%node, %%i, %%x1")
	s.op("shl.b32 %%node, %%node, 1")
	s.op("mad.lo.u32 %%x3, %%tree, %%x2, %%node")
	s.op("mul.wide.u32 %%ad, %%x3, 32")
	s.op("add.u64 %%src, %%src, %%ad")
	s.op("add.u32 %%node, %%node, 1")
	s.op("setp.ge.u32 %%q, %%node, %%x2")
	s.op("@%%q bra ALONE")
	s.load4("r", 0, 4, "src", 0)
	node(s, "dst")
	s.op("bra DONE")
	s.label("ALONE")
	s.load4("r", 0, 2, "src", 0)
	s.op("mul.wide.u32 %%ad, %%i, 32")
	s.op("add.u64 %%ad, %%ad, %%dst")
	s.store8("ad", "r")
	s.label("DONE")
	s.end()
}
