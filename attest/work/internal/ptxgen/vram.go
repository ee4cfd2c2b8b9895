package ptxgen

// blakeSigma is the message schedule of BLAKE2s (RFC 7693, section 2.7).
var blakeSigma = [10][16]int{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// blakeParam is the first word of the parameter block for 32 bytes of output without a key: it is combined with the
// first initial value.
const blakeParam = 0x01010020

func vram() string {
	var s source
	s.b.WriteString(header)
	fill(&s)
	sweep(&s)
	return s.b.String()
}

func blakeRegisters(s *source) {
	s.regs(numbered("m", 16)...)
	s.regs(numbered("h", 8)...)
	s.regs(numbered("v", 16)...)
	s.regs("x0", "x1", "x2", "i", "counter", "final")
	s.preds("p", "q")
}

// blakeInit sets the chain to its start.
func blakeInit(s *source) {
	for i, v := range iv {
		if i == 0 {
			v ^= blakeParam
		}
		s.op("mov.u32 %%h%d, %s", i, hex(v))
	}
}

// blakeCompress compresses m into h; counter is the number of bytes so far, final all ones for the last block and zero
// before.
func blakeCompress(s *source) {
	for i := range 8 {
		s.op("mov.u32 %%v%d, %%h%d", i, i)
		s.op("mov.u32 %%v%d, %s", i+8, hex(iv[i]))
	}
	s.op("xor.b32 %%v12, %%v12, %%counter")
	s.op("xor.b32 %%v14, %%v14, %%final")
	for r, sigma := range blakeSigma {
		s.note("round %d", r)
		for g, q := range [8][4]int{
			{0, 4, 8, 12},
			{1, 5, 9, 13},
			{2, 6, 10, 14},
			{3, 7, 11, 15},
			{0, 5, 10, 15},
			{1, 6, 11, 12},
			{2, 7, 8, 13},
			{3, 4, 9, 14},
		} {
			mix(s, q, sigma[2*g], 16, 12)
			mix(s, q, sigma[2*g+1], 8, 7)
		}
	}
	for i := range 8 {
		s.op("lop3.b32 %%h%d, %%h%d, %%v%d, %%v%d, 0x96", i, i, i, i+8)
	}
}

// mix is half of the function G.
func mix(s *source, q [4]int, m, first, second int) {
	a, b, c, d := q[0], q[1], q[2], q[3]
	s.op("add.u32 %%v%d, %%v%d, %%m%d", a, a, m)
	s.op("add.u32 %%v%d, %%v%d, %%v%d", a, a, b)
	s.op("xor.b32 %%v%d, %%v%d, %%v%d", d, d, a)
	s.op("shf.r.wrap.b32 %%v%d, %%v%d, %%v%d, %d", d, d, d, first)
	s.op("add.u32 %%v%d, %%v%d, %%v%d", c, c, d)
	s.op("xor.b32 %%v%d, %%v%d, %%v%d", b, b, c)
	s.op("shf.r.wrap.b32 %%v%d, %%v%d, %%v%d, %d", b, b, b, second)
}

// opening sets m to key | 8 bytes of tag | index u64le | 16 zero bytes.
func opening(s *source, key string, tag [2]uint32) {
	s.words("m", key)
	s.op("mov.u32 %%m8, %s", hex(tag[0]))
	s.op("mov.u32 %%m9, %s", hex(tag[1]))
	s.op("cvt.u32.u64 %%x0, %%first")
	s.op("add.u32 %%m10, %%x0, %%i")
	for i := 11; i < 16; i++ {
		s.op("mov.u32 %%m%d, 0", i)
	}
}

// "gant", "ryVF" and "ryVS" as little-endian words.
const (
	wordGant = 0x746e6167
	wordRyVF = 0x46567972
	wordRyVS = 0x53567972
)

// fill computes the contents.
func fill(s *source) {
	s.entry("fill", `fill: thread t computes block first+t of 2048 labels at dst+65536t, in passes passes; see package vram.`,
		"dst", "k0", "k1", "k2", "k3", "first", "count", "passes")
	blakeRegisters(s)
	s.regs(numbered("r", 16)...)
	s.regs("j", "pass", "limit", "last")
	s.regs64("ad", "ada", "adb", "adj")
	s.index("i", "count")
	s.op("mul.wide.u32 %%ad, %%i, 65536")
	s.op("add.u64 %%dst, %%dst, %%ad")
	opening(s, "k", [2]uint32{wordGant, wordRyVF})
	s.op("cvt.u32.u64 %%last, %%passes")
	s.op("mov.u32 %%counter, 64")
	s.op("mov.u32 %%final, 0xffffffff")
	s.op("mov.u32 %%j, 0")
	s.op("mov.u32 %%pass, 0")
	s.label("LABEL")
	blakeInit(s)
	blakeCompress(s)
	s.op("mul.wide.u32 %%adj, %%j, 32")
	s.op("add.u64 %%adj, %%adj, %%dst")
	s.store8("adj", "h")
	s.op("add.u32 %%j, %%j, 1")
	s.op("setp.lt.u32 %%p, %%j, 2048")
	s.op("@%%p bra PARENTS")
	s.op("mov.u32 %%j, 0")
	s.op("add.u32 %%pass, %%pass, 1")
	s.op("setp.ge.u32 %%p, %%pass, %%last")
	s.op("@%%p bra DONE")
	s.label("PARENTS")
	s.note("two earlier labels that the first two words of this one choose")
	s.op("setp.eq.u32 %%q, %%pass, 0")
	s.op("selp.u32 %%limit, %%j, 2048, %%q")
	for i, ad := range []string{"ada", "adb"} {
		s.op("mul.hi.u32 %%x0, %%h%d, %%limit", i)
		s.op("mul.wide.u32 %%%s, %%x0, 32", ad)
		s.op("add.u64 %%%s, %%%s, %%dst", ad, ad)
	}
	s.load4("m", 8, 2, "ada", 0)
	s.load4("r", 0, 2, "adb", 0)
	for i := range 8 {
		s.op("mov.u32 %%m%d, %%h%d", i, i)
		s.op("xor.b32 %%m%d, %%m%d, %%r%d", 8+i, 8+i, i)
	}
	s.op("@%%q bra LABEL")
	s.note("after the first pass also the label that is overwritten")
	s.op("mul.wide.u32 %%adj, %%j, 32")
	s.op("add.u64 %%adj, %%adj, %%dst")
	s.load4("r", 0, 2, "adj", 0)
	for i := range 8 {
		s.op("xor.b32 %%m%d, %%m%d, %%r%d", 8+i, 8+i, i)
	}
	s.op("bra LABEL")
	s.label("DONE")
	s.end()
}

// sweep digests the contents.
func sweep(s *source) {
	s.entry("sweep", `sweep: thread t digests block first+t, at src+65536t, to dst+32t; see package vram.`,
		"src", "dst", "k0", "k1", "k2", "k3", "first", "count")
	blakeRegisters(s)
	s.regs("last")
	s.regs64("ad")
	s.index("i", "count")
	s.op("mul.wide.u32 %%ad, %%i, 65536")
	s.op("add.u64 %%src, %%src, %%ad")
	opening(s, "k", [2]uint32{wordGant, wordRyVS})
	s.op("mov.u32 %%last, %d", 64+65536)
	s.op("mov.u32 %%counter, 64")
	s.op("mov.u32 %%final, 0")
	blakeInit(s)
	s.label("BLOCK")
	blakeCompress(s)
	s.op("setp.eq.u32 %%p, %%counter, %%last")
	s.op("@%%p bra STORE")
	s.load4("m", 0, 4, "src", 0)
	s.op("add.u64 %%src, %%src, 64")
	s.op("add.u32 %%counter, %%counter, 64")
	s.op("setp.eq.u32 %%p, %%counter, %%last")
	s.op("selp.u32 %%final, 0xffffffff, 0, %%p")
	s.op("bra BLOCK")
	s.label("STORE")
	s.op("mul.wide.u32 %%ad, %%i, 32")
	s.op("add.u64 %%ad, %%ad, %%dst")
	s.store8("ad", "h")
	s.label("DONE")
	s.end()
}
