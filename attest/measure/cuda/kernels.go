package cuda

import (
	"embed"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

//go:embed ptx/*.ptx
var modules embed.FS

// kernels are the entries of each module.
var kernels = map[string][]string{
	"measure.ptx": {"rowkeys", "lanestates", "rows", "cells2", "cells4", "mixleaves", "walk", "trace", "join", "pad"},
	"product.ptx": {"product"},
	"sha256.ptx":  {"pairs"},
}

const (
	jitErrorLog     = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogSize = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
	jitLogBytes     = 4096

	// threads in a block of all kernels but the product's.
	threads = 128
	// maxGrid is the largest number of blocks in x (compute capability 3.0 and later).
	maxGrid = 1<<31 - 1
)

// load compiles the modules.
func (d *Device) load() error {
	for file, names := range kernels {
		ptx, err := modules.ReadFile("ptx/" + file)
		if err != nil {
			return fmt.Errorf("cuda: %w", err)
		}
		module, err := d.compile(append(ptx, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		d.modules = append(d.modules, module)
		for _, name := range names {
			var f uintptr
			cname := append([]byte(name), 0)
			if err := d.lib.driver("cuModuleGetFunction", uintptr(unsafe.Pointer(&f)), module, uintptr(unsafe.Pointer(&cname[0]))); err != nil {
				return fmt.Errorf("%s: %s: %w", file, name, err)
			}
			d.functions[name] = f
		}
	}
	return nil
}

func (d *Device) compile(ptx []byte) (module uintptr, err error) {
	log := make([]byte, jitLogBytes)
	options := []uint32{jitErrorLog, jitErrorLogSize}
	// The driver reads each value from a pointer's own bits.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&log[0])
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogBytes}
	err = d.lib.driver("cuModuleLoadDataEx", uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(&ptx[0])), uintptr(len(options)),
		uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	var e *Error
	if errors.As(err, &e) {
		e.Log = strings.TrimSpace(text(&log[0]))
	}
	return module, err
}

// launch starts a kernel of blocks·size threads.
func (d *Device) launch(name string, gridX, gridY, size uint32, params ...uint64) error {
	if gridX == 0 || gridY == 0 || gridX > maxGrid || gridY > 65_535 {
		return fmt.Errorf("%w: grid of %d by %d", ErrBounds, gridX, gridY)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pointers := make([]unsafe.Pointer, len(params))
	for i := range params {
		pin.Pin(&params[i])
		pointers[i] = unsafe.Pointer(&params[i])
	}
	err := d.lib.driver("cuLaunchKernel", d.functions[name], uintptr(gridX), uintptr(gridY), 1, uintptr(size), 1, 1, 0, 0,
		uintptr(unsafe.Pointer(&pointers[0])), 0)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// launchLine starts a kernel of which each thread does one of count things; count must be its last parameter.
func (d *Device) launchLine(name string, count uint64, params ...uint64) error {
	if count == 0 || count > 1<<31 {
		return fmt.Errorf("%w: %s of %d threads", ErrBounds, name, count)
	}
	return d.launch(name, uint32((count+threads-1)/threads), 1, threads, params...)
}

// wait waits for everything that has been launched.
func (d *Device) wait() error { return d.lib.driver("cuCtxSynchronize") }
