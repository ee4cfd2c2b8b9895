package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Constants of cuBLASLt and the CUDA library types (cublasLt.h, cublas_api.h, library_types.h), which are part of its
// ABI.
const (
	typeInt8       = 3  // CUDA_R_8I
	typeInt32      = 10 // CUDA_R_32I
	computeInt32   = 72 // CUBLAS_COMPUTE_32I
	transpose      = 1  // CUBLAS_OP_T
	descTransposeA = 3  // CUBLASLT_MATMUL_DESC_TRANSA
	preferBytes    = 1  // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

	blasScratch = 32 << 20
)

var blasFunctions = []string{
	"cublasLtCreate", "cublasLtDestroy", "cublasLtMatmulDescCreate", "cublasLtMatmulDescDestroy", "cublasLtMatmulDescSetAttribute",
	"cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutDestroy", "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceDestroy",
	"cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul",
}

// blas is an open cuBLASLt.
type blas struct {
	d       *Device
	lib     *library
	handle  uintptr
	scratch *buffer
}

// blasPaths are where the system's library is looked for.
var blasPaths = []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}

// FindBLAS loads the system's cuBLASLt, without which a device multiplies by the dp4a kernel: an H100 then reaches a tenth of
// its class. Error: the loader's, for a library that is missing or lacks a function.
func FindBLAS() error {
	_, err := openLibrary(blasPaths, blasFunctions)
	return err
}

// openBLAS returns nil where the library is not installed or does not work: the dp4a kernel does without it.
func (d *Device) openBLAS(ctx context.Context, path string) *blas {
	paths := blasPaths
	if path != "" {
		paths = []string{path}
	}
	lib, err := openLibrary(paths, blasFunctions)
	if err != nil {
		return nil
	}
	b := &blas{d: d, lib: lib}
	err = d.do(ctx, func() (err error) {
		if err := lib.blas("cublasLtCreate", uintptr(unsafe.Pointer(&b.handle))); err != nil {
			return err
		}
		if b.scratch, err = d.alloc(blasScratch); err != nil {
			return errors.Join(err, lib.blas("cublasLtDestroy", b.handle))
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return b
}

// closeBLAS frees the library's handle and memory; the context must be current.
func (d *Device) closeBLAS() error {
	b := d.blas
	if b == nil {
		return nil
	}
	d.blas = nil
	return errors.Join(b.scratch.free(), b.lib.blas("cublasLtDestroy", b.handle))
}

// heuristic is cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm [8]uint64
	workspace uint64
	state     uint32
	waves     float32
	reserved  [4]int32
}

// blasPlan is everything prepared for products of rows of n entries with matrices of order n.
type blasPlan struct {
	b                         *blas
	n, rows                   uint64
	desc, columns, left, prod uintptr
	choice                    heuristic
}

// plan prepares products. cuBLASLt counts by columns, so the product that it is asked for is the transposed one: Cᵀ =
// Bᵀ·Aᵀ. B lies column by column, which is B itself and is to be transposed; A lies row by row, which is Aᵀ. This is
// the only arrangement in which int8 tensor cores work.
func (b *blas) plan(n, rows uint64) (*blasPlan, error) {
	p := &blasPlan{b: b, n: n, rows: rows}
	if err := p.prepare(); err != nil {
		return nil, errors.Join(err, p.free())
	}
	return p, nil
}

func (p *blasPlan) prepare() error {
	lib := p.b.lib
	if err := lib.blas("cublasLtMatmulDescCreate", uintptr(unsafe.Pointer(&p.desc)), computeInt32, typeInt32); err != nil {
		return err
	}
	op := int32(transpose)
	if err := lib.blas("cublasLtMatmulDescSetAttribute", p.desc, descTransposeA, uintptr(unsafe.Pointer(&op)), 4); err != nil {
		return err
	}
	n, rows := uintptr(p.n), uintptr(p.rows)
	for _, l := range []struct {
		to   *uintptr
		kind uintptr
		wide uintptr
	}{{&p.columns, typeInt8, n}, {&p.left, typeInt8, rows}, {&p.prod, typeInt32, rows}} {
		if err := lib.blas("cublasLtMatrixLayoutCreate", uintptr(unsafe.Pointer(l.to)), l.kind, n, l.wide, n); err != nil {
			return err
		}
	}
	return p.choose()
}

// choose asks for the best algorithm within the scratch memory.
func (p *blasPlan) choose() (err error) {
	lib := p.b.lib
	var preference uintptr
	if err := lib.blas("cublasLtMatmulPreferenceCreate", uintptr(unsafe.Pointer(&preference))); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lib.blas("cublasLtMatmulPreferenceDestroy", preference)) }()
	limit := p.b.scratch.size
	if err := lib.blas("cublasLtMatmulPreferenceSetAttribute", preference, preferBytes, uintptr(unsafe.Pointer(&limit)), 8); err != nil {
		return err
	}
	var found int32
	err = lib.blas("cublasLtMatmulAlgoGetHeuristic", p.b.handle, p.desc, p.columns, p.left, p.prod, p.prod, preference, 1,
		uintptr(unsafe.Pointer(&p.choice)), uintptr(unsafe.Pointer(&found)))
	if err != nil {
		return err
	}
	if found < 1 || p.choice.state != 0 || p.choice.workspace > limit {
		return fmt.Errorf("%w: cuBLASLt has no int8 product of this order", ErrUnsupported)
	}
	return nil
}

// run launches C = A·B.
func (p *blasPlan) run(left, columns, c uint64) error {
	b := p.b
	var pin runtime.Pinner
	defer pin.Unpin()
	one, zero := new(int32), new(int32)
	*one = 1
	pin.Pin(one)
	pin.Pin(zero)
	return b.lib.blas("cublasLtMatmul", b.handle, p.desc, uintptr(unsafe.Pointer(one)),
		uintptr(columns), p.columns, uintptr(left), p.left, uintptr(unsafe.Pointer(zero)),
		uintptr(c), p.prod, uintptr(c), p.prod,
		uintptr(unsafe.Pointer(&p.choice.algorithm)), uintptr(b.scratch.at), uintptr(b.scratch.size), 0)
}

// free frees what was prepared; nil is left alone.
func (p *blasPlan) free() error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, x := range []struct {
		call   string
		handle *uintptr
	}{
		{"cublasLtMatrixLayoutDestroy", &p.prod},
		{"cublasLtMatrixLayoutDestroy", &p.left},
		{"cublasLtMatrixLayoutDestroy", &p.columns},
		{"cublasLtMatmulDescDestroy", &p.desc},
	} {
		if *x.handle != 0 {
			errs = append(errs, p.b.lib.blas(x.call, *x.handle))
			*x.handle = 0
		}
	}
	return errors.Join(errs...)
}
