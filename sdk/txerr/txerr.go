// Package txerr has the error with which a program refuses a transaction, for whoever sends transactions and for
// whoever explains refusals.
package txerr

import (
	"fmt"
	"strings"

	"github.com/gagliardetto/solana-go"
)

// ProgramError is a refusal by a program, in simulation or in a block. The transaction had no effect.
type ProgramError struct {
	InstructionIndex int // among the instructions that the sender gave
	Program          solana.PublicKey
	Code             uint32 // custom code; valid if HasCode
	HasCode          bool
	Name             string // the runtime's name if there is no custom code
	Logs             []string
	Simulated        bool             // found before sending
	Signature        solana.Signature // of the transaction in a block, zero if simulated
}

// Error returns one line.
func (e *ProgramError) Error() string {
	what := e.Name
	if e.HasCode {
		what = fmt.Sprintf("custom error %d (0x%x)", e.Code, e.Code)
	}
	if msg := lastMessage(e.Logs); msg != "" {
		what += ": " + msg
	}
	return fmt.Sprintf("program %s refused instruction %d: %s", e.Program, e.InstructionIndex, what)
}

// lastMessage finds the line in which an Anchor program explains its error.
func lastMessage(logs []string) string {
	for i := len(logs) - 1; i >= 0; i-- {
		if _, msg, ok := strings.Cut(logs[i], "Error Message: "); ok {
			return strings.TrimSuffix(msg, ".")
		}
	}
	return ""
}
