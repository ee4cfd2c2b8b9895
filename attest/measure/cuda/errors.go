package cuda

import (
	"errors"
	"fmt"
	"unsafe"
)

var (
	// ErrClosed: the device or its memory has been closed.
	ErrClosed = errors.New("cuda: closed")
	// ErrUnsupported: the driver or the GPU is too old.
	ErrUnsupported = errors.New("cuda: not supported")
	// ErrBounds: a size or position is out of bounds; a fault of this program.
	ErrBounds = errors.New("cuda: out of bounds")
)

// Error is a failed call of the driver or of cuBLASLt.
type Error struct {
	// Call is the function's name.
	Call string
	// Code is its status.
	Code uint32
	// Name and Text are the driver's for it, "" where it has none.
	Name, Text string
	// Log is what the driver's compiler said, if it was asked.
	Log string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cuda: %s: ", e.Call)
	switch {
	case e.Name != "" && e.Text != "":
		s += fmt.Sprintf("%s (%d): %s", e.Name, e.Code, e.Text)
	case e.Name != "":
		s += fmt.Sprintf("%s (%d)", e.Name, e.Code)
	default:
		s += fmt.Sprintf("status %d", e.Code)
	}
	if e.Log != "" {
		s += ": " + e.Log
	}
	return s
}

// Statuses of the driver that mean something here (cuda.h, CUresult).
const (
	statusNoDevice = 100 // CUDA_ERROR_NO_DEVICE
)

// driver calls a driver function and names its error.
//
//go:uintptrescapes
func (l *library) driver(name string, args ...uintptr) error {
	code := l.call(name, args...)
	if code == 0 {
		return nil
	}
	e := &Error{Call: name, Code: code}
	var p *byte
	if l.call("cuGetErrorName", uintptr(code), uintptr(unsafe.Pointer(&p))) == 0 {
		e.Name = text(p)
	}
	p = nil
	if l.call("cuGetErrorString", uintptr(code), uintptr(unsafe.Pointer(&p))) == 0 {
		e.Text = text(p)
	}
	return e
}

// blasNames are the statuses of cuBLAS (cublas_api.h, cublasStatus_t).
var blasNames = map[uint32]string{
	1: "CUBLAS_STATUS_NOT_INITIALIZED", 3: "CUBLAS_STATUS_ALLOC_FAILED", 7: "CUBLAS_STATUS_INVALID_VALUE",
	8: "CUBLAS_STATUS_ARCH_MISMATCH", 11: "CUBLAS_STATUS_MAPPING_ERROR", 13: "CUBLAS_STATUS_EXECUTION_FAILED",
	14: "CUBLAS_STATUS_INTERNAL_ERROR", 15: "CUBLAS_STATUS_NOT_SUPPORTED", 16: "CUBLAS_STATUS_LICENSE_ERROR",
}

// blas calls a function of cuBLASLt and names its error.
//
//go:uintptrescapes
func (l *library) blas(name string, args ...uintptr) error {
	code := l.call(name, args...)
	if code == 0 {
		return nil
	}
	return &Error{Call: name, Code: code, Name: blasNames[code]}
}
