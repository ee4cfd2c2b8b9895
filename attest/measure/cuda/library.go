package cuda

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is a shared library and the functions needed from it.
type library struct {
	path    string
	symbols map[string]uintptr
}

// openLibrary loads the first library that can be found. It is never unloaded: the driver keeps threads of its own, and
// the handle costs nothing.
func openLibrary(paths, symbols []string) (*library, error) {
	// The loader's message belongs to the thread that failed.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first error
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if first == nil {
				first = err // the loader names the file
			}
			continue
		}
		l := &library{path: path, symbols: make(map[string]uintptr, len(symbols))}
		for _, name := range symbols {
			if l.symbols[name], err = purego.Dlsym(handle, name); err != nil {
				return nil, fmt.Errorf("cuda: %s has no %s: %w", path, name, err)
			}
		}
		return l, nil
	}
	return nil, first
}

// call calls a function that returns a status.
//
//go:uintptrescapes
func (l *library) call(name string, args ...uintptr) uint32 {
	status, _, _ := purego.SyscallN(l.symbols[name], args...)
	return uint32(status)
}

// text reads a C string of at most 511 bytes.
func text(p *byte) string {
	if p == nil {
		return ""
	}
	var b []byte
	for i := 0; i < 511; i++ {
		c := *(*byte)(unsafe.Add(unsafe.Pointer(p), i))
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	return string(b)
}
