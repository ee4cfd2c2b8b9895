package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/gagliardetto/solana-go/rpc/jsonrpc"
)

// Sentinel errors. Wrapping messages say what to do.
var (
	ErrUnreachable     = errors.New("no Solana RPC endpoint answers")
	ErrAnswer          = errors.New("the RPC endpoint gave an answer that no Solana node gives")
	ErrAccountNotFound = errors.New("account does not exist")
	ErrNotFound        = errors.New("not found")
	ErrWrongCluster    = errors.New("endpoint belongs to another cluster")
	ErrNoEndpoint      = errors.New("no RPC endpoint given")
	ErrEndpoint        = errors.New("invalid RPC endpoint")
	ErrKeypairMissing  = errors.New("keypair file does not exist")
	ErrKeypairFormat   = errors.New("not a Solana keypair file")
	ErrKeypairExists   = errors.New("keypair file exists already")
	ErrConfig          = errors.New("invalid solana CLI configuration")
	ErrAmount          = errors.New("not an amount of SOL with at most nine decimals")
	ErrCommitment      = errors.New("commitment level must be processed, confirmed or finalized")
	ErrUnreadable      = errors.New("the transaction cannot be read")
	ErrClosed          = errors.New("connection closed")
	ErrAmbiguous       = errors.New("the transaction may have been sent")
)

// Codes of JSON-RPC errors that Solana nodes return.
const (
	CodeSimulationFailed   = -32002 // preflight failed; Data holds the simulation
	CodeNodeUnhealthy      = -32005 // the node is behind the cluster
	CodeSlotNotReached     = -32016 // minContextSlot lies ahead of the node
	CodeBlockNotAvailable  = -32004
	CodeNoHistory          = -32011 // the node keeps no transaction history
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeBadSignature       = -32003
	CodeBlockStatusPending = -32014
	CodeVersionNotAsked    = -32015 // the transaction's version is above the one that was asked for
)

// RPCError is an answer of the node that refuses the call. It is not a failure of the connection, so another endpoint
// would usually answer the same.
type RPCError struct {
	Method  string
	Code    int
	Message string
	Data    json.RawMessage
}

// Error returns one line.
func (e *RPCError) Error() string {
	return fmt.Sprintf("%s: %s (code %d)", e.Method, strings.ReplaceAll(e.Message, "\n", " "), e.Code)
}

// elsewhere reports whether another endpoint may answer the call.
func (e *RPCError) elsewhere() bool {
	return e.Code == CodeNodeUnhealthy || e.Code == CodeSlotNotReached || e.Code == 429
}

// IsCode reports whether err is an RPCError with this code.
func IsCode(err error, code int) bool {
	var re *RPCError
	return errors.As(err, &re) && re.Code == code
}

// Transient reports whether the same call may succeed later without any change: the endpoint is away, overloaded or
// behind.
func Transient(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrClosed) ||
		IsCode(err, CodeNodeUnhealthy) || IsCode(err, CodeSlotNotReached) ||
		IsCode(err, CodeBlockNotAvailable) || IsCode(err, CodeBlockStatusPending)
}

// convert turns solana-go's errors into ours. failover is true when another endpoint may answer the call.
func convert(method string, err error) (out error, failover bool) {
	var je *jsonrpc.RPCError
	if errors.As(err, &je) {
		data, mErr := json.Marshal(je.Data)
		if mErr != nil {
			data = nil
		}
		re := &RPCError{Method: method, Code: je.Code, Message: je.Message, Data: data}
		if busy := (*busyError)(nil); errors.As(err, &busy) {
			return &busyError{re, busy.pause}, true
		}
		return re, re.elsewhere()
	}
	if errors.Is(err, context.Canceled) {
		return err, false
	}
	return err, true
}

// reason shortens a transport error to its cause, without the URL that the caller prints anyway.
func reason(err error) string {
	var he *jsonrpc.HTTPError
	if errors.As(err, &he) {
		return fmt.Sprintf("HTTP status %d", he.Code)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return strings.TrimPrefix(op.Err.Error(), "connect: ")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "timed out"
	}
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 && len(s) > 120 {
		s = s[i+2:]
	}
	return strings.ReplaceAll(s, "\n", " ")
}
