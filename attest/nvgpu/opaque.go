package nvgpu

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Field is the id of a field in a report's opaque data. Numbers are NVIDIA's.
type Field uint16

// Fields that this package reads. Others are kept as they are: they are under the signature like these.
const (
	FieldDriver       Field = 3
	FieldVBIOS        Field = 6
	FieldNVDEC0       Field = 11
	FieldChipSKU      Field = 15
	FieldProject      Field = 17
	FieldProjectSKU   Field = 18
	FieldFWID         Field = 20
	FieldProtectedPCI Field = 21
	FieldVersion      Field = 34
	FieldChip         Field = 35
	FieldFeature      Field = 36
)

// Values of one-byte status fields.
const (
	StatusEnabled  = 0xaa
	StatusDisabled = 0x55
)

// Feature is the confidential computing mode that newer drivers state.
type Feature uint8

// Features.
const (
	// FeatureSPT: one GPU passed through to one confidential VM.
	FeatureSPT Feature = 0
	// FeatureMPT: several GPUs passed through, with encrypted NVLink.
	FeatureMPT Feature = 1
	// FeaturePPCIE: protected PCIe; traffic on NVLink is in the clear.
	FeaturePPCIE Feature = 2
)

func (f Feature) String() string {
	switch f {
	case FeatureSPT:
		return "SPT"
	case FeatureMPT:
		return "MPT"
	case FeaturePPCIE:
		return "PPCIE"
	}
	return fmt.Sprintf("feature %d", uint8(f))
}

const (
	fieldHeaderSize = 4
	maxFields       = 64
	maxText         = 32
	fwidSize        = 48
	vbiosSize       = 8
	textLetters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"
)

// Opaque is a report's opaque data: fields by id, each at most once.
type Opaque map[Field][]byte

// ParseOpaque reads type-length-value fields: u16 id, u16 length, value, little-endian. Unknown ids are kept, a second
// field with the same id is refused, and so is a field that this package reads and cannot.
func ParseOpaque(b []byte) (Opaque, error) {
	o := Opaque{}
	for len(b) > 0 {
		if len(b) < fieldHeaderSize {
			return nil, malformed("opaque data", "%d bytes after the last field", len(b))
		}
		id, size := Field(binary.LittleEndian.Uint16(b)), int(binary.LittleEndian.Uint16(b[2:]))
		b = b[fieldHeaderSize:]
		if size > len(b) {
			return nil, malformed("opaque data", "field %d of %d bytes with %d left", id, size, len(b))
		}
		if _, again := o[id]; again {
			return nil, malformed("opaque data", "field %d more than once", id)
		}
		if len(o) == maxFields {
			return nil, malformed("opaque data", "more than %d fields", maxFields)
		}
		o[id], b = b[:size], b[size:]
	}
	return o, o.check()
}

// check refuses fields that have another form than the one known, so that getters need no errors.
func (o Opaque) check() error {
	for _, id := range []Field{FieldDriver, FieldChipSKU, FieldProject, FieldProjectSKU, FieldChip} {
		if b, has := o[id]; has {
			if _, err := text(b); err != nil {
				return malformed("opaque data", "field %d: %v", id, err)
			}
		}
	}
	for id, size := range map[Field]int{FieldNVDEC0: 1, FieldProtectedPCI: 1, FieldFWID: fwidSize, FieldVBIOS: vbiosSize} {
		if b, has := o[id]; has && len(b) != size {
			return malformed("opaque data", "field %d has %d bytes, want %d", id, len(b), size)
		}
	}
	// Not known to be one byte everywhere: a little-endian number, in as many bytes as the firmware likes.
	if b, has := o[FieldFeature]; has && (len(b) == 0 || len(b) > 8 || strings.Trim(string(b[1:]), "\x00") != "") {
		return malformed("opaque data", "feature flag %x", b)
	}
	if b, has := o[FieldVBIOS]; has && (b[5]|b[6]|b[7]) != 0 {
		return malformed("opaque data", "VBIOS version %x has bytes of unknown meaning", b)
	}
	return nil
}

// Text returns a text field, "" if it is not there.
func (o Opaque) Text(id Field) string {
	s, _ := text(o[id])
	return s
}

// Driver is the version of the driver that asked for the report, such as "550.90.07".
func (o Opaque) Driver() string { return o.Text(FieldDriver) }

// VBIOS is the version of the GPU's firmware image, in NVIDIA's notation: "96.00.9F.00.01". "" if not stated.
func (o Opaque) VBIOS() string {
	b, has := o[FieldVBIOS]
	if !has || len(b) != vbiosSize {
		return ""
	}
	return fmt.Sprintf("%02X.%02X.%02X.%02X.%02X", b[3], b[2], b[1], b[0], b[4])
}

// Board names the product that the GPU is on.
func (o Opaque) Board() Board {
	return Board{Project: o.Text(FieldProject), SKU: o.Text(FieldProjectSKU), Chip: o.Text(FieldChipSKU)}
}

// Status returns a one-byte field.
func (o Opaque) Status(id Field) (value byte, has bool) {
	if b := o[id]; len(b) == 1 {
		return b[0], true
	}
	return 0, false
}

// Feature returns the feature flag, which drivers before opaque data version 1 do not state.
func (o Opaque) Feature() (f Feature, has bool) {
	if b := o[FieldFeature]; len(b) > 0 {
		return Feature(b[0]), true
	}
	return 0, false
}

// text reads letters, digits, dots, hyphens and underscores that end with zero bytes. The host's driver has a say in
// these fields, and they become names of collateral and lines for people: nothing else gets in.
func text(b []byte) (string, error) {
	s := strings.TrimRight(string(b), "\x00")
	if len(b) > maxText {
		return "", fmt.Errorf("a text of %d bytes, more than %d", len(b), maxText)
	}
	for _, c := range []byte(s) {
		if !strings.ContainsRune(textLetters, rune(c)) {
			return "", fmt.Errorf("a text with byte %#02x", c)
		}
	}
	return s, nil
}
