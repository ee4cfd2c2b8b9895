package tpm

import (
	"crypto"
	"encoding/binary"
	"fmt"

	"github.com/google/go-eventlog/register"
	"github.com/google/go-eventlog/tcg"
	"github.com/google/go-tpm/tpm2"

	"github.com/gantry-market/gantry/attest"
)

// LogReport is what an event log says once it was replayed against PCR values. Event types and texts in a log are not
// measured, only digests are: nothing else of it may be believed.
type LogReport struct {
	// Events counts those that belong to explained PCRs.
	Events int
	// Explained are the PCRs whose value is exactly what the log's events give; Untouched those that are zero and have
	// no event; Differs those where the log gives another value or none.
	Explained, Untouched, Differs Selection
	SecureBoot                    SecureBoot
}

// ReplayLog parses an event log and replays it against PCR values of the SHA-256 bank, which the caller has verified.
// Errors wrap [attest.ErrMalformed]; that a value differs is no error, but in the report.
func ReplayLog(log []byte, pcrs PCRs) (LogReport, error) {
	if err := checkLogHeader(log); err != nil {
		return LogReport{}, err
	}
	parsed, err := tcg.ParseEventLog(log, tcg.ParseOpts{})
	if err != nil {
		return LogReport{}, fmt.Errorf("event log: %w: %w", err, attest.ErrMalformed)
	}
	var report LogReport
	for _, pcr := range pcrs.Selection().List() {
		value := pcrs[pcr]
		events, err := parsed.Verify([]register.MR{register.PCR{Index: pcr, Digest: value[:], DigestAlg: crypto.SHA256}})
		switch {
		case err != nil:
			report.Differs |= Select(pcr)
			continue
		case len(events) > 0:
			report.Explained |= Select(pcr)
			report.Events += len(events)
		case value == [pcrSize]byte{}:
			report.Untouched |= Select(pcr)
		default:
			// The library takes a PCR without events as replayed, whatever its value.
			report.Differs |= Select(pcr)
		}
		if pcr == secureBootPCR {
			report.SecureBoot = readSecureBoot(events)
		}
	}
	return report, nil
}

const (
	// sha1Event is the size of the first event without its data: PCR, type, SHA-1 digest, size.
	sha1Event = 4 + 4 + 20 + 4
	// specID is the size of that event's data up to the algorithms: signature, class, version, sizes, count.
	specID = 16 + 4 + 4 + 4
)

// digestSizes are the algorithms that the profile's logs use, with their digests' sizes.
var digestSizes = map[tpm2.TPMAlgID]uint16{
	tpm2.TPMAlgSHA1: 20, tpm2.TPMAlgSHA256: 32, tpm2.TPMAlgSHA384: 48, tpm2.TPMAlgSHA512: 64, 0x12 /* SM3-256 */ : 32,
}

// checkLogHeader bounds the list of algorithms at the log's beginning. The library walks it for every digest and
// allocates for every match, and cuts the algorithms' numbers to eight bits: a hostile list would cost minutes.
func checkLogHeader(log []byte) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("event log: %s: %w", fmt.Sprintf(format, args...), attest.ErrMalformed)
	}
	if len(log) > MaxLog || len(log) < sha1Event+specID {
		return bad("%d bytes", len(log))
	}
	if kind := binary.LittleEndian.Uint32(log[4:]); kind != uint32(tcg.NoAction) || string(log[sha1Event:sha1Event+16]) != "Spec ID Event03\x00" {
		return bad("not in crypto-agile form")
	}
	count := binary.LittleEndian.Uint32(log[sha1Event+24:])
	if count == 0 || int64(count) > int64(len(digestSizes)) || len(log) < sha1Event+specID+4*int(count) {
		return bad("%d algorithms", count)
	}
	seen := map[tpm2.TPMAlgID]bool{}
	for i := range int(count) {
		entry := log[sha1Event+specID+4*i:]
		id, size := tpm2.TPMAlgID(binary.LittleEndian.Uint16(entry)), binary.LittleEndian.Uint16(entry[2:])
		if want, known := digestSizes[id]; !known || size != want || seen[id] {
			return bad("algorithm %#x of %d bytes is unknown, of another size, or there twice", uint16(id), size)
		}
		seen[id] = true
	}
	return nil
}
