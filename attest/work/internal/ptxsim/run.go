package ptxsim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
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
	tid  [3]uint32
	done bool
}

// Run executes a launch. Threads of a block run one after the other between
// barriers; blocks run one after the other.
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
				threads = append(threads, &thread{regs: make([]uint64, b.k.regs), tid: [3]uint32{x, y, z}})
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

// until runs a thread to its next barrier or its end.
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
		switch in.op {
		case "ret":
			t.done = true
			return nil
		case "bar.sync":
			return nil
		case "bra":
			t.pc = in.target
		default:
			if err := b.step(t, in); err != nil {
				return fmt.Errorf("%s line %d: %w", b.k.Name, in.line, err)
			}
		}
	}
}

func (b *block) step(t *thread, in *instruction) error {
	if strings.HasPrefix(in.op, "ld.") || strings.HasPrefix(in.op, "st.") {
		return b.access(t, in)
	}
	var v [4]uint64
	for i, o := range in.args[1:] {
		switch o.kind {
		case register:
			v[i] = t.regs[o.reg]
		case immediate:
			v[i] = o.value
		case special:
			s, err := b.special(t, o.name)
			if err != nil {
				return err
			}
			v[i] = s
		default:
			return fmt.Errorf("%w: operand of %s", ErrUnsupported, in.op)
		}
	}
	f := operations[in.op]
	if strings.HasPrefix(in.op, "div.") || strings.HasPrefix(in.op, "rem.") {
		if uint32(v[1]) == 0 {
			return fmt.Errorf("%w: division by zero", ErrFault)
		}
	}
	t.regs[in.args[0].reg] = f(v)
	return nil
}

func (b *block) special(t *thread, name string) (uint64, error) {
	base, axis, _ := strings.Cut(name, ".")
	i := strings.Index("xyz", axis)
	if i < 0 || axis == "" {
		return 0, fmt.Errorf("%w: %s", ErrUnsupported, name)
	}
	switch base {
	case "%tid":
		return uint64(t.tid[i]), nil
	case "%ctaid":
		return uint64(b.ctaid[i]), nil
	case "%ntid":
		return uint64(b.l.Block[i]), nil
	}
	return 0, fmt.Errorf("%w: %s", ErrUnsupported, name)
}

// access is a load or a store: ld.space[.vN].type.
func (b *block) access(t *thread, in *instruction) error {
	parts := strings.Split(in.op, ".")
	width := 4
	if parts[len(parts)-1] == "u64" {
		width = 8
	}
	data, at := in.args[0], in.args[1]
	if parts[0] == "st" {
		data, at = at, data
	}
	list := data.list
	if data.kind == register {
		list = []int{data.reg}
	}
	addr := at.value
	if at.reg >= 0 {
		addr += t.regs[at.reg]
	}
	if parts[1] == "param" {
		t.regs[list[0]] = b.l.Params[addr]
		return nil
	}
	size := width * len(list)
	if addr%uint64(size) != 0 {
		return fmt.Errorf("%w: %d bytes at misaligned address %#x", ErrFault, size, addr)
	}
	var mem []byte
	switch parts[1] {
	case "global":
		mem = b.m.At(addr, size)
	case "shared":
		mem = within(b.shared, addr, size)
	case "const":
		mem = within(b.k.consts, addr, size)
	}
	if mem == nil {
		return fmt.Errorf("%w: %d bytes at %s address %#x are not there", ErrFault, size, parts[1], addr)
	}
	for i, reg := range list {
		switch {
		case parts[0] == "st":
			binary.LittleEndian.PutUint32(mem[4*i:], uint32(t.regs[reg]))
		case width == 8:
			t.regs[reg] = binary.LittleEndian.Uint64(mem[8*i:])
		default:
			t.regs[reg] = uint64(binary.LittleEndian.Uint32(mem[4*i:]))
		}
	}
	return nil
}

func within(mem []byte, at uint64, size int) []byte {
	if at > uint64(len(mem)) || uint64(len(mem))-at < uint64(size) {
		return nil
	}
	return mem[at : at+uint64(size)]
}

func known(op string) bool {
	switch op {
	case "ret", "bra", "bar.sync", "ld.param.u64", "ld.const.u32", "ld.global.v2.u32", "ld.global.v4.u32",
		"st.global.v4.u32", "ld.shared.v4.u32", "st.shared.u32":
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

// operations compute an instruction's result from its source operands. Results of
// 32-bit instructions are cut to 32 bits.
var operations = map[string]func(v [4]uint64) uint64{
	"mov.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0])) },
	"mov.u64":        func(v [4]uint64) uint64 { return v[0] },
	"cvt.u32.u64":    func(v [4]uint64) uint64 { return uint64(uint32(v[0])) },
	"cvt.u64.u32":    func(v [4]uint64) uint64 { return uint64(uint32(v[0])) },
	"add.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) + uint32(v[1])) },
	"add.u64":        func(v [4]uint64) uint64 { return v[0] + v[1] },
	"sub.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) - uint32(v[1])) },
	"mul.lo.u32":     func(v [4]uint64) uint64 { return uint64(uint32(v[0]) * uint32(v[1])) },
	"mul.hi.u32":     func(v [4]uint64) uint64 { return v[0] * v[1] >> 32 },
	"mul.wide.u32":   func(v [4]uint64) uint64 { return uint64(uint32(v[0])) * uint64(uint32(v[1])) },
	"mad.lo.u32":     func(v [4]uint64) uint64 { return uint64(uint32(v[0])*uint32(v[1]) + uint32(v[2])) },
	"div.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) / uint32(v[1])) },
	"rem.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) % uint32(v[1])) },
	"shl.b32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) << v[1]) },
	"shl.b64":        func(v [4]uint64) uint64 { return v[0] << v[1] },
	"shr.u32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0]) >> v[1]) },
	"shr.u64":        func(v [4]uint64) uint64 { return v[0] >> v[1] },
	"and.b32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0] & v[1])) },
	"or.b32":         func(v [4]uint64) uint64 { return uint64(uint32(v[0] | v[1])) },
	"xor.b32":        func(v [4]uint64) uint64 { return uint64(uint32(v[0] ^ v[1])) },
	"shf.r.wrap.b32": func(v [4]uint64) uint64 { return uint64(uint32((v[1]<<32 | v[0]) >> (v[2] & 31))) },
	"lop3.b32":       func(v [4]uint64) uint64 { return uint64(lop3Fast(uint32(v[0]), uint32(v[1]), uint32(v[2]), v[3])) },
	"prmt.b32":       func(v [4]uint64) uint64 { return uint64(prmtFast(uint32(v[0]), uint32(v[1]), uint32(v[2]))) },
	"selp.u32":       func(v [4]uint64) uint64 { return uint64(uint32(map[bool]uint64{true: v[0], false: v[1]}[v[2] != 0])) },
	"setp.lt.u32":    func(v [4]uint64) uint64 { return flag(uint32(v[0]) < uint32(v[1])) },
	"setp.ge.u32":    func(v [4]uint64) uint64 { return flag(uint32(v[0]) >= uint32(v[1])) },
	"setp.eq.u32":    func(v [4]uint64) uint64 { return flag(uint32(v[0]) == uint32(v[1])) },
	"dp4a.s32.s32":   func(v [4]uint64) uint64 { return uint64(dp4a(uint32(v[0]), uint32(v[1]), uint32(v[2]))) },
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
