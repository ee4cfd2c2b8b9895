package fleet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/host"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txform"
)

var (
	// ErrEnrolment: a machine's answer cannot be read, or is of another version.
	ErrEnrolment = errors.New("the machine's enrolment cannot be used")
	// ErrNotRegistration: a machine is asked to sign something else than its registration.
	ErrNotRegistration = errors.New("this is not the registration of this machine: nothing was signed")
)

// Version of enrolments.
const Version = 1

// Enrolment is what a machine registers with, as `gantry-agent enrol` prints it.
type Enrolment struct {
	Version int              `json:"version"`
	NodeKey solana.PublicKey `json:"node_key"`
	// Region and Site as on the machine's settings; Price is its pricing policy.
	Region    string         `json:"region"`
	Site      string         `json:"site,omitempty"`
	Price     string         `json:"price"`
	Isolation uint8          `json:"isolation"`
	Inventory host.Inventory `json:"inventory"`
}

// Encode is the enrolment as one line.
func (e Enrolment) Encode() ([]byte, error) { return json.Marshal(e) }

// ReadEnrolment reads what a machine printed. Error: ErrEnrolment.
func ReadEnrolment(raw []byte) (Enrolment, error) {
	var e Enrolment
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&e); err != nil {
		return e, fmt.Errorf("%w: %w", ErrEnrolment, err)
	}
	switch {
	case e.Version != Version:
		return e, fmt.Errorf("%w: it has version %d, this program reads %d: install the same build on both", ErrEnrolment, e.Version, Version)
	case e.NodeKey.IsZero():
		return e, fmt.Errorf("%w: it names no key", ErrEnrolment)
	}
	return e, nil
}

// Enrol has a machine take all steps of setup that need no wallet, and returns what it registers with.
// Errors: ErrReach, ErrEnrolment.
func (m Machine) Enrol(ctx context.Context) (Enrolment, error) {
	out, err := m.Run(ctx, nil, append([]string{"enrol"}, m.Flags()...)...)
	if err != nil {
		return Enrolment{}, err
	}
	e, err := ReadEnrolment(out)
	if err != nil {
		return e, fmt.Errorf("%s: %w", m.Name, err)
	}
	return e, nil
}

// Signer signs registrations with a machine's key, on the machine.
type Signer struct {
	Machine Machine
	Key     solana.PublicKey
	// Timeout bounds one signature.
	Timeout time.Duration
}

// PublicKey is the machine's key.
func (s Signer) PublicKey() solana.PublicKey { return s.Key }

// Sign has the machine sign. Errors: ErrReach, ErrEnrolment.
func (s Signer) Sign(message []byte) (solana.Signature, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.Timeout) // the transaction manager's signers have no context
	defer cancel()
	out, err := s.Machine.Run(ctx, []byte(base64.StdEncoding.EncodeToString(message)), "enrol", "--sign")
	if err != nil {
		return solana.Signature{}, err
	}
	sig, err := solana.SignatureFromBase58(strings.TrimSpace(string(out)))
	if err != nil {
		return sig, fmt.Errorf("%w: %s: its signature: %w", ErrEnrolment, s.Machine.Name, err)
	}
	if !sig.Verify(s.Key, message) {
		return sig, fmt.Errorf("%w: %s has signed with another key, or something else", ErrEnrolment, s.Machine.Name)
	}
	return sig, nil
}

// machineKey is the place of the machine's key among the accounts of node_register; the wallet is before it.
const machineKey = 1

// CheckRegistration accepts the message of a transaction that registers a machine with this key and does nothing else in its
// name: every instruction that the key is an account of is node_register, with the key as the machine's. The wallet pays.
// Error: ErrNotRegistration.
func CheckRegistration(raw []byte, key solana.PublicKey) error {
	m, err := txform.Message(raw)
	if err != nil {
		return fmt.Errorf("%w: it cannot be read: %w", ErrNotRegistration, err)
	}
	if m.IsVersioned() || m.AccountKeys[0] == key {
		return fmt.Errorf("%w: the wallet has to pay for it", ErrNotRegistration)
	}
	registers := false
	for _, i := range m.Instructions {
		accounts, err := i.ResolveInstructionAccounts(m)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotRegistration, err)
		}
		if !slices.ContainsFunc(accounts, func(a *solana.AccountMeta) bool { return a.PublicKey == key }) {
			continue
		}
		program, err := m.Program(i.ProgramIDIndex)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotRegistration, err)
		}
		if program != market.ProgramID || !bytes.HasPrefix(i.Data, bindings.Instruction_NodeRegister[:]) || registers ||
			len(accounts) <= machineKey || accounts[machineKey].PublicKey != key {
			return fmt.Errorf("%w: it does something else with the machine's key", ErrNotRegistration)
		}
		registers = true
	}
	if !registers {
		return fmt.Errorf("%w: it registers no machine", ErrNotRegistration)
	}
	return nil
}
