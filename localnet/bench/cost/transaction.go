package cost

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Format is the largest form of transactions that is sent. As sdk/txm does, it writes what fits the legacy form in that one.
type Format struct{ txform.Form }

// The formats that are compared.
var (
	Legacy     = Format{txform.Legacy}
	VersionOne = Format{txform.VersionOne}
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

// Of builds a transaction of so many of a step.
func (f Format) Of(s Step, steps int) (Transaction, error) {
	t, err := written(txform.Legacy, s, steps)
	if err != nil || Legacy.fits(t) {
		return t, err
	}
	return written(f.Form, s, steps)
}

// written builds a transaction of so many of a step in a form, even if it has more bytes than the form holds.
func written(form txform.Form, s Step, steps int) (Transaction, error) {
	t := Transaction{Steps: steps}
	var all []solana.Instruction
	units := uint64(steps) * s.Units
	if form == txform.Legacy {
		units += 2 * budgetUnits
	}
	for n := range steps {
		some, err := s.Build(n)
		if err != nil {
			return t, fmt.Errorf("%s: %w", s.Name, err)
		}
		all = append(all, some...)
	}
	t.Limit = txm.UnitLimit(units)
	tx, err := form.Build(payer, solana.Hash{1}, txform.Budget{Units: t.Limit, Price: 1}, all...)
	if large := (*txform.TooLarge)(nil); errors.As(err, &large) {
		t.Bytes = large.Bytes
		return t, nil
	}
	if err != nil {
		return t, fmt.Errorf("%s: %w", s.Name, err)
	}
	if t.Bytes, err = txform.Size(tx); err != nil {
		return t, fmt.Errorf("%s: %w", s.Name, err)
	}
	t.Signatures, t.accounts = txform.Signatures(&tx.Message), len(tx.Message.AccountKeys)
	return t, nil
}

// fits reports whether the network takes a transaction.
func (f Format) fits(t Transaction) bool {
	return t.Bytes <= f.Bytes() && t.accounts <= mostLocks && t.Limit < mostUnits
}

// Most is the transaction that holds a step as often as fits, at most so often. It has no steps where not even one fits.
func (f Format) Most(s Step, most int) (Transaction, error) {
	var last Transaction
	for n := 1; n <= most; n++ {
		t, err := f.Of(s, n)
		if err != nil {
			if n > 1 && solana.IsSanitizeError(err) {
				return last, nil // version 1 refuses more addresses than it holds
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
