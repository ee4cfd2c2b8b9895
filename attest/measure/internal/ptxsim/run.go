package ptxsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrFault is returned when a kernel does what a device would not survive.
var ErrFault = errors.New("ptxsim: fault")

// Memory is the device's memory.
type Memory interface {
	// At returns size bytes at a device address, or nil if they are not all there.
	At(address uint64, size int) []byte
}

// Launch is the shape of a launch.
type Launch struct {
	Grid, Block [3]uint32
	Params      []uint64
}

type thread struct {
	regs []uint64
	pc   int
	done bool
}

// Run executes a launch. Threads of a block run one after the other between barriers; blocks run one after the other.
func (k *Kernel) Run(m Memory, l Launch) error {
	if len(l.Params) != k.Params {
		return fmt.Errorf("%w: %s takes %d parameters, got %d", ErrFault, k.Name, k.Params, len(l.Params))
	}
	for z := range l.Grid[2] {
		for y := range l.Grid[1] {
			for x := range l.Grid[0] {
				b := block{k: k, m: m, l: l, ctaid: [3]uint32{x, y, z}, shared: make([]byte, k.shared)}
				if err := b.run(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

type block struct {
	k      *Kernel
	m      Memory
	l      Launch
	ctaid  [3]uint32
	shared []byte
}

func (b *block) run() error {
	var threads []*thread
	for z := range b.l.Block[2] {
		for y := range b.l.Block[1] {
			for x := range b.l.Block[0] {
				t := &thread{regs: make([]uint64, b.k.regs+len(b.k.values))}
				for i, v := range [][3]uint32{{x, y, z}, b.ctaid, b.l.Block} {
					for axis := range v {
						t.regs[3*i+axis] = uint64(v[axis])
					}
				}
				copy(t.regs[b.k.regs:], b.k.values)
				threads = append(threads, t)
			}
		}
	}
	for {
		waiting, done := 0, 0
		for _, t := range threads {
			if !t.done {
				if err := b.until(t); err != nil {
					return err
				}
			}
			if t.done {
				done++
			} else {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		if done > 0 {
			return fmt.Errorf("%w: %s: %d threads wait at a barrier that %d have left", ErrFault, b.k.Name, waiting, done)
		}
	}
}

// until runs a thread to its next barrier or its end. One goroutine runs all threads of a block: with the race detector
// looking at each register a test takes five times as long, and it has nothing to find. So in what until calls.
//
//go:norace
func (b *block) until(t *thread) error {
	for {
		if t.pc >= len(b.k.code) {
			return fmt.Errorf("%w: %s runs past its end", ErrFault, b.k.Name)
		}
		in := &b.k.code[t.pc]
		t.pc++
		if in.guard >= 0 && (t.regs[in.guard] != 0) == in.negate {
			continue
		}
		switch in.kind {
		case leave:
			t.done = true
			return nil
		case barrier:
			return nil
		case branch:
			t.pc = in.target
		case move:
			if err := b.access(t, &in.memory); err != nil {
				return fmt.Errorf("%s line %d: %w", b.k.Name, in.line, err)
			}
		default:
			r := t.regs
			r[in.dst] = in.f(r[in.src[0]], r[in.src[1]], r[in.src[2]], r[in.src[3]])
		}
	}
}

// access loads or stores.
//
//go:norace
func (b *block) access(t *thread, m *access) error {
	addr := m.plus
	if m.base >= 0 {
		addr += t.regs[m.base]
	}
	if m.space == "param" {
		t.regs[m.list[0]] = b.l.Params[addr]
		return nil
	}
	size := m.width * len(m.list)
	if addr%uint64(size) != 0 {
		return fmt.Errorf("%w: %d bytes at misaligned address %#x", ErrFault, size, addr)
	}
	var mem []byte
	switch m.space {
	case "global":
		mem = b.m.At(addr, size)
	case "shared":
		mem = within(b.shared, addr, size)
	case "const":
		mem = within(b.k.consts, addr, size)
	}
	if mem == nil {
		return fmt.Errorf("%w: %d bytes at %s address %#x are not there", ErrFault, size, m.space, addr)
	}
	for i, reg := range m.list {
		m.word(mem[m.width*i:], &t.regs[reg])
	}
	return nil
}

// word moves one register to or from memory.
//
//go:norace
func (m *access) word(mem []byte, reg *uint64) {
	le := binary.LittleEndian
	switch {
	case m.store && m.width == 1:
		mem[0] = byte(*reg)
	case m.store && m.width == 2:
		le.PutUint16(mem, uint16(*reg))
	case m.store && m.width == 8:
		le.PutUint64(mem, *reg)
	case m.store:
		le.PutUint32(mem, uint32(*reg))
	case m.width == 8:
		*reg = le.Uint64(mem)
	default:
		*reg = uint64(le.Uint32(mem))
	}
}

//go:norace
func within(mem []byte, at uint64, size int) []byte {
	if at > uint64(len(mem)) || uint64(len(mem))-at < uint64(size) {
		return nil
	}
	return mem[at : at+uint64(size)]
}

func known(op string) bool {
	switch op {
	case "ret", "bra", "bar.sync", "ld.param.u64", "ld.const.u32", "ld.global.v2.u32", "ld.global.v4.u32",
		"st.global.v4.u32", "ld.shared.v4.u32", "st.shared.u32", "ld.global.v2.u64", "st.global.v2.u64", "st.global.v2.u32",
		"st.global.u32", "st.global.u16", "st.global.u8":
		return true
	}
	return operations[op] != nil
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// lop3 is the bitwise function whose truth table is table.
func lop3(a, b, c uint32, table uint64) uint32 {
	var out uint32
	for k := range uint32(8) {
		if table>>k&1 == 1 {
			term := ^uint32(0)
			for i, x := range []uint32{c, b, a} {
				if k>>i&1 == 1 {
					term &= x
				} else {
					term &= ^x
				}
			}
			out |= term
		}
	}
	return out
}

// prmt picks bytes of b:a by the nibbles of a selector below 8.
func prmt(a, b, selector uint32) uint32 {
	pool := uint64(b)<<32 | uint64(a)
	var out uint32
	for i := range 4 {
		out |= uint32(pool>>(8*(selector>>(4*i)&7))&0xff) << (8 * i)
	}
	return out
}

// dp4a adds the dot product of four int8 in a and b to c.
func dp4a(a, b, c uint32) uint32 {
	for i := range 4 {
		c += uint32(int32(int8(a>>(8*i))) * int32(int8(b>>(8*i))))
	}
	return c
}

// operations compute an instruction's result from its source operands. Results of 32-bit instructions are cut to 32
// bits.
func selp(a, b, predicate uint64) uint64 {
	if predicate != 0 {
		return uint64(uint32(a))
	}
	return uint64(uint32(b))
}

// quotient and remainder give what a device gives for a zero divisor: anything, here all ones.
func quotient(a, b uint64) uint64 {
	if uint32(b) == 0 {
		return 1<<32 - 1
	}
	return uint64(uint32(a) / uint32(b))
}

func remainder(a, b uint64) uint64 {
	if uint32(b) == 0 {
		return 1<<32 - 1
	}
	return uint64(uint32(a) % uint32(b))
}

var operations = map[string]func(a, b, c, d uint64) uint64{
	"mov.u32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a)) },
	"mov.u64":        func(a, b, c, d uint64) uint64 { return a },
	"cvt.u32.u64":    func(a, b, c, d uint64) uint64 { return uint64(uint32(a)) },
	"cvt.u64.u32":    func(a, b, c, d uint64) uint64 { return uint64(uint32(a)) },
	"add.u32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a) + uint32(b)) },
	"add.u64":        func(a, b, c, d uint64) uint64 { return a + b },
	"sub.u32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a) - uint32(b)) },
	"mul.lo.u32":     func(a, b, c, d uint64) uint64 { return uint64(uint32(a) * uint32(b)) },
	"mul.hi.u32":     func(a, b, c, d uint64) uint64 { return a * b >> 32 },
	"mul.wide.u32":   func(a, b, c, d uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) },
	"mul.lo.u64":     func(a, b, c, d uint64) uint64 { return a * b },
	"mul.hi.u64":     func(a, b, c, d uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi },
	"xor.b64":        func(a, b, c, d uint64) uint64 { return a ^ b },
	"or.b64":         func(a, b, c, d uint64) uint64 { return a | b },
	"mad.lo.u32":     func(a, b, c, d uint64) uint64 { return uint64(uint32(a)*uint32(b) + uint32(c)) },
	"div.u32":        func(a, b, c, d uint64) uint64 { return quotient(a, b) },
	"rem.u32":        func(a, b, c, d uint64) uint64 { return remainder(a, b) },
	"shl.b32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a) << b) },
	"shl.b64":        func(a, b, c, d uint64) uint64 { return a << b },
	"shr.u32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a) >> b) },
	"shr.u64":        func(a, b, c, d uint64) uint64 { return a >> b },
	"and.b32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a & b)) },
	"or.b32":         func(a, b, c, d uint64) uint64 { return uint64(uint32(a | b)) },
	"xor.b32":        func(a, b, c, d uint64) uint64 { return uint64(uint32(a ^ b)) },
	"shf.r.wrap.b32": func(a, b, c, d uint64) uint64 { return uint64(uint32((b<<32 | a) >> (c & 31))) },
	"lop3.b32":       func(a, b, c, d uint64) uint64 { return uint64(lop3Fast(uint32(a), uint32(b), uint32(c), d)) },
	"prmt.b32":       func(a, b, c, d uint64) uint64 { return uint64(prmtFast(uint32(a), uint32(b), uint32(c))) },
	"selp.u32":       func(a, b, c, d uint64) uint64 { return selp(a, b, c) },
	"setp.lt.u32":    func(a, b, c, d uint64) uint64 { return flag(uint32(a) < uint32(b)) },
	"setp.ge.u32":    func(a, b, c, d uint64) uint64 { return flag(uint32(a) >= uint32(b)) },
	"setp.eq.u32":    func(a, b, c, d uint64) uint64 { return flag(uint32(a) == uint32(b)) },
	"dp4a.s32.s32":   func(a, b, c, d uint64) uint64 { return uint64(dp4a(uint32(a), uint32(b), uint32(c))) },
}

// lop3Fast knows the tables that the kernels use.
func lop3Fast(a, b, c uint32, table uint64) uint32 {
	switch table {
	case 0x96:
		return a ^ b ^ c
	case 0xca:
		return a&b | ^a&c
	case 0xe8:
		return a&b | a&c | b&c
	}
	return lop3(a, b, c, table)
}

// prmtFast knows the selector that reverses bytes.
func prmtFast(a, b, selector uint32) uint32 {
	if selector == 0x0123 {
		return bits.ReverseBytes32(a)
	}
	return prmt(a, b, selector)
}
