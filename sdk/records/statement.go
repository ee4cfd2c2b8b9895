package records

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"
)

// StatementSize is the length of an encoded check statement in bytes.
const StatementSize = 144

// CheckKind says what a keeper checked.
type CheckKind uint8

// The kinds of checks. Numbers are part of the signed format and never move.
const (
	CheckLiveness  CheckKind = 1
	CheckInventory CheckKind = 2
	CheckWork      CheckKind = 3
	CheckEvidence  CheckKind = 4
	CheckHealth    CheckKind = 5
	CheckOutput    CheckKind = 6
	CheckNetwork   CheckKind = 7
)

var checkNames = [...]string{
	CheckLiveness: "liveness", CheckInventory: "inventory", CheckWork: "work",
	CheckEvidence: "evidence", CheckHealth: "health", CheckOutput: "output", CheckNetwork: "network",
}

// Valid reports whether the kind is one of the constants.
func (k CheckKind) Valid() bool { return k >= CheckLiveness && k <= CheckNetwork }

// String returns the kind's name, or a number for an unknown kind.
func (k CheckKind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("check(%d)", uint8(k))
	}
	return checkNames[k]
}

// Figures are what a passed check measured; what they are is the kind's, and 0 says that nothing was measured.
//
//	work      int8 operations in 10⁹ a second, memory bandwidth in 10⁶ bytes a second, each of the weakest GPU
//	evidence  the tier, or EvidenceDeviceChanged; 0
//	network   Mbit/s down, Mbit/s up
//	other     0, 0
type Figures struct{ First, Second uint32 }

// CheckStatement is one keeper's signed finding about one node.
type CheckStatement struct {
	Domain         Domain
	Node           solana.PublicKey // the Node account's address, not the node key
	Period         Period
	Kind           CheckKind
	Passed         bool
	Figures        Figures
	CoveredSeconds uint32           // liveness: seconds up since this keeper's last check
	CheckedAt      int64            // unix seconds on the keeper's clock
	Lease          solana.PublicKey // the lease account checked, zero if none
	Detail         [32]byte         // sha256 of the evidence or answer, zero if none
}

// Encode returns the 144 bytes that are signed. An invalid kind is written as it is; Validate refuses it before
// signing.
func (s CheckStatement) Encode() [StatementSize]byte {
	var b [StatementSize]byte
	le := binary.LittleEndian
	copy(b[0:8], TagStatement)
	copy(b[8:16], s.Domain[:])
	copy(b[16:48], s.Node[:])
	le.PutUint64(b[48:56], uint64(s.Period))
	b[56] = byte(s.Kind)
	if s.Passed {
		b[57] = 1
	}
	le.PutUint32(b[60:64], s.Figures.First)
	le.PutUint32(b[64:68], s.Figures.Second)
	le.PutUint32(b[68:72], s.CoveredSeconds)
	le.PutUint64(b[72:80], uint64(s.CheckedAt))
	copy(b[80:112], s.Lease[:])
	copy(b[112:144], s.Detail[:])
	return b
}

// Validate checks what the encoding alone cannot express.
// Error: ErrValue.
func (s CheckStatement) Validate() error {
	switch {
	case !s.Kind.Valid():
		return fmt.Errorf("statement kind %d: %w", s.Kind, ErrValue)
	case s.Node.IsZero():
		return fmt.Errorf("statement without a node: %w", ErrValue)
	case s.Kind == CheckEvidence:
		if err := s.validateEvidence(); err != nil {
			return err
		}
	case s.Figures == Figures{}:
	case s.Kind != CheckWork && s.Kind != CheckNetwork:
		return fmt.Errorf("statement of kind %s with figures: %w", s.Kind, ErrValue)
	case !s.Passed:
		return fmt.Errorf("statement of a failed check of kind %s with figures: %w", s.Kind, ErrValue)
	}
	switch {
	case s.Kind != CheckLiveness && s.CoveredSeconds != 0:
		return fmt.Errorf("statement of kind %s with covered seconds: %w", s.Kind, ErrValue)
	case s.CheckedAt < 0:
		return fmt.Errorf("statement checked at %d: %w", s.CheckedAt, ErrValue)
	}
	return nil
}

// MaxTier is the highest tier of evidence.
const MaxTier = 3

// EvidenceDeviceChanged is the first figure of a failed evidence check: the machine's devices are not
// those that it had or registered.
const EvidenceDeviceChanged uint32 = 1 << 8

// Tier is what an evidence check found; 0 for other kinds and failed checks.
func (s CheckStatement) Tier() uint8 {
	if s.Kind != CheckEvidence || !s.Passed {
		return 0
	}
	return uint8(min(s.Figures.First, MaxTier))
}

// DeviceChanged reports whether a failed evidence check found other devices.
func (s CheckStatement) DeviceChanged() bool {
	return s.Kind == CheckEvidence && !s.Passed && s.Figures.First == EvidenceDeviceChanged
}

func (s CheckStatement) validateEvidence() error {
	switch {
	case s.Figures.Second != 0:
		return fmt.Errorf("statement of evidence with a second figure: %w", ErrValue)
	case s.Passed && s.Figures.First <= MaxTier:
	case !s.Passed && (s.Figures.First == 0 || s.Figures.First == EvidenceDeviceChanged):
	default:
		return fmt.Errorf("statement of evidence with %d as its tier: %w", s.Figures.First, ErrValue)
	}
	return nil
}

// DecodeStatement reads exactly one valid statement.
// Errors: ErrLength, ErrTag, ErrReserved, ErrValue.
func DecodeStatement(b []byte) (CheckStatement, error) {
	var s CheckStatement
	if len(b) != StatementSize {
		return s, fmt.Errorf("statement of %d bytes: %w", len(b), ErrLength)
	}
	if string(b[0:8]) != TagStatement {
		return s, fmt.Errorf("statement: %w", ErrTag)
	}
	if b[57] > 1 {
		return s, fmt.Errorf("statement result %d: %w", b[57], ErrValue)
	}
	if !allZero(b[58:60]) {
		return s, fmt.Errorf("statement: %w", ErrReserved)
	}
	le := binary.LittleEndian
	copy(s.Domain[:], b[8:16])
	copy(s.Node[:], b[16:48])
	s.Period = Period(le.Uint64(b[48:56]))
	s.Kind = CheckKind(b[56])
	s.Passed = b[57] == 1
	s.Figures = Figures{le.Uint32(b[60:64]), le.Uint32(b[64:68])}
	s.CoveredSeconds = le.Uint32(b[68:72])
	s.CheckedAt = int64(le.Uint64(b[72:80]))
	copy(s.Lease[:], b[80:112])
	copy(s.Detail[:], b[112:144])
	if err := s.Validate(); err != nil {
		return CheckStatement{}, err
	}
	return s, nil
}

// Time returns the moment of the check on the keeper's clock.
func (s CheckStatement) Time() time.Time { return time.Unix(s.CheckedAt, 0).UTC() }

// Sign validates and signs the statement's encoding.
func (s CheckStatement) Sign(signer Signer) (solana.Signature, error) {
	if err := s.Validate(); err != nil {
		return solana.Signature{}, err
	}
	b := s.Encode()
	sig, err := signer.Sign(b[:])
	if err != nil {
		return sig, fmt.Errorf("sign statement about node %s: %w", s.Node, err)
	}
	return sig, nil
}

// Verify checks a keeper's signature over the statement. Error: ErrSignature.
func (s CheckStatement) Verify(keeper solana.PublicKey, sig solana.Signature) error {
	b := s.Encode()
	return verify(keeper, b[:], sig)
}
