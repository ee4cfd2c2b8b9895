package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/class"
)

const (
	// minDriver is CUDA 10.0, whose driver compiles PTX 6.3.
	minDriver = 10_000
	// minCapability is 7.0, the target of the kernels.
	minCapability = 70

	attributeMajor = 75 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor = 76 // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
)

// driverFunctions are all functions of libcuda in use.
var driverFunctions = []string{
	"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
	"cuDeviceTotalMem_v2", "cuDeviceGetUuid", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
	"cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxSynchronize", "cuModuleLoadDataEx", "cuModuleUnload",
	"cuModuleGetFunction", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyDtoH_v2", "cuLaunchKernel",
	"cuGetErrorName", "cuGetErrorString",
}

// Options choose a device.
type Options struct {
	// Driver is the path of libcuda; "" means the system's.
	Driver string
	// BLAS is the path of libcublasLt; "" means the system's, "none" none.
	BLAS string
	// Index of the device.
	Index int
	// StripeBytes is how many bytes of int32 entries a measurement has between a product and the kernel that reads them;
	// 0 means 64 MiB.
	StripeBytes uint64
}

// Info is what the driver says about a device: a claim of this machine.
type Info struct {
	Name       string
	UUID       [16]byte
	Memory     uint64 // bytes
	Capability int    // 90 is 9.0
	Driver     int    // 12040 is 12.4
}

// Profile is what the device is asked for where no market says it: the profile of its class or, for a device that the
// table of classes does not have, one by its size, with 90 % of its memory (docs/protocol/measurement.md).
func (i Info) Profile() measure.Profile {
	if g := class.GPUs().Device("", i.Name); g != nil {
		return g.Profile.Format()
	}
	p := measure.Profile{Order: 8192, Fold: 4, Rows: 1 << 15, ChainMs: 15000, WalkMs: 1500, Lanes: 1 << 15}
	switch {
	case i.Capability >= 100:
		p.Order, p.Fold, p.Rows, p.Lanes = 16384, 2, 1<<18, 1<<17
	case i.Capability >= 90:
		p.Rows, p.Lanes = 1<<18, 1<<17
	case i.Memory >= 40<<30 || i.Capability == 89:
		p.Rows, p.Lanes = 1<<17, 1<<17
	}
	p.Resident = uint32(min(max(i.Memory*9/10/p.SlotBytes(), 1), measure.MaxRounds))
	return p
}

// Device is an open GPU.
type Device struct {
	Info Info

	lib       *library
	ordinal   int32
	context   uintptr
	modules   []uintptr
	functions map[string]uintptr
	stripe    uint64 // Options.StripeBytes

	mu     sync.Mutex
	blas   *blas // nil: the dp4a kernel multiplies
	closed bool
}

// Open opens a device and loads the kernels. Where there is no driver or no such device the error wraps
// [attest.ErrAbsent].
func Open(ctx context.Context, o Options) (*Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("cuda: open: %w", err)
	}
	paths := []string{"libcuda.so.1", "libcuda.so"}
	if o.Driver != "" {
		paths = []string{o.Driver}
	}
	lib, err := openLibrary(paths, driverFunctions)
	if err != nil {
		return nil, fmt.Errorf("cuda: no driver (%w): %w", err, attest.ErrAbsent)
	}
	d := &Device{lib: lib, functions: map[string]uintptr{}, stripe: o.StripeBytes}
	if d.stripe == 0 {
		d.stripe = defaultStripe
	}
	if err := d.find(o.Index); err != nil {
		return nil, err
	}
	if err := lib.driver("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&d.context)), uintptr(d.ordinal)); err != nil {
		return nil, err
	}
	if err := d.do(ctx, d.load); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if o.BLAS != "none" {
		d.blas = d.openBLAS(ctx, o.BLAS)
	}
	return d, nil
}

// find initialises the driver and reads what it says about the device.
func (d *Device) find(index int) error {
	if err := d.lib.driver("cuInit", 0); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == statusNoDevice {
			return fmt.Errorf("%w: %w", err, attest.ErrAbsent)
		}
		return err
	}
	var version, count, major, minor int32
	if err := d.lib.driver("cuDriverGetVersion", uintptr(unsafe.Pointer(&version))); err != nil {
		return err
	}
	if version < minDriver {
		return fmt.Errorf("%w: the driver is for CUDA %d.%d, 10.0 or later is needed", ErrUnsupported, version/1000, version%1000/10)
	}
	if err := d.lib.driver("cuDeviceGetCount", uintptr(unsafe.Pointer(&count))); err != nil {
		return err
	}
	if index < 0 || index >= int(count) {
		return fmt.Errorf("cuda: device %d of %d: %w", index, count, attest.ErrAbsent)
	}
	if err := d.lib.driver("cuDeviceGet", uintptr(unsafe.Pointer(&d.ordinal)), uintptr(index)); err != nil {
		return err
	}
	name := make([]byte, 256)
	if err := d.lib.driver("cuDeviceGetName", uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), uintptr(d.ordinal)); err != nil {
		return err
	}
	var uuid [16]byte
	if err := d.lib.driver("cuDeviceGetUuid", uintptr(unsafe.Pointer(&uuid)), uintptr(d.ordinal)); err != nil {
		return err
	}
	var memory uint64
	if err := d.lib.driver("cuDeviceTotalMem_v2", uintptr(unsafe.Pointer(&memory)), uintptr(d.ordinal)); err != nil {
		return err
	}
	for attribute, v := range map[uintptr]*int32{attributeMajor: &major, attributeMinor: &minor} {
		if err := d.lib.driver("cuDeviceGetAttribute", uintptr(unsafe.Pointer(v)), attribute, uintptr(d.ordinal)); err != nil {
			return err
		}
	}
	d.Info = Info{Name: text(&name[0]), UUID: uuid, Memory: memory, Capability: int(10*major + minor), Driver: int(version)}
	if d.Info.Capability < minCapability {
		return fmt.Errorf("%w: %s has compute capability %d.%d, 7.0 or later is needed", ErrUnsupported, d.Info.Name, major, minor)
	}
	return nil
}

// do runs f on one operating system thread with the device's context current, as the driver wants it, and nothing else
// on the device meanwhile.
func (d *Device) do(ctx context.Context, f func() error) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := d.lib.driver("cuCtxPushCurrent_v2", d.context); err != nil {
		return err
	}
	defer func() {
		var was uintptr
		err = errors.Join(err, d.lib.driver("cuCtxPopCurrent_v2", uintptr(unsafe.Pointer(&was))))
	}()
	return f()
}

// Free returns how much memory is free.
func (d *Device) Free(ctx context.Context) (free uint64, err error) {
	var total uint64
	err = d.do(ctx, func() error {
		return d.lib.driver("cuMemGetInfo_v2", uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, err
}

// Method says what multiplies: "cuBLASLt" or "dp4a".
func (d *Device) Method() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.blas != nil {
		return "cuBLASLt"
	}
	return "dp4a"
}

// DropBLAS makes the dp4a kernel multiply from now on.
func (d *Device) DropBLAS(ctx context.Context) error {
	return d.do(ctx, d.closeBLAS)
}

// Close frees everything but memory that is still open: that is to be closed first.
func (d *Device) Close() error {
	unload := d.do(context.Background(), func() error {
		errs := []error{d.closeBLAS()}
		for _, m := range d.modules {
			errs = append(errs, d.lib.driver("cuModuleUnload", m))
		}
		d.modules = nil
		return errors.Join(errs...)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	return errors.Join(unload, d.lib.driver("cuDevicePrimaryCtxRelease_v2", uintptr(d.ordinal)))
}
