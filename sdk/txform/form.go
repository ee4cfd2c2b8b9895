package txform

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ErrTooLarge is the error of a transaction with more bytes than its form holds. The error is a *TooLarge.
var ErrTooLarge = errors.New("transaction is too large")

// TooLarge says how many bytes a transaction would have.
type TooLarge struct {
	Form  Form
	Bytes int
}

// Error implements error.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("%v: %d bytes, and the %s form holds %d", ErrTooLarge, e.Bytes, e.Form, e.Form.Bytes())
}

// Is matches ErrTooLarge.
func (e *TooLarge) Is(target error) bool { return target == ErrTooLarge }

// Gate is the feature gate of version 1, "SIMD-0385: Transaction V1".
var Gate = solana.MustPublicKeyFromBase58("txv1aq4pp281K9um3tnPgkfX8UqtFT6wcVW3hNezGLL")

// Form is how a transaction is written.
type Form uint8

// The forms.
const (
	Legacy Form = iota
	VersionOne
)

// String is the form's name in tables and errors.
func (f Form) String() string {
	if f == VersionOne {
		return "version 1"
	}
	return "legacy"
}

// Bytes is how many bytes a transaction has at most, signatures included.
func (f Form) Bytes() int {
	if f == VersionOne {
		return chain.MaxTransactionBytes(solana.MessageVersionV1)
	}
	return chain.MaxTransactionBytes(solana.MessageVersionLegacy)
}

// Budget bounds the compute of a transaction.
type Budget struct {
	Units uint32
	Price chain.MicroLamports // of a unit
}

const (
	setUnitLimit = 2 // instructions of the compute-budget program
	setUnitPrice = 3

	// loadedBytes is how many bytes of accounts a transaction may load. Legacy transactions have it by default; version 1
	// loads nothing where it is left out.
	loadedBytes = 64 << 20
)

// Build makes a transaction without signatures. The instructions that bound a legacy one's compute come after the others:
// the runtime finds them anywhere, and indices stay the caller's, for errors and for programs that inspect neighbouring
// instructions. Its size does not depend on the budget. Error: ErrTooLarge.
func (f Form) Build(payer solana.PublicKey, hash solana.Hash, b Budget, instructions ...solana.Instruction) (*solana.Transaction, error) {
	options := []solana.TransactionOption{solana.TransactionPayer(payer)}
	if f == VersionOne {
		options = append(options, solana.TransactionV1Config(solana.TransactionConfig{}.
			WithPriorityFee(uint64(b.Price.Cost(b.Units))).
			WithComputeUnitLimit(b.Units).
			WithLoadedAccountsDataSizeLimit(loadedBytes)))
	} else {
		instructions = append(instructions[:len(instructions):len(instructions)],
			solana.NewInstruction(solana.ComputeBudget, nil, binary.LittleEndian.AppendUint32([]byte{setUnitLimit}, b.Units)),
			solana.NewInstruction(solana.ComputeBudget, nil, binary.LittleEndian.AppendUint64([]byte{setUnitPrice}, uint64(b.Price))))
	}
	tx, err := solana.NewTransaction(instructions, hash, options...)
	if err != nil {
		return nil, err
	}
	size, err := Size(tx)
	if err != nil {
		return nil, err
	}
	if size > f.Bytes() {
		return nil, &TooLarge{f, size}
	}
	return tx, nil
}

// Size is how many bytes a transaction has with all its signatures, whether they are there yet or not.
func Size(tx *solana.Transaction) (int, error) {
	raw, err := tx.MarshalBinary()
	return len(raw), err
}

// Holds reports whether one transaction holds these instructions.
func (f Form) Holds(payer solana.PublicKey, instructions ...solana.Instruction) bool {
	_, err := f.Build(payer, solana.Hash{}, Budget{}, instructions...)
	return err == nil
}
