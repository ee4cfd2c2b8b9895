package ptxsim

import (
	"fmt"
	"strings"
)

// access is a decoded load or store: ld.space[.vN].type.
type access struct {
	store bool
	space string
	width int
	list  []int
	base  int // register, −1 without
	plus  uint64
}

// decode resolves what would cost time in every step.
func (k *Kernel) decode(in *instruction) error {
	switch {
	case in.op == "ret":
		in.kind = leave
	case in.op == "bra":
		in.kind = branch
	case in.op == "bar.sync":
		in.kind = barrier
	case strings.HasPrefix(in.op, "ld.") || strings.HasPrefix(in.op, "st."):
		in.kind = move
		return in.decodeAccess()
	default:
		in.kind, in.f = compute, operations[in.op]
		if len(in.args) < 2 || len(in.args) > 5 || in.args[0].kind != register {
			return fmt.Errorf("%w: operands of %s", ErrUnsupported, in.op)
		}
		in.dst = in.args[0].reg
		for i, o := range in.args[1:] {
			switch o.kind {
			case register:
				in.src[i] = o.reg
			case immediate:
				in.src[i] = k.regs + len(k.values)
				k.values = append(k.values, o.value)
			default:
				return fmt.Errorf("%w: operands of %s", ErrUnsupported, in.op)
			}
		}
	}
	return nil
}

func (in *instruction) decodeAccess() error {
	parts := strings.Split(in.op, ".")
	if len(in.args) != 2 {
		return fmt.Errorf("%w: operands of %s", ErrUnsupported, in.op)
	}
	data, at := in.args[0], in.args[1]
	if parts[0] == "st" {
		data, at = at, data
	}
	m := access{store: parts[0] == "st", space: parts[1], width: 4, list: data.list, base: at.reg, plus: at.value}
	switch parts[len(parts)-1] {
	case "u8":
		m.width = 1
	case "u16":
		m.width = 2
	case "u64":
		m.width = 8
	}
	if data.kind == register {
		m.list = []int{data.reg}
	}
	if at.kind != address || len(m.list) == 0 {
		return fmt.Errorf("%w: operands of %s", ErrUnsupported, in.op)
	}
	in.memory = m
	return nil
}
