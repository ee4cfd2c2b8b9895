// Package ptxgen writes the PTX of the GPU kernels, so that no one needs a CUDA toolkit to build the project. The
// result is committed in cuda/ptx; a test fails when it is not what this package writes. PTX is specified in NVIDIA's
// "Parallel Thread Execution ISA"; the target is sm_70 and every later architecture, for which the driver compiles it.
//
// All kernel parameters are 64 bits wide, which keeps their passing simple.
package ptxgen

import (
	"fmt"
	"strings"
)

// header opens every module. Version 6.3 of the ISA came with CUDA 10.
const header = `// Written by internal/ptxgen; do not edit. Update: go test ./attest/measure/internal/ptxgen -update
.version 6.3
.target sm_70
.address_size 64
`

// source collects the lines of a module.
type source struct{ b strings.Builder }

func (s *source) f(format string, args ...any) {
	fmt.Fprintf(&s.b, format+"\n", args...)
}

// op writes an indented instruction.
func (s *source) op(format string, args ...any) { s.f("\t"+format+";", args...) }

// label writes a label.
func (s *source) label(name string) { s.f("%s:", name) }

// note writes a comment.
func (s *source) note(format string, args ...any) { s.f("\t// "+format, args...) }

// entry opens a kernel with named 64-bit parameters, which it loads into registers of the same names.
func (s *source) entry(name, comment string, params ...string) {
	s.f("\n// %s", strings.ReplaceAll(comment, "\n", "\n// "))
	decl := make([]string, len(params))
	for i, p := range params {
		decl[i] = "\t.param .u64 p_" + p
	}
	s.f(".visible .entry %s(\n%s\n)\n{", name, strings.Join(decl, ",\n"))
	s.op(".reg .b64 %%%s", strings.Join(params, ", %"))
	for _, p := range params {
		s.op("ld.param.u64 %%%s, [p_%s]", p, p)
	}
}

// regs declares 32-bit registers.
func (s *source) regs(names ...string) { s.op(".reg .b32 %%%s", strings.Join(names, ", %")) }

// regs64 declares 64-bit registers.
func (s *source) regs64(names ...string) { s.op(".reg .b64 %%%s", strings.Join(names, ", %")) }

// preds declares predicates.
func (s *source) preds(names ...string) { s.op(".reg .pred %%%s", strings.Join(names, ", %")) }

func (s *source) end() {
	s.op("ret")
	s.f("}")
}

// numbered returns name0 … name(count−1).
func numbered(name string, count int) []string {
	out := make([]string, count)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", name, i)
	}
	return out
}

// index writes the global thread index to register dst and leaves the kernel where it is at or above the 64-bit
// register limit. It needs registers x0, x1 and predicate p.
func (s *source) index(dst, limit string) {
	s.op("mov.u32 %%x0, %%ctaid.x")
	s.op("mov.u32 %%x1, %%ntid.x")
	s.op("mov.u32 %%%s, %%tid.x", dst)
	s.op("mad.lo.u32 %%%s, %%x0, %%x1, %%%s", dst, dst)
	s.op("cvt.u32.u64 %%x0, %%%s", limit)
	s.op("setp.ge.u32 %%p, %%%s, %%x0", dst)
	s.op("@%%p bra DONE")
}

// swap reverses the bytes of a register.
func (s *source) swap(dst, src string) { s.op("prmt.b32 %%%s, %%%s, 0, 0x0123", dst, src) }

// load4 loads 4·count words from the address in a 64-bit register plus off.
func (s *source) load4(dst string, first, count int, addr string, off int) {
	for i := range count {
		k := first + 4*i
		s.op("ld.global.v4.u32 {%%%s%d, %%%s%d, %%%s%d, %%%s%d}, [%%%s+%d]", dst, k, dst, k+1, dst, k+2, dst, k+3, addr, off+16*i)
	}
}

// store8 stores eight registers.
func (s *source) store8(addr, src string) {
	for i := range 2 {
		k := 4 * i
		s.op("st.global.v4.u32 [%%%s+%d], {%%%s%d, %%%s%d, %%%s%d, %%%s%d}", addr, 16*i, src, k, src, k+1, src, k+2, src, k+3)
	}
}

// Modules are the files of cuda/ptx and their contents.
func Modules() map[string]string {
	return map[string]string{"measure.ptx": measurement(), "product.ptx": product(), "sha256.ptx": sha256Module()}
}
