package cuda

import (
	"fmt"
	"unsafe"
)

// buffer is memory on the device.
type buffer struct {
	d    *Device
	at   uint64
	size uint64
}

func (d *Device) alloc(size uint64) (*buffer, error) {
	if size == 0 {
		return nil, fmt.Errorf("%w: empty allocation", ErrBounds)
	}
	b := &buffer{d: d, size: size}
	if err := d.lib.driver("cuMemAlloc_v2", uintptr(unsafe.Pointer(&b.at)), uintptr(size)); err != nil {
		return nil, fmt.Errorf("%d bytes: %w", size, err)
	}
	return b, nil
}

// free frees b; a nil or freed one is left alone.
func (b *buffer) free() error {
	if b == nil || b.at == 0 {
		return nil
	}
	at := b.at
	b.at = 0
	return b.d.lib.driver("cuMemFree_v2", uintptr(at))
}

// read copies len(dst) bytes from an offset to the host, after everything launched before.
func (b *buffer) read(dst []byte, offset uint64) error {
	if b.at == 0 {
		return ErrClosed
	}
	if len(dst) == 0 || offset > b.size || b.size-offset < uint64(len(dst)) {
		return fmt.Errorf("%w: %d bytes at %d of %d", ErrBounds, len(dst), offset, b.size)
	}
	return b.d.lib.driver("cuMemcpyDtoH_v2", uintptr(unsafe.Pointer(&dst[0])), uintptr(b.at+offset), uintptr(len(dst)))
}
