package market

import (
	"errors"
	"strings"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/txerr"
)

// Code is the number of a program error. It is an error itself: errors.Is(err, market.CodeAlreadyVoted).
type Code = bindings.ErrorCode

// Errors about the market as a whole.
var (
	// ErrProgramMissing: the cluster has no such program.
	ErrProgramMissing = errors.New("the market program is not deployed on this cluster")
	// ErrProgramMismatch: the program is of another version than this client.
	ErrProgramMismatch = errors.New("the market program is of another version than this client")
	// ErrMarketMissing: the program is there, the market is not.
	ErrMarketMissing = errors.New("the market has not been initialised")
	// ErrAccountExists: an account that should be created is there already.
	ErrAccountExists = errors.New("the account exists already")
	// ErrAccountGone: an account that should be there is not, or not any more.
	ErrAccountGone = errors.New("the account does not exist (any more)")
)

// Error is a refusal by the market, with what to do about it.
type Error struct {
	Code   Code   // 0 when the refusal is not one of the program's own errors
	Reason string // what went wrong
	Advice string // what to do, empty when there is nothing
	Kind   error  // one of the sentinels above, or nil
	Cause  error
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Advice == "" {
		return e.Reason
	}
	return e.Reason + "; " + e.Advice
}

// Unwrap gives errors.Is and errors.As the code, the sentinel and the transaction's own error.
func (e *Error) Unwrap() []error {
	var out []error
	if e.Code != 0 {
		out = append(out, e.Code)
	}
	if e.Kind != nil {
		out = append(out, e.Kind)
	}
	return append(out, e.Cause)
}

// CodeOf finds the program error in a chain of errors.
func CodeOf(err error) (Code, bool) {
	var code Code
	if errors.As(err, &code) {
		return code, true
	}
	var pe *txerr.ProgramError
	if errors.As(err, &pe) && pe.Program == ProgramID && pe.HasCode && Code(pe.Code).Known() {
		return Code(pe.Code), true
	}
	return 0, false
}

// Is reports whether the program refused with one of these codes.
func Is(err error, codes ...Code) bool {
	got, ok := CodeOf(err)
	if !ok {
		return false
	}
	for _, c := range codes {
		if c == got {
			return true
		}
	}
	return false
}

// Explain turns a refusal by the program into an *Error with advice; any other error comes back as it is.
func Explain(err error) error {
	var done *Error
	var pe *txerr.ProgramError
	if err == nil || errors.As(err, &done) || !errors.As(err, &pe) {
		return err
	}
	switch {
	case pe.Program != ProgramID:
		return explainOther(pe, err)
	case !pe.HasCode:
		return explainRuntime(pe, err)
	}
	code := Code(pe.Code)
	if code.Known() {
		return &Error{Code: code, Reason: lower(code.Message()), Advice: advice[code], Cause: err}
	}
	return explainFramework(pe, err)
}

// Refusal is the error that the program would answer with, for checks that come before a transaction is sent.
func Refusal(code Code) error {
	return &Error{Code: code, Reason: lower(code.Message()), Advice: advice[code], Cause: code}
}

// Codes of the framework that this package knows; see https://www.anchor-lang.com/docs for the others.
const (
	frameworkUnknownInstruction = 101
	frameworkNotSigner          = 3010
	frameworkNotInitialised     = 3012
	frameworkWrongOwner         = 3007
)

// explainFramework is for numbers of the framework and of the system program, which are not the market's own.
func explainFramework(pe *txerr.ProgramError, cause error) error {
	logs := strings.Join(pe.Logs, "\n")
	switch {
	case pe.Code == 0 && strings.Contains(logs, "already in use"):
		return &Error{Reason: "the account exists already", Advice: "it was probably created by an earlier call: look at it before you repeat this", Kind: ErrAccountExists, Cause: cause}
	case pe.Code == frameworkUnknownInstruction:
		return &Error{Reason: ErrProgramMismatch.Error(), Advice: "update gantry to the version of the market's program", Kind: ErrProgramMismatch, Cause: cause}
	case pe.Code == frameworkNotInitialised || pe.Code == frameworkWrongOwner:
		return &Error{Reason: "an account that this needs does not exist (any more)", Advice: "look at the current state and repeat with what is there now", Kind: ErrAccountGone, Cause: cause}
	case pe.Code == frameworkNotSigner:
		return &Error{Code: bindings.ErrorCodeUnauthorised, Reason: "a signature is missing", Advice: advice[bindings.ErrorCodeUnauthorised], Cause: cause}
	case pe.Code == 1 && strings.Contains(logs, "insufficient lamports"):
		return &Error{Reason: "not enough SOL for the rent of a new account", Advice: "send some SOL to the paying wallet", Cause: cause}
	case pe.Code == 1 && strings.Contains(logs, "insufficient funds"):
		return &Error{Code: bindings.ErrorCodeInsufficientFunds, Reason: "the token account holds too little", Advice: "check its balance with spl-token", Cause: cause}
	}
	return &Error{Reason: cause.Error(), Advice: "this refusal is not one that gantry knows: the program may be of another version", Cause: cause}
}

func explainRuntime(pe *txerr.ProgramError, cause error) error {
	switch pe.Name {
	case "UninitializedAccount", "InvalidAccountOwner", "IllegalOwner", "AccountDataTooSmall":
		return &Error{Reason: "an account that this needs does not exist (any more)", Advice: "look at the current state and repeat with what is there now", Kind: ErrAccountGone, Cause: cause}
	case "InvalidInstructionData":
		return &Error{Reason: ErrProgramMismatch.Error(), Advice: "update gantry to the version of the market's program", Kind: ErrProgramMismatch, Cause: cause}
	case "MissingRequiredSignature":
		return &Error{Code: bindings.ErrorCodeUnauthorised, Reason: "a signature is missing", Advice: advice[bindings.ErrorCodeUnauthorised], Cause: cause}
	case "UnsupportedProgramId":
		return &Error{Reason: ErrProgramMissing.Error(), Advice: "check --url", Kind: ErrProgramMissing, Cause: cause}
	}
	return &Error{Reason: cause.Error(), Cause: cause}
}

func explainOther(pe *txerr.ProgramError, cause error) error {
	if pe.Program == Ed25519ProgramID {
		return &Error{Code: bindings.ErrorCodeInvalidSignature, Reason: "a signature does not verify", Advice: advice[bindings.ErrorCodeInvalidSignature], Cause: cause}
	}
	return cause
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// Sentinels for checks of one refusal: errors.Is(err, market.CodeAlreadyVoted).
const (
	CodeOrdersPaused      = bindings.ErrorCodeOrdersPaused
	CodePriceTooHigh      = bindings.ErrorCodePriceTooHigh
	CodeNoSpotPrice       = bindings.ErrorCodeNoSpotPrice
	CodeUnsuitableShare   = bindings.ErrorCodeUnsuitableShare
	CodeUnsettled         = bindings.ErrorCodeUnsettled
	CodeUnauthorised      = bindings.ErrorCodeUnauthorised
	CodeInsufficientFunds = bindings.ErrorCodeInsufficientFunds
	CodeTooEarly          = bindings.ErrorCodeTooEarly
	CodeTooLate           = bindings.ErrorCodeTooLate
	CodeWrongOrderStatus  = bindings.ErrorCodeWrongOrderStatus
	CodeWrongLeaseStatus  = bindings.ErrorCodeWrongLeaseStatus
	CodeWrongNodeStatus   = bindings.ErrorCodeWrongNodeStatus
	CodeWrongKeeperStatus = bindings.ErrorCodeWrongKeeperStatus
	CodeKeeperNotActive   = bindings.ErrorCodeKeeperNotActive
	CodeStaleReceipt      = bindings.ErrorCodeStaleReceipt
	CodeReceiptTooLarge   = bindings.ErrorCodeReceiptTooLarge
	CodeAlreadyVoted      = bindings.ErrorCodeAlreadyVoted
	CodeAlreadyApplied    = bindings.ErrorCodeAlreadyApplied
	CodeLeafCarriesFault  = bindings.ErrorCodeLeafCarriesFault
	CodeNoFault           = bindings.ErrorCodeNoFault
	CodeAlreadyCounted    = bindings.ErrorCodeAlreadyCounted
	CodeAppealWindowOpen  = bindings.ErrorCodeAppealWindowOpen
)

// AlreadyDone reports whether a refusal means that the same was done before, by anyone, so that a crank may count it as
// a success: the account to create exists, the account to close is gone, the leaf is applied, the vote is cast, the
// status has moved on.
func AlreadyDone(err error) bool {
	err = Explain(err)
	return errors.Is(err, ErrAccountExists) || errors.Is(err, ErrAccountGone) ||
		Is(err, CodeAlreadyApplied, CodeAlreadyVoted, CodeAlreadyCounted, CodeWrongOrderStatus, CodeWrongLeaseStatus,
			CodeWrongKeeperStatus, CodeStaleReceipt)
}
