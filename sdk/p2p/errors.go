package p2p

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/internal/printable"
)

// Sentinel errors.
var (
	ErrIdentity  = errors.New("not an ed25519 identity")
	ErrAddress   = errors.New("invalid peer address")
	ErrTooBig    = errors.New("message exceeds its size limit")
	ErrEncoding  = errors.New("message is not canonical CBOR of its type")
	ErrClosed    = errors.New("p2p node closed")
	ErrUnknown   = errors.New("no address of the peer is known")
	ErrTruncated = errors.New("stream ended early")
	ErrProtocol  = errors.New("the peer does not speak this protocol")
	// ErrHungUp: the peer let this node in and closed the connection at once. It does not say why.
	ErrHungUp = fmt.Errorf("the peer closed the connection at once: it is ending, or has %d connections of this key, which is the most "+
		"that it takes: try again, and end programs that are not needed", peerConns)
	// ErrNoPlace: the peer has no place for a key that it does not know (docs/protocol/network.md).
	ErrNoPlace = fmt.Errorf("the peer closed the connection: it does not know this key yet, and has no free place for such keys, "+
		"or none for this address and its network: each place becomes free after %s at most; try again then, or ask another keeper "+
		"(a key that it knows from the chain needs no such place)", StrangerGrace)
	// ErrVersion is an ErrProtocol of a peer with another major version.
	ErrVersion = fmt.Errorf("%w in our version", ErrProtocol)
)

// Code says why a peer refused a request.
type Code uint

// The codes. Numbers are part of the protocol and never move.
const (
	CodeOK          Code = 0
	CodeBadRequest  Code = 1
	CodeVersion     Code = 2
	CodeRateLimited Code = 3
	CodeRefused     Code = 4
	CodeInternal    Code = 5
	CodeUnavailable Code = 6
	CodeNotFound    Code = 7

	codeEnd Code = 255 // regular end of a stream of items
)

func (c Code) String() string {
	switch c {
	case CodeOK:
		return "ok"
	case CodeBadRequest:
		return "bad request"
	case CodeVersion:
		return "unknown version"
	case CodeRateLimited:
		return "rate limited"
	case CodeRefused:
		return "refused"
	case CodeInternal:
		return "internal error"
	case CodeUnavailable:
		return "unavailable"
	case CodeNotFound:
		return "not found"
	}
	return fmt.Sprintf("code %d", uint(c))
}

// Error is a refusal. A handler returns it to choose what the caller sees; Call returns it for a refusal by the peer.
type Error struct {
	Code    Code
	Message string
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Message == "" {
		return "peer: " + e.Code.String()
	}
	return fmt.Sprintf("peer: %s: %s", e.Code, printable.Text(e.Message))
}

// Refuse builds an Error.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// IsCode reports whether err is an Error with this code.
func IsCode(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
