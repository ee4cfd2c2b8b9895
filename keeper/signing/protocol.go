package signing

import (
	"errors"
	"fmt"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// Version of the protocol, the first part of every path: /1/sign. docs/protocol/signer.md describes it, and a test
// compares the paths.
const Version = "1"

// holderHeader names the keeper that asks.
const holderHeader = "Gantry-Holder"

// maxRequest bounds a request's body: the leaves of a report of the largest market, in base64.
const maxRequest = 64 << 20

// The bodies. Bytes are base64 (RFC 4648, with padding).
type (
	empty       struct{}
	holdRequest struct {
		Had bool `json:"had"`
	}
	holdAnswer struct {
		Granted  bool           `json:"granted"`
		TTL      int64          `json:"ttl_ms"`
		Key      []byte         `json:"key"`
		Domain   []byte         `json:"domain"`
		First    records.Period `json:"first_period"`
		File     []byte         `json:"file"`
		Sequence uint64         `json:"sequence"`
	}
	bytesBody struct {
		Bytes []byte `json:"bytes"`
	}
	listBody struct {
		List [][]byte `json:"list"`
	}
	signedAnswer struct {
		Signed  [][]byte  `json:"signed"` // statement 144 ‖ signature 64
		Refused []refusal `json:"refused,omitempty"`
	}
	refusal struct {
		Statement []byte `json:"statement"`
		Code      string `json:"code"`
	}
	periodBody struct {
		Period records.Period `json:"period"`
	}
	aboutRequest struct {
		Period records.Period `json:"period"`
		Node   []byte         `json:"node,omitempty"` // empty: of all nodes
	}
	manifestRequest struct {
		Period records.Period `json:"period"`
		Count  uint32         `json:"count"`
		Size   uint32         `json:"size"`
		Digest []byte         `json:"digest"`
	}
	rootBody struct { // of a vote, a proposal or a leaf set
		Period records.Period `json:"period"`
		Root   []byte         `json:"root"`
		Bytes  []byte         `json:"bytes,omitempty"`
	}
	proofBody struct {
		Name  string `json:"name"`
		Bytes []byte `json:"bytes,omitempty"`
	}
	proofsAnswer struct {
		Proofs map[string][]byte `json:"proofs"`
	}
	bidsRequest struct {
		CloseAt int64             `json:"close_at"`
		Order   []byte            `json:"order"`
		Bids    map[string][]byte `json:"bids"` // by node account, base58
	}
	fromRequest struct {
		From int64 `json:"from"`
	}
	bidLine struct { // of a stream, one JSON document a line; the last has End or an error
		CloseAt int64  `json:"close_at,omitempty"`
		Order   []byte `json:"order,omitempty"`
		Node    []byte `json:"node,omitempty"`
		Bytes   []byte `json:"bytes,omitempty"`
		End     bool   `json:"end,omitempty"`
		failure
	}
	bidSetBody struct {
		CloseAt int64  `json:"close_at"`
		Order   []byte `json:"order"`
		Keeper  []byte `json:"keeper"`
		Bytes   []byte `json:"bytes,omitempty"`
	}
	countAnswer struct {
		Count int            `json:"count"`
		First records.Period `json:"first_period"`
	}
	textRequest struct {
		Text string `json:"text"`
	}
	yesAnswer struct {
		Yes bool `json:"yes"`
	}
	failure struct {
		Code string `json:"code,omitempty"`
		Text string `json:"error,omitempty"`
	}
)

// codes are the errors that a keeper tells apart, by what stands for them on the wire.
var codes = []struct {
	code string
	err  error
}{
	{"hold", ErrHold},
	{"refused", ErrRefused},
	{"frozen", store.ErrFrozen},
	{"damaged", store.ErrCorrupt},
	{"not_found", store.ErrNotFound},
	{"conflict", store.ErrConflict},
	{"sealed", store.ErrSealed},
	{"early", store.ErrEarly},
	{"manifest", store.ErrManifest},
	{"open", store.ErrOpen},
	{"proposal", store.ErrProposal},
	{"bid_set", store.ErrBidSet},
}

// errSigner is any other failure of the signer.
var errSigner = errors.New("the signer failed")

func codeOf(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "failed"
}

// err is the error that a failure stands for; nil for none.
func (f failure) err() error {
	if f.Code == "" {
		return nil
	}
	return &remoteError{f.Text, sentinel(f.Code)}
}

func sentinel(code string) error {
	for _, c := range codes {
		if c.code == code {
			return c.err
		}
	}
	return errSigner
}

// remoteError has the signer's words and is the error that they stand for.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

// errBody: the request is none of the protocol.
var errBody = errors.New("not a request of the signer's protocol")

func bytes32(b []byte) (out [32]byte, err error) {
	if len(b) != len(out) {
		return out, fmt.Errorf("%w: %d bytes where 32 are expected", errBody, len(b))
	}
	return [32]byte(b), nil
}
