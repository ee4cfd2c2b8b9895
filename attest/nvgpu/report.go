package nvgpu

import (
	"encoding/binary"
	"fmt"

	"github.com/gantry-market/gantry/attest"
)

// Sizes of SPDM 1.1 (DMTF DSP0274, GET_MEASUREMENTS and MEASUREMENTS) and of NVIDIA's use of it, in bytes.
const (
	// MaxReportSize is the buffer that NVML has for a report (NVML_CC_GPU_ATTESTATION_REPORT_SIZE).
	MaxReportSize = 0x2000
	// RequestSize is a whole GET_MEASUREMENTS request: header, nonce, slot.
	RequestSize = 4 + nonceSize + 1
	// SignatureSize is an ECDSA signature over P-384: r and s, 48 bytes each, big-endian.
	SignatureSize = 96

	nonceSize          = 32
	responseHeaderSize = 8
	blockHeaderSize    = 4
	valueHeaderSize    = 3
	maxValueSize       = 64
	minReportSize      = RequestSize + responseHeaderSize + nonceSize + 2 + SignatureSize
)

// Codes of SPDM 1.1 that a report has.
const (
	spdmVersion11       = 0x11
	codeGetMeasurements = 0xe0
	codeMeasurements    = 0x60
	attrSign            = 0x01
	operationAllBlocks  = 0xff
	specDMTF            = 0x01
	slotMask            = 0x0f
	maxSlot             = 7
)

// Block is one measurement of a report.
type Block struct {
	// Index is SPDM's, from 1.
	Index uint8
	// Type is DMTF's: 1 is a digest of mutable firmware.
	Type uint8
	// Value is what was measured, a SHA-384 digest on all GPUs seen.
	Value []byte
}

// Report is a parsed GPU attestation report. Nothing in it is to be believed before [Report.CheckSignature].
type Report struct {
	// Nonce is the challenger's, from the request.
	Nonce [nonceSize]byte
	// DeviceNonce is the GPU's own.
	DeviceNonce [nonceSize]byte
	// Slot of the certificate chain that signs.
	Slot uint8
	// Blocks are the measurements, by ascending index.
	Blocks []Block
	// Opaque is what the GPU says about itself.
	Opaque Opaque

	signed    []byte
	signature [SignatureSize]byte
}

// Block returns the measurement with SPDM's index.
func (r *Report) Block(index uint8) (Block, bool) {
	for _, b := range r.Blocks {
		if b.Index == index {
			return b, true
		}
	}
	return Block{}, false
}

// ParseReport reads a request and its response as NVML returns them: one after the other, nothing before, between or
// after. Every length is checked against what is there, indices and field ids may not repeat, and reserved bytes are as
// the request for a signed report of all measurements has them.
func ParseReport(data []byte) (*Report, error) {
	if len(data) < minReportSize {
		return nil, malformed("report", "%d bytes, a report has at least %d", len(data), minReportSize)
	}
	if len(data) > MaxReportSize {
		return nil, malformed("report", "%d bytes, more than %d", len(data), MaxReportSize)
	}
	r := &Report{signed: data[:len(data)-SignatureSize]}
	copy(r.signature[:], data[len(data)-SignatureSize:])
	if err := r.parseRequest(data[:RequestSize]); err != nil {
		return nil, err
	}
	if err := r.parseResponse(r.signed[RequestSize:]); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Report) parseRequest(b []byte) error {
	if want := [4]byte{spdmVersion11, codeGetMeasurements, attrSign, operationAllBlocks}; [4]byte(b) != want {
		return malformed("request", "header %x, want %x", b[:4], want)
	}
	copy(r.Nonce[:], b[4:])
	r.Slot = b[RequestSize-1]
	if r.Slot > maxSlot {
		return malformed("request", "certificate slot %d, more than %d", r.Slot, maxSlot)
	}
	return nil
}

// parseResponse reads everything of the response but the signature.
func (r *Report) parseResponse(b []byte) error {
	if b[0] != spdmVersion11 || b[1] != codeMeasurements {
		return malformed("response", "header %x, want %02x%02x", b[:2], spdmVersion11, codeMeasurements)
	}
	// Param1 counts measurements only in answers to another question; Param2 is the slot.
	if b[2] != 0 || b[3]&^slotMask != 0 || b[3] != r.Slot {
		return malformed("response", "parameters %x for slot %d", b[2:4], r.Slot)
	}
	count := int(b[4])
	length := int(b[5]) | int(b[6])<<8 | int(b[7])<<16
	rest := b[responseHeaderSize:]
	if length > len(rest)-nonceSize-2 {
		return malformed("response", "measurement record of %d bytes with %d left", length, len(rest))
	}
	blocks, err := parseBlocks(rest[:length], count)
	if err != nil {
		return err
	}
	r.Blocks, rest = blocks, rest[length:]
	copy(r.DeviceNonce[:], rest)
	rest = rest[nonceSize:]
	opaque := int(binary.LittleEndian.Uint16(rest))
	if rest = rest[2:]; opaque != len(rest) {
		return malformed("response", "opaque data of %d bytes with %d left before the signature", opaque, len(rest))
	}
	r.Opaque, err = ParseOpaque(rest)
	return err
}

func parseBlocks(b []byte, count int) ([]Block, error) {
	if count == 0 {
		return nil, malformed("measurements", "none")
	}
	if fit := len(b) / (blockHeaderSize + valueHeaderSize); count > fit {
		return nil, malformed("measurements", "%d blocks in %d bytes", count, len(b))
	}
	blocks := make([]Block, 0, count)
	for i := range count {
		if len(b) < blockHeaderSize+valueHeaderSize {
			return nil, malformed("measurements", "block %d of %d is cut off", i+1, count)
		}
		block := Block{Index: b[0], Type: b[blockHeaderSize]}
		size, value := int(binary.LittleEndian.Uint16(b[2:])), int(binary.LittleEndian.Uint16(b[blockHeaderSize+1:]))
		switch {
		case b[1] != specDMTF:
			return nil, malformed("measurements", "block %d has specification %#02x, want DMTF's", block.Index, b[1])
		case block.Index == 0 || i > 0 && block.Index <= blocks[i-1].Index:
			return nil, malformed("measurements", "block index %d out of order or repeated", block.Index)
		case value == 0 || value > maxValueSize:
			return nil, malformed("measurements", "block %d has a value of %d bytes", block.Index, value)
		case size != value+valueHeaderSize:
			return nil, malformed("measurements", "block %d has %d bytes for a value of %d", block.Index, size, value)
		case size > len(b)-blockHeaderSize:
			return nil, malformed("measurements", "block %d of %d bytes with %d left", block.Index, size, len(b)-blockHeaderSize)
		}
		block.Value = b[blockHeaderSize+valueHeaderSize : blockHeaderSize+size]
		blocks, b = append(blocks, block), b[blockHeaderSize+size:]
	}
	if len(b) != 0 {
		return nil, malformed("measurements", "%d bytes after the last block", len(b))
	}
	return blocks, nil
}

func malformed(what, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", what, fmt.Sprintf(format, args...), attest.ErrMalformed)
}
