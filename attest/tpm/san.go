package tpm

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Attributes of the TPM that its certificate describes: TCG EK credential profile 2.5, section 3.2.9.
var (
	oidTPMManufacturer = asn1.ObjectIdentifier{2, 23, 133, 2, 1}
	oidTPMModel        = asn1.ObjectIdentifier{2, 23, 133, 2, 2}
	oidTPMVersion      = asn1.ObjectIdentifier{2, 23, 133, 2, 3}
)

// maxAttribute bounds what is kept of a certificate's text.
const maxAttribute = 64

// readAltName reads the subject alternative name: a directory name with the TPM's manufacturer, model and version.
// Other forms of names say nothing about a TPM and are left alone.
func (ek *EK) readAltName(der []byte) error {
	var names []asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &names); err != nil || len(rest) > 0 {
		return errors.New("not a sequence of names")
	}
	const directoryName = 4
	for _, name := range names {
		if name.Class != asn1.ClassContextSpecific || name.Tag != directoryName {
			continue
		}
		var rdns pkix.RDNSequence
		if rest, err := asn1.Unmarshal(name.Bytes, &rdns); err != nil || len(rest) > 0 {
			return errors.New("directory name cannot be read")
		}
		for _, set := range rdns {
			for _, attribute := range set {
				if err := ek.readAttribute(attribute); err != nil {
					return err
				}
			}
		}
	}
	if ek.Manufacturer == "" || ek.Model == "" || ek.Version == "" {
		return errors.New("manufacturer, model or version of the TPM is missing")
	}
	return nil
}

func (ek *EK) readAttribute(a pkix.AttributeTypeAndValue) error {
	var field *string
	switch {
	case a.Type.Equal(oidTPMManufacturer):
		field = &ek.Manufacturer
	case a.Type.Equal(oidTPMModel):
		field = &ek.Model
	case a.Type.Equal(oidTPMVersion):
		field = &ek.Version
	default:
		return nil
	}
	text, ok := a.Value.(string)
	if !ok || text == "" || len(text) > maxAttribute {
		return fmt.Errorf("attribute %s is not a text of 1 to %d bytes", a.Type, maxAttribute)
	}
	if *field != "" {
		return fmt.Errorf("attribute %s is there twice", a.Type)
	}
	*field = text
	return nil
}

// describe is the TPM in words, such as "IFX SLB9670 id:0710".
func (ek EK) describe() string {
	return strings.Join([]string{vendor(ek.Manufacturer), printable(ek.Model), printable(ek.Version)}, " ")
}

// vendor turns "id:49465800" into "IFX": the TCG vendor registry writes four ASCII characters in hexadecimal.
func vendor(s string) string {
	if id, ok := strings.CutPrefix(s, "id:"); ok {
		raw, err := hex.DecodeString(id)
		if text := strings.TrimRight(string(raw), "\x00 "); err == nil && len(raw) == 4 && text != "" && text == printable(text) {
			return text
		}
	}
	return printable(s)
}

// printable keeps what a terminal can be shown without harm.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

// checkDirectoryAttributes wants a sequence of attributes (RFC 5280, 4.2.1.8). The profile puts the TPM specification's
// family and revision there, which no decision depends on.
func checkDirectoryAttributes(der []byte) error {
	var attributes []struct {
		Type   asn1.ObjectIdentifier
		Values asn1.RawValue
	}
	if rest, err := asn1.Unmarshal(der, &attributes); err != nil || len(rest) > 0 || len(attributes) == 0 {
		return errors.New("not a sequence of attributes")
	}
	return nil
}
