package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/txm"
)

// Exit codes of the command.
const (
	ExitDone        = 0
	ExitRefused     = 1 // by the market or the cluster, with its reason
	ExitUsage       = 2 // the command line, a file or a setting is wrong
	ExitNetwork     = 3 // a node does not answer, or is of another network
	ExitInterrupted = 4 // with what is now true on chain
	ExitJobFailed   = 5 // the lease did what it should, the customer's own job did not
	ExitViolation   = 6 // an auction was replayed, and a violation is proven
)

// failure is an error that knows its exit code and what to do about it.
type failure struct {
	code   int
	reason string
	advice string
	cause  error
	// told: the command's own document says it already.
	told bool
	// quiet: it is the exit of a customer's own command, of which nothing is said.
	quiet bool
}

func (f *failure) Error() string {
	if f.advice == "" {
		return f.reason
	}
	return f.reason + "; " + f.advice
}

func (f *failure) Unwrap() error { return f.cause }

// refused is a failure that the market would answer with, found before a transaction was sent.
func refused(reason, advice string) error {
	return &failure{code: ExitRefused, reason: reason, advice: advice, cause: nil}
}

// usage is a failure of the command line.
func usage(reason, advice string) error {
	return &failure{code: ExitUsage, reason: reason, advice: advice, cause: nil}
}

// network is a failure to reach somebody. Trying again does not help against another version.
func network(reason, advice string, cause error) error {
	if errors.Is(cause, p2p.ErrVersion) {
		return fromMessage(ExitRefused, cause)
	}
	return &failure{code: ExitNetwork, reason: reason, advice: advice, cause: cause}
}

// interrupted says what is true after a command was stopped half way.
func interrupted(reason, advice string) error {
	return &failure{code: ExitInterrupted, reason: reason, advice: advice, cause: context.Canceled}
}

// classify turns any error into a failure.
func classify(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	err = market.Explain(err)
	var refusal *market.Error
	var tx *txm.TxError
	var rpc *chain.RPCError
	switch {
	case errors.Is(err, market.ErrProgramMissing), errors.Is(err, market.ErrMarketMissing), errors.Is(err, market.ErrProgramMismatch),
		errors.Is(err, chain.ErrWrongCluster):
		return fromMessage(ExitNetwork, err)
	case errors.As(err, &refusal):
		return &failure{code: ExitRefused, reason: refusal.Reason, advice: refusal.Advice, cause: err}
	case errors.As(err, &tx) && errors.Is(err, txm.ErrNoFunds):
		return &failure{code: ExitRefused, reason: txm.ErrNoFunds.Error(), advice: tx.Hint, cause: err}
	case errors.As(err, &tx) && tx.Name == "InsufficientFundsForRent":
		return &failure{code: ExitRefused, reason: "not enough SOL for the rent of a new account", advice: "send some SOL to your wallet; rent comes back when the account is closed", cause: err}
	case errors.As(err, &tx):
		return &failure{code: ExitRefused, reason: "transaction refused: " + tx.Name, advice: tx.Hint, cause: err}
	case errors.Is(err, chain.ErrKeypairMissing), errors.Is(err, chain.ErrKeypairFormat), errors.Is(err, chain.ErrConfig),
		errors.Is(err, chain.ErrEndpoint), errors.Is(err, chain.ErrCommitment), errors.Is(err, chain.ErrAmount),
		errors.Is(err, market.ErrAmount), errors.Is(err, ix.ErrInstruction):
		return fromMessage(ExitUsage, err)
	case errors.Is(err, context.Canceled):
		return &failure{code: ExitInterrupted, reason: "interrupted", advice: "nothing was sent that is not shown above", cause: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{code: ExitNetwork, reason: "timed out", advice: "try again, or check the connection", cause: err}
	case errors.Is(err, chain.ErrUnreachable), errors.Is(err, chain.ErrClosed), errors.As(err, &rpc), errors.Is(err, p2p.ErrUnknown):
		return fromMessage(ExitNetwork, err)
	}
	return fromMessage(ExitRefused, err)
}

// fromMessage splits "reason; advice", the form of messages all over the client.
func fromMessage(code int, err error) *failure {
	reason, advice, _ := strings.Cut(strings.ReplaceAll(err.Error(), "\n", " "), "; ")
	return &failure{code: code, reason: reason, advice: advice, cause: err}
}

// print writes "error: …" and the advice below it. An interruption is what somebody wanted, not an error.
func (f *failure) print(w io.Writer) {
	prefix := "error: "
	if f.code == ExitInterrupted {
		prefix = ""
	}
	fmt.Fprintf(w, "%s%s\n", prefix, strings.ReplaceAll(f.reason, "\n", " "))
	if f.advice != "" {
		fmt.Fprintf(w, "       %s\n", f.advice)
	}
}

// failureJSON is the document that --json prints instead of a result.
type failureJSON struct {
	Error struct {
		Reason  string `json:"reason"`
		Advice  string `json:"advice,omitempty"`
		Exit    int    `json:"exit"`
		Program string `json:"program,omitempty"` // name of the program's error
		Code    uint32 `json:"code,omitempty"`    // number of the program's error
	} `json:"error"`
}

func (f *failure) json() failureJSON {
	var out failureJSON
	out.Error.Reason, out.Error.Advice, out.Error.Exit = f.reason, f.advice, f.code
	if f.cause != nil {
		if code, ok := market.CodeOf(f.cause); ok {
			out.Error.Program, out.Error.Code = code.Name(), uint32(code)
		}
	}
	return out
}
