package tpm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"github.com/google/go-eventlog/tcg"
)

// secureBootPCR is where firmware measures Secure Boot's state: TCG PC Client firmware profile, section 3.3.4.8.
const secureBootPCR = 7

const (
	maxSecureBootEvents = 1024
	maxVariableName     = 256
)

// SecureBoot is the state in which the firmware started the boot loader.
type SecureBoot struct {
	// Known is false where the log does not settle it; Why says so.
	Known, Enabled bool
	Why            string
}

// globalVariable is EFI_GLOBAL_VARIABLE, 8be4df61-93ca-11d2-aa0d-00e098032b8c, as it lies in memory.
var globalVariable = [16]byte{0x61, 0xdf, 0xe4, 0x8b, 0xca, 0x93, 0xd2, 0x11, 0xaa, 0x0d, 0x00, 0xe0, 0x98, 0x03, 0x2b, 0x8c}

// readSecureBoot looks for the SecureBoot variable among PCR 7's events, which were replayed. Whoever runs the machine
// writes the log, may relabel events, and may extend the PCR after the boot; they cannot choose the digests of what the
// firmware measured before. So up to the separator, which ends the firmware's part, every event must carry the data
// that its digest is of, and there must be one separator and one such variable.
func readSecureBoot(events []tcg.Event) SecureBoot {
	unknown := func(format string, args ...any) SecureBoot { return SecureBoot{Why: fmt.Sprintf(format, args...)} }
	if len(events) == 0 {
		return unknown("the log has no events of PCR %d", secureBootPCR)
	}
	if len(events) > maxSecureBootEvents {
		return unknown("the log has %d events of PCR %d", len(events), secureBootPCR)
	}
	separator := sha256.Sum256(make([]byte, 4))
	failed := sha256.Sum256([]byte{0xff, 0xff, 0xff, 0xff})
	var state, ended bool
	seen := map[string]bool{}
	for i, e := range events {
		if bytes.Equal(e.Digest, failed[:]) {
			return unknown("event %d is an error separator", i)
		}
		isSeparator := bytes.Equal(e.Digest, separator[:])
		if isSeparator != (e.Type == tcg.Separator) || isSeparator && ended {
			return unknown("event %d is a separator by its type or by its digest, but not once and by both", i)
		}
		if isSeparator {
			ended = true
		}
		if ended {
			continue
		}
		if sum := sha256.Sum256(e.Data); !bytes.Equal(sum[:], e.Digest) {
			return unknown("event %d does not carry what was measured", i)
		}
		switch e.Type {
		case tcg.EFIVariableDriverConfig:
			name, value, err := parseVariable(e.Data)
			if err != nil {
				return unknown("event %d: %v", i, err)
			}
			if seen[name] {
				return unknown("event %d: a variable is there twice", i)
			}
			seen[name] = true
			if name != secureBootName {
				continue
			}
			if len(value) != 1 || value[0] > 1 {
				return unknown("event %d: the variable has value %x", i, value)
			}
			state = value[0] == 1
		case tcg.EFIAction:
			if string(e.Data) != "DMA Protection Disabled" {
				return unknown("event %d: firmware action %q", i, printable(string(e.Data[:min(len(e.Data), maxAttribute)])))
			}
		default:
			return unknown("event %d of type %#x is not one of Secure Boot's", i, uint32(e.Type))
		}
	}
	if !ended {
		return unknown("the log has no separator in PCR %d", secureBootPCR)
	}
	if !seen[secureBootName] {
		return unknown("the log has no SecureBoot variable")
	}
	return SecureBoot{Known: true, Enabled: state}
}

var secureBootName = string(globalVariable[:]) + "SecureBoot"

// parseVariable reads a UEFI_VARIABLE_DATA: GUID, name length u64 in characters, data length u64, name in UTF-16, data.
// The name comes back behind its GUID.
func parseVariable(data []byte) (name string, value []byte, err error) {
	const header = 16 + 8 + 8
	if len(data) < header {
		return "", nil, fmt.Errorf("variable of %d bytes", len(data))
	}
	nameLength, dataLength := binary.LittleEndian.Uint64(data[16:]), binary.LittleEndian.Uint64(data[24:])
	rest := uint64(len(data) - header)
	if nameLength > maxVariableName || 2*nameLength > rest || dataLength != rest-2*nameLength {
		return "", nil, fmt.Errorf("variable of %d bytes with a name of %d and %d bytes of data", len(data), nameLength, dataLength)
	}
	units := make([]uint16, nameLength)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(data[header+2*i:])
	}
	return string(data[:16]) + string(utf16.Decode(units)), data[header+2*len(units):], nil
}
