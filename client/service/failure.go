package service

import (
	"context"
	"errors"
	"strings"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/sponsor"
	"github.com/gantry-market/gantry/sdk/txm"
)

// Kinds of failures, which are the exit codes of the command line.
const (
	CodeDone        = 0
	CodeRefused     = 1 // by the market or the cluster, with its reason
	CodeUsage       = 2 // the command line, a file or a setting is wrong
	CodeNetwork     = 3 // a node does not answer, or is of another network
	CodeInterrupted = 4 // with what is now true on chain
	CodeJobFailed   = 5 // the lease did what it should, the customer's own job did not
	CodeViolation   = 6 // an auction was replayed, and a violation is proven
	CodeUnknown     = 7 // the node does not show all that happened: nothing that it shows is wrong
)

// Failure is an error with its kind and an advice.
type Failure struct {
	// Code is the kind of failure: one of the codes above, or the exit code of a customer's own command.
	Code   int
	Reason string // what happened
	Advice string // what to do about it; may be empty
	Cause  error
	// Told: the command's own document says it already.
	Told bool
	// Quiet: nothing is printed, because it is the exit of a customer's own command.
	Quiet bool
}

func (f *Failure) Error() string {
	if f.Advice == "" {
		return f.Reason
	}
	return f.Reason + "; " + f.Advice
}

func (f *Failure) Unwrap() error { return f.Cause }

// Refused is a failure that the market would answer with, found before a transaction was sent.
func Refused(reason, advice string) error {
	return &Failure{Code: CodeRefused, Reason: reason, Advice: advice, Cause: nil}
}

// Usage is a failure of the input: a command line, a request, a file, a setting.
func Usage(reason, advice string) error {
	return &Failure{Code: CodeUsage, Reason: reason, Advice: advice, Cause: nil}
}

// Network is a failure to reach somebody. Trying again does not help against another version.
func Network(reason, advice string, cause error) error {
	if errors.Is(cause, p2p.ErrVersion) {
		return FromMessage(CodeRefused, cause)
	}
	return &Failure{Code: CodeNetwork, Reason: reason, Advice: advice, Cause: cause}
}

// otherNode advises to ask another node than one that does not show all that happened.
const otherNode = "another node of the cluster, or an archive node, may show all of it: --url"

// Unknown means that nobody knows what happened, because the node does not show all of it.
func Unknown(reason string, cause error) error {
	return &Failure{Code: CodeUnknown, Reason: reason, Advice: otherNode, Cause: cause}
}

// Interrupted describes the state after a command was stopped half way.
func Interrupted(reason, advice string) error {
	return &Failure{Code: CodeInterrupted, Reason: reason, Advice: advice, Cause: context.Canceled}
}

// Classify turns any error into a failure.
func Classify(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	err = market.Explain(err)
	var refusal *market.Error
	var tx *txm.TxError
	var rpc *chain.RPCError
	switch {
	case errors.Is(err, chain.ErrUnreadable):
		return &Failure{Code: CodeUnknown, Reason: err.Error(), Advice: otherNode, Cause: err}
	case errors.Is(err, market.ErrProgramMissing), errors.Is(err, market.ErrMarketMissing), errors.Is(err, market.ErrProgramMismatch),
		errors.Is(err, chain.ErrWrongCluster):
		return FromMessage(CodeNetwork, err)
	case errors.As(err, &refusal):
		return &Failure{Code: CodeRefused, Reason: refusal.Reason, Advice: refusal.Advice, Cause: err}
	case errors.As(err, &tx) && errors.Is(err, txm.ErrNoFunds):
		return &Failure{Code: CodeRefused, Reason: txm.ErrNoFunds.Error(), Advice: tx.Hint, Cause: err}
	case errors.As(err, &tx) && tx.Name == "InsufficientFundsForRent":
		return &Failure{Code: CodeRefused, Reason: "not enough SOL for the rent of a new account", Advice: "send some SOL to your wallet; rent comes back when the account is closed", Cause: err}
	case errors.As(err, &tx):
		return &Failure{Code: CodeRefused, Reason: "transaction refused: " + tx.Name, Advice: tx.Hint, Cause: err}
	case errors.Is(err, chain.ErrKeypairMissing), errors.Is(err, chain.ErrKeypairFormat), errors.Is(err, chain.ErrConfig),
		errors.Is(err, chain.ErrEndpoint), errors.Is(err, chain.ErrCommitment), errors.Is(err, chain.ErrAmount),
		errors.Is(err, market.ErrAmount), errors.Is(err, ix.ErrInstruction), errors.Is(err, sponsor.ErrURL):
		return FromMessage(CodeUsage, err)
	case errors.Is(err, context.Canceled):
		return &Failure{Code: CodeInterrupted, Reason: "interrupted", Advice: "nothing was sent that is not shown above", Cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{Code: CodeNetwork, Reason: "timed out", Advice: "try again, or check the connection", Cause: err}
	case errors.Is(err, chain.ErrUnreachable), errors.Is(err, chain.ErrClosed), errors.As(err, &rpc), errors.Is(err, p2p.ErrUnknown), errors.Is(err, sponsor.ErrUnreachable):
		return FromMessage(CodeNetwork, err)
	}
	return FromMessage(CodeRefused, err)
}

// FromMessage splits "reason; advice", the form of messages all over the client.
func FromMessage(code int, err error) *Failure {
	reason, advice, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\n", " "), "; ")
	return &Failure{Code: code, Reason: reason, Advice: advice, Cause: err}
}
