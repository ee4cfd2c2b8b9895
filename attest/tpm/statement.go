package tpm

import (
	"crypto"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-market/gantry/attest"
)

// Enrolment says that at a time, the TPM with an endorsement key opened a secret that was sealed to it for an
// attestation key: so that key lives in that TPM.
type Enrolment struct {
	Subject Subject
	// EK is the [EK.Identity].
	EK [32]byte
	AK Name
	// Seen is when the secret came back, to the second.
	Seen time.Time
}

// Subject is whom a TPM is enrolled for.
type Subject struct {
	// GenesisHash and Program keep statements of one market out of another.
	GenesisHash, Program [32]byte
	// Node is the node's ed25519 key.
	Node [32]byte
}

// Statement is an enrolment that the keeper who saw it signed. Only the keeper that sealed a secret can see that it was opened,
// so an auditor, or another keeper, has only the statement: it is as good as the keeper that made it.
type Statement struct {
	Enrolment
	// Keeper is the ed25519 key that signed.
	Keeper    [32]byte
	Signature [64]byte
}

const (
	statementTag = "GANTRYT1"
	bodySize     = len(statementTag) + 3*32 + 32 + 34 + 8 + 32
	// statementSize is the size of every statement: tag 8, genesis hash, program, node, endorsement key identity,
	// attestation key name, unix seconds i64le, keeper, signature.
	statementSize = bodySize + 64
)

func (s Statement) body() []byte {
	out := make([]byte, 0, statementSize)
	out = append(out, statementTag...)
	out = append(out, s.Subject.GenesisHash[:]...)
	out = append(out, s.Subject.Program[:]...)
	out = append(out, s.Subject.Node[:]...)
	out = append(out, s.EK[:]...)
	out = append(out, s.AK[:]...)
	out = binary.LittleEndian.AppendUint64(out, uint64(s.Seen.Unix()))
	return append(out, s.Keeper[:]...)
}

// Encode is the statement's one encoding.
func (s Statement) Encode() []byte { return append(s.body(), s.Signature[:]...) }

// Sign makes a statement of an enrolment with a keeper's ed25519 key.
func (e Enrolment) Sign(key crypto.Signer) (Statement, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return Statement{}, fmt.Errorf("sign enrolment: key of type %T, want ed25519", key.Public())
	}
	s := Statement{Enrolment: e, Keeper: [32]byte(public)}
	signature, err := key.Sign(nil, s.body(), crypto.Hash(0))
	if err != nil {
		return Statement{}, fmt.Errorf("sign enrolment: %w", err)
	}
	if len(signature) != len(s.Signature) {
		return Statement{}, errors.New("sign enrolment: not an ed25519 signature")
	}
	copy(s.Signature[:], signature)
	return s, nil
}

// Verify checks the keeper's signature. Whether the keeper is one to believe is the caller's to know.
func (s Statement) Verify() error {
	if !ed25519.Verify(s.Keeper[:], s.body(), s.Signature[:]) {
		return fmt.Errorf("enrolment statement is not signed by keeper %x: %w", s.Keeper, attest.ErrUntrusted)
	}
	return nil
}

// ParseStatement reads one statement. Errors wrap [attest.ErrMalformed].
func ParseStatement(data []byte) (Statement, error) {
	if len(data) != statementSize || string(data[:len(statementTag)]) != statementTag {
		return Statement{}, fmt.Errorf("enrolment statement: %d bytes, want %d that begin with %s: %w", len(data), statementSize,
			statementTag, attest.ErrMalformed)
	}
	var s Statement
	rest := data[len(statementTag):]
	for _, field := range [][]byte{
		s.Subject.GenesisHash[:], s.Subject.Program[:], s.Subject.Node[:], s.EK[:], s.AK[:],
	} {
		rest = rest[copy(field, rest):]
	}
	s.Seen = time.Unix(int64(binary.LittleEndian.Uint64(rest)), 0).UTC()
	rest = rest[8:]
	rest = rest[copy(s.Keeper[:], rest):]
	copy(s.Signature[:], rest)
	return s, nil
}

// ParseStatements reads [ItemStatements]: statements one after the other, sorted by their bytes, each once.
func ParseStatements(data []byte) ([]Statement, error) {
	if len(data)%statementSize != 0 || len(data) > maxStatements*statementSize {
		return nil, fmt.Errorf("%s: %d bytes, want up to %d times %d: %w", ItemStatements, len(data), maxStatements, statementSize,
			attest.ErrMalformed)
	}
	var list []Statement
	for i := 0; i < len(data); i += statementSize {
		one := data[i : i+statementSize]
		if i > 0 && string(data[i-statementSize:i]) >= string(one) {
			return nil, fmt.Errorf("%s: out of order or there twice: %w", ItemStatements, attest.ErrMalformed)
		}
		s, err := ParseStatement(one)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// EncodeStatements is the form of [ItemStatements].
func EncodeStatements(list []Statement) []byte {
	encoded := make([]string, len(list))
	for i, s := range list {
		encoded[i] = string(s.Encode())
	}
	slices.Sort(encoded)
	return []byte(strings.Join(slices.Compact(encoded), ""))
}
