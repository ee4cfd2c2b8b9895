package control

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// SealedOutput begins the output of a job whose records are sealed, as a machine keeps it: each record follows, after its length, u32be.
const SealedOutput = "\x00gantry-sealed-1\n"

// maxRecord is the longest sealed record, bytes.
const maxRecord = 1 << 20

// ErrFrames: what a machine has kept does not consist of sealed records.
var ErrFrames = errors.New("the output does not consist of sealed records")

// AppendFrame adds a sealed record to output as a machine keeps it.
func AppendFrame(to, sealed []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(sealed))), sealed...)
}

// Frames splits such output into its records, piece by piece. The zero value is at its beginning.
type Frames struct {
	rest  []byte
	begun bool
}

// Add takes the next piece and returns the records that are whole with it. Error: ErrFrames.
func (f *Frames) Add(piece []byte) (records [][]byte, err error) {
	f.rest = append(f.rest, piece...)
	if !f.begun {
		if !bytes.HasPrefix(f.rest, []byte(SealedOutput)[:min(len(f.rest), len(SealedOutput))]) {
			return nil, ErrFrames
		}
		if len(f.rest) < len(SealedOutput) {
			return nil, nil
		}
		f.rest, f.begun = f.rest[len(SealedOutput):], true
	}
	for len(f.rest) >= 4 {
		n := binary.BigEndian.Uint32(f.rest)
		if n > maxRecord {
			return records, fmt.Errorf("%w: a record of %d bytes", ErrFrames, n)
		}
		if uint32(len(f.rest)-4) < n {
			break
		}
		records = append(records, bytes.Clone(f.rest[4:4+n]))
		f.rest = f.rest[4+n:]
	}
	return records, nil
}
