package cost

import (
	"encoding/binary"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Format is a format of transactions.
type Format struct {
	Name  string
	Bytes int
	// One: the bounds of compute are in the transaction's head, so that no instructions are needed for them.
	One bool
}

// The formats that are compared.
var (
	Legacy     = Format{Name: "legacy", Bytes: 1_232}
	VersionOne = Format{Name: "version 1", Bytes: solana.MaxTransactionSizeV1, One: true}
)

const (
	budgetUnits = 150       // that each of the two instructions for the bounds of compute takes
	mostUnits   = 1_400_000 // of a transaction
	// mostLocks is how many accounts a transaction may name.
	mostLocks = 64
)

// Step is an instruction, or several that belong together, with what the program takes for it.
type Step struct {
	Name  string
	Units uint64
	// Build makes the step's instructions. Steps of different numbers are about different accounts.
	Build func(number int) ([]solana.Instruction, error)
}

// payer signs the transactions that are measured.
var payer = solana.PublicKey{9}

// Transaction is one that holds a step several times.
type Transaction struct {
	Steps      int
	Bytes      int
	Signatures int // those of its own, and those that the runtime checks for the program
	Limit      uint32
	accounts   int
}

// Of builds a transaction of so many of a step in a format.
func (f Format) Of(s Step, steps int) (Transaction, error) {
	t := Transaction{Steps: steps}
	var all []solana.Instruction
	units := uint64(steps) * s.Units
	for n := range steps {
		some, err := s.Build(n)
		if err != nil {
			return t, fmt.Errorf("%s: %w", s.Name, err)
		}
		for _, instruction := range some {
			if instruction.ProgramID() == market.Ed25519ProgramID {
				t.Signatures++
			}
		}
		all = append(all, some...)
	}
	options := []solana.TransactionOption{solana.TransactionPayer(payer)}
	if f.One {
		t.Limit = txm.UnitLimit(units)
		options = append(options, solana.TransactionV1Config(solana.TransactionConfig{}.WithComputeUnitLimit(t.Limit).WithPriorityFee(1)))
	} else {
		t.Limit = txm.UnitLimit(units + 2*budgetUnits)
		all = append(all,
			solana.NewInstruction(solana.ComputeBudget, nil, binary.LittleEndian.AppendUint32([]byte{2}, t.Limit)),
			solana.NewInstruction(solana.ComputeBudget, nil, binary.LittleEndian.AppendUint64([]byte{3}, 1)))
	}
	tx, err := solana.NewTransaction(all, solana.Hash{1}, options...)
	if err != nil {
		return t, fmt.Errorf("%s: %w", s.Name, err)
	}
	own := int(tx.Message.Header.NumRequiredSignatures)
	tx.Signatures = make([]solana.Signature, own)
	raw, err := tx.MarshalBinary()
	if err != nil {
		return t, fmt.Errorf("%s: %w", s.Name, err)
	}
	t.Bytes, t.Signatures, t.accounts = len(raw), t.Signatures+own, len(tx.Message.AccountKeys)
	return t, nil
}

// fits reports whether the network takes a transaction.
func (f Format) fits(t Transaction) bool {
	return t.Bytes <= f.Bytes && t.accounts <= mostLocks && t.Limit < mostUnits
}

// Most is the transaction that holds a step as often as fits, at most so often. It has no steps where not even one fits.
func (f Format) Most(s Step, most int) (Transaction, error) {
	var last Transaction
	for n := 1; n <= most; n++ {
		t, err := f.Of(s, n)
		if err != nil {
			if n > 1 && f.One {
				return last, nil // the format refuses what is too large
			}
			return last, err
		}
		if !f.fits(t) {
			return last, nil
		}
		last = t
	}
	return last, nil
}

// Fee is what a transaction costs at a price of a compute unit.
func (t Transaction) Fee(price chain.MicroLamports) chain.Lamports {
	return chain.SignatureFee*chain.Lamports(t.Signatures) + price.Cost(t.Limit)
}

// Each is what each of a transaction's steps costs, in lamports. Zero steps cost nothing, because nobody can send them.
func (t Transaction) Each(price chain.MicroLamports) float64 {
	if t.Steps == 0 {
		return 0
	}
	return float64(t.Fee(price)) / float64(t.Steps)
}
