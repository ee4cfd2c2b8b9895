package nvgpu

import (
	"crypto/x509"
	"encoding/asn1"
	"strings"
)

// Object identifiers in attestation certificates.
var (
	// TCG DICE FWID, in the form of the RIoT CompositeDeviceID that Hopper GPUs have.
	oidFWID = asn1.ObjectIdentifier{2, 23, 133, 5, 4, 1}
	// DMTF SPDM (DSP0274): vendor:product:serial in a subject alternative name.
	oidDeviceInfo = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 412, 274, 1}
	oidSAN        = asn1.ObjectIdentifier{2, 5, 29, 17}
	// The two extensions that may be critical.
	oidBasicConstraints = asn1.ObjectIdentifier{2, 5, 29, 19}
	oidKeyUsage         = asn1.ObjectIdentifier{2, 5, 29, 15}

	oidSHA384 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}
)

const (
	vendor          = "NVIDIA"
	maxExtension    = 1024
	deviceIDVersion = 1
)

// Identity is what an attestation certificate says about its GPU.
type Identity struct {
	// FWID is the SHA-384 digest of the firmware that holds the attestation key.
	FWID [fwidSize]byte
	// Chip, such as "GH100", and Serial are the device's name in the SPDM standard's subject alternative name.
	Chip, Serial string
	// deviceKey is the public key (SubjectPublicKeyInfo) of the device that the firmware runs on.
	deviceKey []byte
}

// compositeDeviceID is the FWID extension: the device's key and the digest of its first firmware.
type compositeDeviceID struct {
	Version  int
	DeviceID asn1.RawValue
	FWID     struct {
		Algorithm asn1.ObjectIdentifier
		Digest    []byte
	}
}

type otherName struct {
	ID    asn1.ObjectIdentifier
	Value asn1.RawValue `asn1:"tag:0"`
}

func parseIdentity(cert *x509.Certificate) (Identity, error) {
	var id Identity
	var err error
	fwids, names := 0, 0
	for _, e := range cert.Extensions {
		switch {
		case len(e.Value) > maxExtension:
			return id, malformed("attestation certificate", "extension %v of %d bytes", e.Id, len(e.Value))
		case e.Id.Equal(oidFWID):
			fwids++
			err = id.parseFWID(e.Value)
		case e.Id.Equal(oidSAN):
			names++
			err = id.parseName(e.Value)
		}
		if err != nil {
			return id, err
		}
	}
	if fwids != 1 || names != 1 {
		return id, malformed("attestation certificate", "%d firmware ids and %d alternative names, want one of each", fwids, names)
	}
	return id, nil
}

func (id *Identity) parseFWID(value []byte) error {
	var c compositeDeviceID
	rest, err := asn1.Unmarshal(value, &c)
	switch {
	case err != nil:
		return malformed("firmware id", "%v", err)
	case len(rest) != 0:
		return malformed("firmware id", "%d bytes after the end", len(rest))
	case c.Version != deviceIDVersion:
		return malformed("firmware id", "version %d, want %d", c.Version, deviceIDVersion)
	case !c.FWID.Algorithm.Equal(oidSHA384):
		return malformed("firmware id", "digest algorithm %v, want SHA-384", c.FWID.Algorithm)
	case len(c.FWID.Digest) != fwidSize:
		return malformed("firmware id", "%d bytes, want %d", len(c.FWID.Digest), fwidSize)
	}
	copy(id.FWID[:], c.FWID.Digest)
	id.deviceKey = c.DeviceID.FullBytes
	return nil
}

func (id *Identity) parseName(value []byte) error {
	var names []asn1.RawValue
	if rest, err := asn1.Unmarshal(value, &names); err != nil || len(rest) != 0 || len(names) != 1 {
		return malformed("alternative name", "not exactly one name")
	}
	var name otherName
	rest, err := asn1.UnmarshalWithParams(names[0].FullBytes, &name, "tag:0")
	if err != nil || len(rest) != 0 {
		return malformed("alternative name", "not another name: %v", err)
	}
	if !name.ID.Equal(oidDeviceInfo) {
		return malformed("alternative name", "of kind %v, want SPDM's device information", name.ID)
	}
	var s string
	if rest, err := asn1.Unmarshal(name.Value.Bytes, &s); err != nil || len(rest) != 0 {
		return malformed("alternative name", "not one text: %v", err)
	}
	parts := strings.Split(s, ":")
	if len(parts) != 3 || parts[0] != vendor {
		return malformed("alternative name", "%.64q, want %s:chip:serial", s, vendor)
	}
	for _, p := range parts[1:] {
		if t, err := text([]byte(p)); err != nil || t != p || p == "" {
			return malformed("alternative name", "%.64q, want %s:chip:serial", s, vendor)
		}
	}
	id.Chip, id.Serial = parts[1], parts[2]
	return nil
}
