package txm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/txerr"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/internal/boltstore"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/txform"
)

// Sentinel errors.
var (
	ErrNoFunds       = errors.New("not enough SOL for the transaction fee")
	ErrSignerMissing = errors.New("no key for a required signer")
	ErrMismatch      = errors.New("an intent with this id and other instructions exists")
	ErrUncertain     = errors.New("cannot prove whether an earlier transaction took effect")
	ErrClosed        = errors.New("transaction manager closed")
	ErrStoreBusy     = boltstore.ErrLocked // another process has the transaction store open
	ErrStoreCluster  = boltstore.ErrOwner  // the transaction store belongs to another cluster
	ErrUnknownIntent = errors.New("no such intent")
	ErrIntent        = errors.New("invalid intent")
	ErrFees          = errors.New("transaction costs more than it may")
	ErrTooLarge      = txform.ErrTooLarge
	// ErrStale is what a Signer answers that wants the transaction with a newer blockhash: its person has taken a while.
	ErrStale = errors.New("the transaction is to be built anew before it is signed")
)

// TxError is a refusal of the transaction as a whole by the runtime.
type TxError struct {
	Name string // e.g. AccountNotFound, InsufficientFundsForRent
	Raw  json.RawMessage
	Logs []string
	Hint string
}

// Error returns one line.
func (e *TxError) Error() string {
	if e.Hint != "" {
		return fmt.Sprintf("transaction refused: %s; %s", e.Name, e.Hint)
	}
	return "transaction refused: " + e.Name
}

// Is matches ErrNoFunds for a fee payer without money.
func (e *TxError) Is(target error) bool {
	return target == ErrNoFunds && (e.Name == "AccountNotFound" || e.Name == "InsufficientFundsForFee")
}

// retryable reports whether the runtime's refusal says nothing about the intent itself.
func (e *TxError) retryable() bool {
	switch e.Name {
	case "BlockhashNotFound", "AlreadyProcessed", "AccountInUse", "ClusterMaintenance", "ResanitizationNeeded",
		"WouldExceedMaxBlockCostLimit", "WouldExceedMaxVoteCostLimit", "WouldExceedMaxAccountCostLimit",
		"WouldExceedAccountDataBlockLimit", "ProgramCacheHitMaxLimit", "CommitCancelled":
		return true
	}
	return false
}

// decodeTxError reads a TransactionError in the RPC's JSON. instructions are those of the intent: compute-budget
// instructions follow them or are not there, so that indices are the caller's.
func decodeTxError(raw json.RawMessage, logs []string, instructions []Instruction, payer solana.PublicKey) error {
	name, arg := variant(raw)
	if name != "InstructionError" {
		e := &TxError{Name: name, Raw: raw, Logs: logs}
		if errors.Is(e, ErrNoFunds) {
			e.Hint = fmt.Sprintf("send some SOL to the fee payer %s (on a test cluster: solana airdrop 1 %s)", payer, payer)
		}
		return e
	}
	var pair []json.RawMessage
	e := &txerr.ProgramError{Logs: logs, InstructionIndex: -1}
	if json.Unmarshal(arg, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &e.InstructionIndex) != nil {
		return &TxError{Name: "InstructionError", Raw: raw, Logs: logs}
	}
	if i := e.InstructionIndex; i >= 0 && i < len(instructions) {
		e.Program = instructions[i].Program
	}
	var detail json.RawMessage
	e.Name, detail = variant(pair[1])
	if e.Name == "Custom" && json.Unmarshal(detail, &e.Code) == nil {
		e.HasCode = true
	}
	return e
}

// variant splits a Rust enum in JSON: "Name" or {"Name": argument}.
func variant(raw json.RawMessage) (string, json.RawMessage) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) == nil && len(m) == 1 {
		for k, v := range m {
			return k, v
		}
	}
	return strings.TrimSpace(string(raw)), nil
}

// malformed turns a refusal that no repetition can change into a TxError.
func malformed(err error) error {
	var re *chain.RPCError
	if errors.As(err, &re) && (re.Code == chain.CodeInvalidParams || re.Code == chain.CodeBadSignature) {
		return &TxError{Name: re.Message}
	}
	return nil
}

// outOfCompute reports whether the compute limit itself was the reason: the state had changed since the simulation that
// set it.
func outOfCompute(err error) bool {
	var pe *txerr.ProgramError
	if !errors.As(err, &pe) {
		return false
	}
	if pe.Name == "ComputationalBudgetExceeded" {
		return true
	}
	if pe.Name == "ProgramFailedToComplete" {
		for _, l := range pe.Logs {
			if strings.Contains(l, "exceeded CUs meter") || strings.Contains(l, "exceeded maximum number of instructions") {
				return true
			}
		}
	}
	return false
}
