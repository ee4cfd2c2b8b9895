package control

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"
)

const (
	// Port is the name of the serial port.
	Port = "gantry.control"
	// Greeting is what the guest sends before the session.
	Greeting = "\x00gantry-guest-1\n"
	// Version of the messages.
	Version = 1
	// MaxMessage is the longest message, bytes: a bundle with an event log.
	MaxMessage = 5 << 20
)

// ErrRefused: the guest has refused a question. Its text says why.
var ErrRefused = errors.New("the guest refuses")

// Question is one of the host's. One of the pointers is set.
type Question struct {
	Version uint8 `cbor:"1,keyasint"`
	// Keys asks for the keys of the TPM.
	Keys *KeysQuestion `cbor:"2,keyasint,omitempty"`
	// Activate asks to open a credential that was sealed to the TPM.
	Activate *ActivateQuestion `cbor:"3,keyasint,omitempty"`
	// Evidence asks for evidence, and for a key to which the customer of a lease can seal.
	Evidence *EvidenceQuestion `cbor:"4,keyasint,omitempty"`
	// Open brings what was sealed to such a key.
	Open *OpenQuestion `cbor:"5,keyasint,omitempty"`
	// Off asks the guest to switch itself off.
	Off *OffQuestion `cbor:"6,keyasint,omitempty"`
}

// KeysQuestion is empty.
type KeysQuestion struct{}

// OffQuestion is empty.
type OffQuestion struct{}

// ActivateQuestion is a credential, as in package tpm.
type ActivateQuestion struct {
	IDObject      []byte `cbor:"1,keyasint"`
	EncryptedSeed []byte `cbor:"2,keyasint"`
}

// EvidenceQuestion is a challenge, as in package attest, and what a key is for, as in package seal.
type EvidenceQuestion struct {
	Genesis  [32]byte `cbor:"1,keyasint"`
	Program  [32]byte `cbor:"2,keyasint"`
	ID       [32]byte `cbor:"3,keyasint"`
	Node     [32]byte `cbor:"4,keyasint"`
	NodeKey  [32]byte `cbor:"5,keyasint"`
	SlotHash [32]byte `cbor:"6,keyasint"`
	Expiry   int64    `cbor:"7,keyasint"`
	Lease    [32]byte `cbor:"8,keyasint"`
	Job      [32]byte `cbor:"9,keyasint"`
}

// OpenQuestion is a message that is sealed to the key with an id.
type OpenQuestion struct {
	Key    [32]byte `cbor:"1,keyasint"`
	Sealed []byte   `cbor:"2,keyasint"`
}

// Answer is the guest's. Refused is empty where it has answered.
type Answer struct {
	Version uint8  `cbor:"1,keyasint"`
	Refused string `cbor:"2,keyasint,omitempty"`
	// Keys are those of the TPM, as in package tpm.
	Keys *KeysAnswer `cbor:"3,keyasint,omitempty"`
	// Secret is what was in the credential.
	Secret []byte `cbor:"4,keyasint,omitempty"`
	// Bundle is evidence in the form of package bundle, without the time and the node's signature.
	Bundle []byte `cbor:"5,keyasint,omitempty"`
	// Findings say what evidence the guest has, and why it has no other.
	Findings []string `cbor:"6,keyasint,omitempty"`
	// Receipt says that a message was opened.
	Receipt *Receipt `cbor:"7,keyasint,omitempty"`
}

// KeysAnswer has the forms of package tpm.
type KeysAnswer struct {
	AK    []byte `cbor:"1,keyasint"`
	EK    []byte `cbor:"2,keyasint"`
	Chain []byte `cbor:"3,keyasint"`
}

// Receipt is the guest key's signature (package attest/guest): that the process with this key has opened a message.
type Receipt struct {
	// Digest is that of [Opened].
	Digest    [32]byte `cbor:"1,keyasint"`
	Signature [64]byte `cbor:"2,keyasint"`
}

// Opened is the digest that a receipt signs: sha256("gantry-guest-opened-1" ‖ id of the sealing key ‖ message).
func Opened(key [32]byte, message []byte) [32]byte {
	return sha256.Sum256(slices.Concat([]byte("gantry-guest-opened-1"), key[:], message))
}

// write encodes a message.
func write(w io.Writer, message any) error {
	data, err := cbor.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("message of %d bytes, at most %d", len(data), MaxMessage)
	}
	_, err = w.Write(data)
	return err
}

// read decodes the only message until the other side has closed the stream.
func read(r io.Reader, message any) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxMessage+1))
	if err != nil {
		return err
	}
	if len(data) > MaxMessage {
		return fmt.Errorf("message of more than %d bytes", MaxMessage)
	}
	if err := cbor.Unmarshal(data, message); err != nil {
		return fmt.Errorf("decode message: %w", err)
	}
	return nil
}
