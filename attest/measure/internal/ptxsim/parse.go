// Package ptxsim executes the subset of PTX that package ptxgen writes, on the processor, for tests: what the kernels
// compute is tested without a GPU. It is an interpreter of the language's semantics ("Parallel Thread Execution ISA"),
// not a model of any hardware: it knows nothing about speed, caches or scheduling.
package ptxsim

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ErrUnsupported is returned for PTX outside of the subset.
var ErrUnsupported = errors.New("ptxsim: unsupported PTX")

// Kernel is one entry of a module.
type Kernel struct {
	Name   string
	Params int // each 64 bits wide

	code   []instruction
	regs   int
	values []uint64 // of the registers that hold immediate operands, after the others
	shared int
	consts []byte
}

// instruction is decoded once and executed many times.
type instruction struct {
	op     string // opcode with its type suffixes
	guard  int    // register of the predicate, −1 without
	negate bool
	args   []operand
	target int // of a branch
	line   int

	// Decoded when the entry is complete.
	kind   instructionKind
	f      func(a, b, c, d uint64) uint64
	dst    int
	src    [4]int // registers, of constants where the operand is immediate
	memory access
}

type instructionKind uint8

const (
	compute instructionKind = iota
	move                    // a load or a store
	branch
	barrier
	leave
)

type operandKind uint8

const (
	register operandKind = iota
	immediate
	vector
	address // register or symbol plus offset
)

// specials are registers that a thread finds set.
var specials = [9]string{"%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.x", "%ntid.y", "%ntid.z"}

type operand struct {
	kind  operandKind
	reg   int
	value uint64
	list  []int
}

var (
	entryStart = regexp.MustCompile(`^\.visible \.entry (\w+)\($`)
	constStart = regexp.MustCompile(`^\.const \.align 4 \.u32 (\w+)\[(\d+)\] = \{$`)
	sharedDecl = regexp.MustCompile(`^\.shared \.align 16 \.b32 (\w+)\[(\d+)\]$`)
	labelLine  = regexp.MustCompile(`^(\w+):$`)
)

// parser holds what is known while a module is read.
type parser struct {
	kernels map[string]*Kernel
	consts  []byte
	symbols map[string]uint64 // constants and shared arrays

	current *Kernel
	names   map[string]int
	labels  map[string]int
	jumps   []string
}

// Parse reads a module.
func Parse(text string) (map[string]*Kernel, error) {
	p := &parser{kernels: map[string]*Kernel{}, symbols: map[string]uint64{}}
	inConst := false
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line == "{" || line == ")" || strings.HasPrefix(line, ".version") ||
			strings.HasPrefix(line, ".target") || strings.HasPrefix(line, ".address_size"):
		case constStart.MatchString(line):
			p.symbols[constStart.FindStringSubmatch(line)[1]] = uint64(len(p.consts))
			inConst = true
		case inConst:
			if line == "};" {
				inConst = false
				continue
			}
			if err := p.constants(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		default:
			if err := p.line(line, i+1); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	for _, k := range p.kernels {
		k.consts = p.consts
	}
	return p.kernels, nil
}

func (p *parser) constants(line string) error {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		v, err := strconv.ParseUint(word, 0, 32)
		if err != nil {
			return err
		}
		p.consts = append(p.consts, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return nil
}

func (p *parser) line(line string, number int) error {
	if m := entryStart.FindStringSubmatch(line); m != nil {
		p.current = &Kernel{Name: m[1]}
		p.kernels[m[1]] = p.current
		p.names, p.labels, p.jumps = map[string]int{}, map[string]int{}, nil
		for i, name := range specials {
			p.names[name] = i
		}
		p.current.regs = len(specials)
		return nil
	}
	if p.current == nil {
		return fmt.Errorf("%w: %q outside of an entry", ErrUnsupported, line)
	}
	if strings.HasPrefix(line, ".param .u64 ") {
		p.symbols[strings.Trim(line[len(".param .u64 "):], ",")] = uint64(p.current.Params)
		p.current.Params++
		return nil
	}
	if m := labelLine.FindStringSubmatch(line); m != nil {
		p.labels[m[1]] = len(p.current.code)
		return nil
	}
	if line == "}" {
		return p.finish()
	}
	statement, ok := strings.CutSuffix(line, ";")
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnsupported, line)
	}
	if m := sharedDecl.FindStringSubmatch(statement); m != nil {
		words, err := strconv.Atoi(m[2])
		if err != nil {
			return err
		}
		p.symbols[m[1]] = uint64(p.current.shared)
		p.current.shared += 4 * words
		return nil
	}
	if strings.HasPrefix(statement, ".reg ") {
		_, names, _ := strings.Cut(statement[len(".reg "):], " ")
		for _, name := range strings.Split(names, ", ") {
			p.names[name] = p.current.regs
			p.current.regs++
		}
		return nil
	}
	return p.instruction(statement, number)
}

func (p *parser) instruction(statement string, number int) error {
	in := instruction{guard: -1, line: number}
	if strings.HasPrefix(statement, "@") {
		guard, rest, _ := strings.Cut(statement[1:], " ")
		guard, in.negate = strings.CutPrefix(guard, "!")
		reg, ok := p.names[guard]
		if !ok {
			return fmt.Errorf("%w: predicate %s", ErrUnsupported, guard)
		}
		in.guard, statement = reg, rest
	}
	var args string
	in.op, args, _ = strings.Cut(statement, " ")
	if in.op == "bra" {
		p.jumps = append(p.jumps, args)
		in.target = len(p.jumps) - 1
	} else {
		for _, arg := range splitArgs(args) {
			o, err := p.operand(arg)
			if err != nil {
				return err
			}
			in.args = append(in.args, o)
		}
	}
	if !known(in.op) {
		return fmt.Errorf("%w: %s", ErrUnsupported, in.op)
	}
	p.current.code = append(p.current.code, in)
	return nil
}

// finish resolves the labels of an entry.
func (p *parser) finish() error {
	for i := range p.current.code {
		in := &p.current.code[i]
		if in.op != "bra" {
			continue
		}
		target, ok := p.labels[p.jumps[in.target]]
		if !ok {
			return fmt.Errorf("%w: no label %s", ErrUnsupported, p.jumps[in.target])
		}
		in.target = target
	}
	for i := range p.current.code {
		if err := p.current.decode(&p.current.code[i]); err != nil {
			return err
		}
	}
	p.current = nil
	return nil
}
