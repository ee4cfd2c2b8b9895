package market

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

// flat reports whether values of a type lie in memory as their Borsh text: numbers and arrays of them, one after the other without gaps,
// on a computer that writes the lowest byte first. Then any bytes of the right length are a value, and reading one is a copy: the
// first reading of a large market spends most of its decoding otherwise.
func flat(t reflect.Type) bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && packed(t)
}

func packed(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return true
	case reflect.Array:
		return packed(t.Elem())
	case reflect.Struct:
		var end uintptr
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Offset != end || !packed(f.Type) {
				return false
			}
			end += f.Type.Size()
		}
		return end == t.Size()
	}
	return false // a bool and a pointer have bytes that are no value
}

// copyFlat reads an account whose struct is flat. Error: ErrLayout.
func copyFlat(p parts, body []byte) error {
	v := reflect.ValueOf(p.body)
	size := int(v.Type().Elem().Size())
	if len(body) < size {
		return fmt.Errorf("%w: it has %d bytes of %d", ErrLayout, len(body), size)
	}
	copy(unsafe.Slice((*byte)(v.UnsafePointer()), size), body)
	return checkLayout(len(body)-size, *p.version)
}
