package records

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
)

const (
	// StartSize is the length of an encoded start in bytes.
	StartSize = TagSize + 8 + 3*32 + 4 + 2 + 2 + driverSize + sandboxSize

	driverSize  = 16
	sandboxSize = 24
)

// StartOutcome says how the start of a container went.
type StartOutcome uint8

// The outcomes. Their numbers are signed, and only added to.
const (
	// StartRan: the container ran for as long as says that the image works there.
	StartRan StartOutcome = 1
	// StartDone: it ended before that, with status 0.
	StartDone StartOutcome = 2
	// StartRefused: the machine cannot run the job, and declined the lease.
	StartRefused StartOutcome = 3
	// StartNoImage: the image did not arrive in time, and the machine declined the lease.
	StartNoImage StartOutcome = 4
	// StartFailed: the container could not be started.
	StartFailed StartOutcome = 5
	// StartStatus: it ended soon, with another status or by a signal.
	StartStatus StartOutcome = 6
	// StartMemory, StartDisk and StartProcesses: it soon reached a limit.
	StartMemory    StartOutcome = 7
	StartDisk      StartOutcome = 8
	StartProcesses StartOutcome = 9
	// StartLost: it ended soon, and nobody knows how.
	StartLost StartOutcome = 10
)

var startNames = [...]string{
	StartRan: "ran", StartDone: "done", StartRefused: "refused", StartNoImage: "no image", StartFailed: "not started", StartStatus: "error status",
	StartMemory: "memory limit", StartDisk: "disk limit", StartProcesses: "process limit", StartLost: "end unknown",
}

// String names an outcome.
func (o StartOutcome) String() string {
	if !o.Known() {
		return fmt.Sprintf("outcome %d", uint8(o))
	}
	return startNames[o]
}

// Known reports whether this program knows the outcome.
func (o StartOutcome) Known() bool { return o > 0 && int(o) < len(startNames) }

// Ran reports whether the image ran.
func (o StartOutcome) Ran() bool { return o == StartRan || o == StartDone }

// Start is what a machine says of one start of a container: which image, on what, and how it went. It has nothing of the job
// but the image's digest.
type Start struct {
	Domain Domain
	// Image is the sha256 of the image's manifest.
	Image Hash
	Node  solana.PublicKey
	Lease solana.PublicKey
	// At is when the outcome was known, cut to the hour.
	At time.Time
	// Model is the class of the machine's GPUs, by its number on chain.
	Model   uint16
	Outcome StartOutcome
	// Driver and Sandbox are the versions of the GPUs' driver and of runsc; empty for none. Letters, digits and .-+_~ only.
	Driver  string
	Sandbox string
}

// startVersion is what a start says of a version: the text without signs that it may not have, cut to its room.
func startVersion(text string, room int) string {
	out := make([]byte, 0, room)
	for i := 0; i < len(text) && len(out) < room; i++ {
		if startSign(text[i]) {
			out = append(out, text[i])
		}
	}
	return string(out)
}

func startSign(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == '_' || c == '~'
}

// On is the start on a machine with these versions, in the form in which a start has them.
func (s Start) On(driver, sandbox string) Start {
	s.Driver, s.Sandbox = startVersion(driver, driverSize), startVersion(sandbox, sandboxSize)
	return s
}

// Encode returns the 160 bytes that are signed: tag 8 ‖ domain 8 ‖ image 32 ‖ node 32 ‖ lease 32 ‖ hour u32 ‖ model u16 ‖
// outcome u8 ‖ zero 1 ‖ driver 16 ‖ sandbox 24. Texts end with zeros.
func (s Start) Encode() (b [StartSize]byte) {
	copy(b[:8], TagStart)
	copy(b[8:16], s.Domain[:])
	copy(b[16:48], s.Image[:])
	copy(b[48:80], s.Node[:])
	copy(b[80:112], s.Lease[:])
	binary.LittleEndian.PutUint32(b[112:], uint32(s.At.Unix()/3600))
	binary.LittleEndian.PutUint16(b[116:], s.Model)
	b[118] = byte(s.Outcome)
	s = s.On(s.Driver, s.Sandbox)
	copy(b[120:136], s.Driver)
	copy(b[136:160], s.Sandbox)
	return b
}

// DecodeStart reads exactly one start. Errors: ErrLength, ErrTag, ErrValue.
func DecodeStart(b []byte) (Start, error) {
	if len(b) != StartSize {
		return Start{}, fmt.Errorf("start of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[:8]) != TagStart {
		return Start{}, fmt.Errorf("start: %w", ErrTag)
	}
	s := Start{
		Domain: Domain(b[8:16]), Image: Hash(b[16:48]), Node: solana.PublicKeyFromBytes(b[48:80]), Lease: solana.PublicKeyFromBytes(b[80:112]),
		At:    time.Unix(int64(binary.LittleEndian.Uint32(b[112:]))*3600, 0).UTC(),
		Model: binary.LittleEndian.Uint16(b[116:]), Outcome: StartOutcome(b[118]),
	}
	var ok, alright bool
	s.Driver, ok = startText(b[120:136])
	s.Sandbox, alright = startText(b[136:160])
	if !ok || !alright || b[119] != 0 || !s.Outcome.Known() {
		return Start{}, fmt.Errorf("start: %w", ErrValue)
	}
	return s, nil
}

// startText reads a text that ends with zeros.
func startText(b []byte) (string, bool) {
	n := 0
	for n < len(b) && startSign(b[n]) {
		n++
	}
	return string(b[:n]), allZero(b[n:])
}

// Sign signs the start with the node's key.
func (s Start) Sign(by Signer) (solana.Signature, error) {
	b := s.Encode()
	sig, err := by.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("sign the start of lease %s: %w", s.Lease, err)
	}
	return sig, nil
}

// Verify checks the signature of the node's key. Error: ErrSignature.
func (s Start) Verify(nodeKey solana.PublicKey, sig solana.Signature) error {
	b := s.Encode()
	return verify(nodeKey, b[:], sig)
}
