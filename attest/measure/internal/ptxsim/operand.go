package ptxsim

import (
	"fmt"
	"strconv"
	"strings"
)

// splitArgs splits at commas outside of braces and brackets.
func splitArgs(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range s {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(s[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

func (p *parser) operand(s string) (operand, error) {
	switch {
	case strings.HasPrefix(s, "{"):
		o := operand{kind: vector}
		for _, name := range strings.Split(strings.Trim(s, "{}"), ", ") {
			reg, ok := p.names[name]
			if !ok {
				return o, fmt.Errorf("%w: register %s", ErrUnsupported, name)
			}
			o.list = append(o.list, reg)
		}
		return o, nil
	case strings.HasPrefix(s, "["):
		base, offset, _ := strings.Cut(strings.Trim(s, "[]"), "+")
		o := operand{kind: address, reg: -1}
		if offset != "" {
			v, err := strconv.ParseUint(offset, 0, 32)
			if err != nil {
				return o, err
			}
			o.value = v
		}
		if reg, ok := p.names[base]; ok {
			o.reg = reg
			return o, nil
		}
		at, ok := p.symbols[base]
		if !ok {
			return o, fmt.Errorf("%w: address %s", ErrUnsupported, s)
		}
		o.value += at
		return o, nil
	case strings.HasPrefix(s, "%"):
		if reg, ok := p.names[s]; ok {
			return operand{kind: register, reg: reg}, nil
		}
		return operand{}, fmt.Errorf("%w: register %s", ErrUnsupported, s)
	}
	if at, ok := p.symbols[s]; ok {
		return operand{kind: immediate, value: at}, nil
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return operand{}, fmt.Errorf("%w: operand %s", ErrUnsupported, s)
	}
	return operand{kind: immediate, value: v}, nil
}
