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
	Version = 2
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
	// Deploy brings the job that was sealed to such a key.
	Deploy *DeployQuestion `cbor:"5,keyasint,omitempty"`
	// Off asks the guest to switch itself off.
	Off *OffQuestion `cbor:"6,keyasint,omitempty"`
	// Output asks for what the job has put out.
	Output *OutputQuestion `cbor:"7,keyasint,omitempty"`
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

// DeployQuestion is a messages.DeployRequest that is sealed to the key with an id, and the network on which the guest fetches the
// job's image.
type DeployQuestion struct {
	Key    [32]byte `cbor:"1,keyasint"`
	Sealed []byte   `cbor:"2,keyasint"`
	// Network of the guest's only network card; nil for none.
	Network *Network `cbor:"3,keyasint,omitempty"`
}

// Network is how a network card is set up. It is the host's word, as all that comes over its network.
type Network struct {
	// Address is the guest's, with the length of its network's prefix.
	Address string `cbor:"1,keyasint"`
	Gateway string `cbor:"2,keyasint"`
	// DNS is the address of a server of names.
	DNS string `cbor:"3,keyasint"`
}

// OutputQuestion asks for the records from a number on, and waits until there is one. The guest forgets those before.
type OutputQuestion struct {
	From uint64 `cbor:"1,keyasint"`
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
	// Receipt says that a sealed job was opened.
	Receipt *Receipt `cbor:"7,keyasint,omitempty"`
	// Output is what the job has put out.
	Output *OutputAnswer `cbor:"8,keyasint,omitempty"`
}

// OutputAnswer has the next records, each a [Record] that is sealed for the customer (package seal).
type OutputAnswer struct {
	Records [][]byte `cbor:"1,keyasint"`
	// Over says that the last of them is the last of all.
	Over bool `cbor:"2,keyasint"`
}

// Record is a step of a job. The host does not see what it says, only when it comes and how long it is.
type Record struct {
	// Phase is what the guest does now: one of the Phase constants.
	Phase string `cbor:"1,keyasint,omitempty"`
	// Output is what the container has written, on either of its outputs.
	Output []byte `cbor:"2,keyasint,omitempty"`
	// End is set in the last record.
	End *End `cbor:"3,keyasint,omitempty"`
}

// End is how a job has ended.
type End struct {
	// Code is the container's exit code; 128 and a signal's number if that has ended it.
	Code int `cbor:"1,keyasint"`
	// Failed says why the container did not run; Code means nothing then.
	Failed string `cbor:"2,keyasint,omitempty"`
}

// Phases of a job.
const (
	PhasePull = "pull"
	PhaseRun  = "run"
)

// Encode writes a record.
func (r Record) Encode() ([]byte, error) { return cbor.Marshal(r) }

// ReadRecord reads a record that was opened.
func ReadRecord(plain []byte) (r Record, err error) {
	if err = cbor.Unmarshal(plain, &r); err != nil {
		return r, fmt.Errorf("record of a job: %w", err)
	}
	return r, nil
}

// KeysAnswer has the forms of package tpm.
type KeysAnswer struct {
	AK    []byte `cbor:"1,keyasint"`
	EK    []byte `cbor:"2,keyasint"`
	Chain []byte `cbor:"3,keyasint"`
}

// Receipt is the guest key's signature (package attest/guest): that the process with this key has opened a sealed job. It is about the
// sealed bytes, which the host has: a digest of what is in them would let the host try guesses.
type Receipt struct {
	// Digest is that of [Opened].
	Digest    [32]byte `cbor:"1,keyasint"`
	Signature [64]byte `cbor:"2,keyasint"`
}

// Opened is the digest that a receipt signs: sha256("gantry-guest-opened-2" ‖ id of the sealing key ‖ sealed job).
func Opened(key [32]byte, sealed []byte) [32]byte {
	return sha256.Sum256(slices.Concat([]byte("gantry-guest-opened-2"), key[:], sealed))
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
