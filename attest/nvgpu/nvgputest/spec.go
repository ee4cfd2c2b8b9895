package nvgputest

import (
	"crypto/sha512"
	"encoding/binary"
	"fmt"

	"github.com/gantry-market/gantry/attest/nvgpu"
)

// Versions and board of synthetic reports.
const (
	Driver = "550.90.07"
	VBIOS  = "96.00.9F.00.01"
)

// Board of synthetic reports.
var Board = nvgpu.Board{Project: "1010", SKU: "0200", Chip: "882"}

// TLV is a field of opaque data.
type TLV struct {
	ID    nvgpu.Field
	Value []byte
}

// Spec is a report before it is encoded. Lists are encoded as they are, in their order and with what repeats.
type Spec struct {
	Request     [nvgpu.RequestSize]byte
	Blocks      []nvgpu.Block
	DeviceNonce [32]byte
	Opaque      []TLV
	// Tamper, if set, changes the encoded message before it is signed.
	Tamper func(message []byte) []byte
}

// Spec is a healthy GPU's report for the nonce that it is to sign.
func (g *GPU) Spec(nonce [32]byte) Spec {
	s := Spec{Request: nvgpu.Request(nonce), DeviceNonce: [32]byte{'s', 'y', 'n', 't', 'h'}}
	for i := 1; i <= 64; i++ {
		s.Blocks = append(s.Blocks, nvgpu.Block{Index: uint8(i), Type: 1, Value: Measurement(i)})
	}
	s.Opaque = []TLV{
		{nvgpu.FieldVBIOS, []byte{0x00, 0x9f, 0x00, 0x96, 0x01, 0, 0, 0}},
		{nvgpu.FieldChipSKU, []byte(Board.Chip + "\x00\x00")},
		{nvgpu.FieldProject, []byte(Board.Project + "\x00")},
		{nvgpu.FieldProjectSKU, []byte(Board.SKU + "\x00")},
		{nvgpu.FieldDriver, []byte(Driver + "\x00")},
		{nvgpu.FieldNVDEC0, []byte{nvgpu.StatusDisabled}},
		{nvgpu.FieldFWID, g.FWID[:]},
		{nvgpu.FieldProtectedPCI, []byte{nvgpu.StatusDisabled}},
		{nvgpu.FieldVersion, []byte{1}},
		{nvgpu.FieldFeature, []byte{byte(nvgpu.FeatureSPT)}},
	}
	return s
}

// Measurement is what a healthy synthetic GPU has in the block with SPDM's index.
func Measurement(index int) []byte {
	d := sha512.Sum384(fmt.Appendf(nil, "synthetic measurement %d", index))
	return d[:]
}

// Set replaces a field's value, or adds the field.
func (s *Spec) Set(id nvgpu.Field, value []byte) {
	for i := range s.Opaque {
		if s.Opaque[i].ID == id {
			s.Opaque[i].Value = value
			return
		}
	}
	s.Opaque = append(s.Opaque, TLV{id, value})
}

// Remove leaves a field out.
func (s *Spec) Remove(id nvgpu.Field) {
	var kept []TLV
	for _, f := range s.Opaque {
		if f.ID != id {
			kept = append(kept, f)
		}
	}
	s.Opaque = kept
}

func (s Spec) encode() []byte {
	var record, opaque []byte
	for _, b := range s.Blocks {
		record = append(record, b.Index, 1)
		record = binary.LittleEndian.AppendUint16(record, uint16(len(b.Value)+3))
		record = append(record, b.Type)
		record = binary.LittleEndian.AppendUint16(record, uint16(len(b.Value)))
		record = append(record, b.Value...)
	}
	for _, f := range s.Opaque {
		opaque = binary.LittleEndian.AppendUint16(opaque, uint16(f.ID))
		opaque = binary.LittleEndian.AppendUint16(opaque, uint16(len(f.Value)))
		opaque = append(opaque, f.Value...)
	}
	m := append([]byte(nil), s.Request[:]...)
	m = append(m, 0x11, 0x60, 0, s.Request[nvgpu.RequestSize-1], byte(len(s.Blocks)))
	m = append(m, byte(len(record)), byte(len(record)>>8), byte(len(record)>>16))
	m = append(m, record...)
	m = append(m, s.DeviceNonce[:]...)
	m = binary.LittleEndian.AppendUint16(m, uint16(len(opaque)))
	if m = append(m, opaque...); s.Tamper != nil {
		m = s.Tamper(m)
	}
	return m
}
