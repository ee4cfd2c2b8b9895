package image

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// errPE: not an executable of UEFI as this package understands it.
var errPE = errors.New("not an executable of UEFI for 64 bits")

// Places in an executable ("PE/COFF" of Microsoft, with an optional header for 64 bits).
const (
	peAt           = 0x3c // holds where the header begins
	peMagic        = 0x20b
	fileHeader     = 24 // with the signature "PE\0\0"
	sectionHeader  = 40
	sectionName    = 8
	sectionsAt     = 6   // of the file header: how many sections
	optionalSizeAt = 20  // of the file header
	dataSizeAt     = 8   // of the optional header: bytes of initialised data
	alignmentAt    = 32  // of sections in memory
	fileAlignAt    = 36  // of sections in the file
	imageSizeAt    = 56  // in memory
	headersSizeAt  = 60  // with padding
	checksumAt     = 64  // of the file, which signatures do not cover
	signaturesAt   = 144 // where signatures are, and their size
	readOnlyData   = 0x40000040
)

// section is one of an executable's.
type section struct {
	name                                     string
	virtualSize, address, rawSize, rawOffset uint32
}

// executable is the file with what is known of it.
type executable struct {
	data                            []byte
	header, optional, table         int // places
	alignment, fileAlign, headerEnd uint32
	sections                        []section
}

func parsePE(data []byte) (*executable, error) {
	le := binary.LittleEndian
	if len(data) < peAt+4 {
		return nil, errPE
	}
	x := &executable{data: data, header: int(le.Uint32(data[peAt:]))}
	x.optional = x.header + fileHeader
	if x.header < 0 || x.optional+signaturesAt+8 > len(data) || string(data[x.header:x.header+4]) != "PE\x00\x00" || le.Uint16(data[x.optional:]) != peMagic {
		return nil, errPE
	}
	x.table = x.optional + int(le.Uint16(data[x.header+optionalSizeAt:]))
	x.alignment, x.fileAlign = le.Uint32(data[x.optional+alignmentAt:]), le.Uint32(data[x.optional+fileAlignAt:])
	x.headerEnd = le.Uint32(data[x.optional+headersSizeAt:])
	n := int(le.Uint16(data[x.header+sectionsAt:]))
	if x.alignment == 0 || x.fileAlign == 0 || int(x.headerEnd) > len(data) || x.table+n*sectionHeader > int(x.headerEnd) {
		return nil, errPE
	}
	for i := range n {
		h := data[x.table+i*sectionHeader:]
		s := section{
			name: string(bytes.TrimRight(h[:sectionName], "\x00")), virtualSize: le.Uint32(h[8:]), address: le.Uint32(h[12:]),
			rawSize: le.Uint32(h[16:]), rawOffset: le.Uint32(h[20:]),
		}
		if uint64(s.rawOffset)+uint64(s.rawSize) > uint64(len(data)) {
			return nil, fmt.Errorf("section %s reaches beyond the file: %w", s.name, errPE)
		}
		x.sections = append(x.sections, s)
	}
	return x, nil
}

// content is what a section has in memory.
func (x *executable) content(name string) ([]byte, bool) {
	for _, s := range x.sections {
		if s.name == name {
			return x.data[s.rawOffset : s.rawOffset+min(s.virtualSize, s.rawSize)], true
		}
	}
	return nil, false
}

// authenticode is the digest that a firmware measures and that signatures cover: of all but the checksum and the signatures.
func (x *executable) authenticode() ([32]byte, error) {
	le := binary.LittleEndian
	h := sha256.New()
	checksum, signatures := x.optional+checksumAt, x.optional+signaturesAt
	h.Write(x.data[:checksum])
	h.Write(x.data[checksum+4 : signatures])
	h.Write(x.data[signatures+8 : x.headerEnd])
	sum := uint64(x.headerEnd)
	for _, s := range slices.SortedFunc(slices.Values(x.sections), func(a, b section) int { return cmp.Compare(a.rawOffset, b.rawOffset) }) {
		h.Write(x.data[s.rawOffset : s.rawOffset+s.rawSize])
		sum += uint64(s.rawSize)
	}
	end := uint64(len(x.data)) - uint64(le.Uint32(x.data[signatures+4:]))
	if end > uint64(len(x.data)) {
		return [32]byte{}, fmt.Errorf("signatures are larger than the file: %w", errPE)
	}
	if sum < end {
		h.Write(x.data[sum:end])
	}
	return [32]byte(h.Sum(nil)), nil
}

// add returns the file with more sections of read-only data. A signed file is refused, since its signatures would not cover them.
func (x *executable) add(more []namedData) ([]byte, error) {
	le := binary.LittleEndian
	n := len(x.sections)
	if x.table+(n+len(more))*sectionHeader > int(x.headerEnd) {
		return nil, fmt.Errorf("its header has no room for %d sections more: %w", len(more), errPE)
	}
	if le.Uint64(x.data[x.optional+signaturesAt:]) != 0 {
		return nil, fmt.Errorf("it is signed: %w", errPE)
	}
	last := slices.MaxFunc(x.sections, func(a, b section) int { return cmp.Compare(a.address, b.address) })
	address := up(last.address+last.virtualSize, x.alignment)
	out := slices.Clone(x.data)
	out = append(out, make([]byte, int(up(uint32(len(out)), x.fileAlign))-len(out))...)
	for i, s := range more {
		if len(s.name) > sectionName {
			return nil, fmt.Errorf("name of section %s: %w", s.name, errPE)
		}
		size, raw := uint32(len(s.data)), up(uint32(len(s.data)), x.fileAlign)
		h := out[x.table+(n+i)*sectionHeader:][:sectionHeader]
		clear(h)
		copy(h, s.name)
		for at, v := range map[int]uint32{8: size, 12: address, 16: raw, 20: uint32(len(out)), 36: readOnlyData} {
			le.PutUint32(h[at:], v)
		}
		out = append(out, s.data...)
		out = append(out, make([]byte, raw-size)...)
		address = up(address+size, x.alignment)
		le.PutUint32(out[x.optional+dataSizeAt:], le.Uint32(out[x.optional+dataSizeAt:])+raw)
	}
	le.PutUint16(out[x.header+sectionsAt:], uint16(n+len(more)))
	le.PutUint32(out[x.optional+imageSizeAt:], address)
	le.PutUint32(out[x.optional+checksumAt:], 0)
	return out, nil
}

// namedData is a section to be.
type namedData struct {
	name string
	data []byte
}

func up(n, to uint32) uint32 { return (n + to - 1) / to * to }
