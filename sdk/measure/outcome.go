package measure

import (
	"errors"
	"fmt"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// Outcome is what became of a measurement.
type Outcome uint8

const (
	// Unknown: no connection, a lost stream, or nothing in time. It says nothing of the machine.
	Unknown Outcome = iota
	// Measured: what was opened is right. Whether the figures meet the machine's class is not said.
	Measured
	// Wrong: the machine answered something that no honest one does, or opened nothing of what it had signed.
	Wrong
	// Refused: the machine's handler refused. Whether anything on chain excuses it is not said.
	Refused
)

// String is the outcome in a word.
func (o Outcome) String() string {
	switch o {
	case Measured:
		return "measured"
	case Wrong:
		return "wrong"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Result is what became of a measurement.
type Result struct {
	Outcome Outcome
	// Figures are the least of the GPUs that were measured, GPUs those of each in the order in which they were asked for.
	Figures format.Figures
	GPUs    []format.Figures
	// Guest is the key of the process that signed what was measured beside the machine's own; zero for none.
	Guest [32]byte
	// Why says what was wrong, refused or not known.
	Why error
	// Proof is there when a cell was wrong: anyone can check it.
	Proof *Proof
	// Record is there when a machine that has signed a commitment is wrong: it is what others can check of that.
	Record *Record
}

// Proof is a wrong cell with what the machine has signed.
type Proof struct {
	Signed format.Signed
	// Entry is the GPU's place in Signed.Entries.
	Entry int
	Cell  *format.WrongCell
}

// Errors in [Result.Why], beside those of attest/measure.
var (
	ErrNonsense = errors.New("the machine sent something that is not part of a measurement")
	ErrSilent   = errors.New("the machine's commitment did not come in time")
	ErrLate     = errors.New("the machine has shown its memory so late that another node may have had it until then")
	ErrUnopened = errors.New("the machine opened nothing of its commitment")
	ErrLost     = errors.New("the connection to the machine was lost")
)

// RefusedError is a refusal by the machine's handler.
type RefusedError struct{ Why messages.MeasureRefusal }

func (e *RefusedError) Error() string { return "the machine refuses: " + e.Why.String() }

// failure is an error and the outcome that it stands for.
type failure struct {
	outcome Outcome
	err     error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func fail(o Outcome, err error) *failure { return &failure{o, err} }

// ofCall says what an error of the network means. What the machine's own handler or encoder did is the machine's, all else may
// be the network's.
func ofCall(err error) *failure {
	var known *failure
	var refused *p2p.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		switch refused.Code {
		case p2p.CodeRefused, p2p.CodeUnavailable, p2p.CodeNotFound:
			return fail(Refused, err)
		}
	case errors.Is(err, p2p.ErrEncoding), errors.Is(err, p2p.ErrTooBig):
		return fail(Wrong, fmt.Errorf("%w: %w", ErrNonsense, err))
	case errors.Is(err, p2p.ErrProtocol):
		return fail(Refused, err)
	}
	return fail(Unknown, fmt.Errorf("%w: %w", ErrLost, err))
}
