package p2p

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"
)

// codec has the one way in which messages are written and read.
type codec struct {
	enc   cbor.EncMode
	dec   cbor.DecMode // refuses unknown fields
	newer cbor.DecMode // passes over them
}

var std = mustCodec()

// mustCodec builds the modes from constants; the tests cover that it does not fail.
func mustCodec() codec {
	eo := cbor.CoreDetEncOptions()
	eo.TagsMd = cbor.TagsForbidden
	enc, err := eo.EncMode()
	if err != nil {
		panic(err)
	}
	do := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, IndefLength: cbor.IndefLengthForbidden,
		TagsMd: cbor.TagsForbidden, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField,
		MaxNestedLevels: 16, MaxArrayElements: 1 << 17, MaxMapPairs: 1 << 12, UTF8: cbor.UTF8RejectInvalid,
	}
	dec, err := do.DecMode()
	if err != nil {
		panic(err)
	}
	do.ExtraReturnErrors = cbor.ExtraDecErrorNone
	newer, err := do.DecMode()
	if err != nil {
		panic(err)
	}
	return codec{enc, dec, newer}
}

// Encode writes a message in canonical CBOR.
func Encode(v any) ([]byte, error) {
	b, err := std.enc.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	return b, nil
}

// Decode reads exactly one message and refuses any encoding but the canonical one, unknown fields included. v must
// point to a zero value.
func Decode(b []byte, v any) error {
	if err := std.dec.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	again, err := std.enc.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	if !bytes.Equal(b, again) {
		return fmt.Errorf("%w: another encoding of the same content", ErrEncoding)
	}
	return nil
}

// envelope is what travels: gossip messages and requests have code and message zero.
type envelope struct {
	_       struct{} `cbor:",toarray"`
	Version uint
	Code    Code
	Message string
	Body    cbor.RawMessage
}

var nothing = cbor.RawMessage{0xf6} // null

func pack(version uint, code Code, message string, body any) ([]byte, error) {
	e := envelope{Version: version, Code: code, Message: message, Body: nothing}
	if body != nil {
		b, err := Encode(body)
		if err != nil {
			return nil, err
		}
		e.Body = b
	}
	return Encode(e)
}

func unpack(b []byte) (envelope, error) {
	var e envelope
	err := Decode(b, &e)
	return e, err
}

// writeFrame writes a length-prefixed message.
func writeFrame(w io.Writer, b []byte, limit int) error {
	if len(b) > limit {
		return fmt.Errorf("%d bytes, at most %d: %w", len(b), limit, ErrTooBig)
	}
	buf := make([]byte, 4, 4+len(b))
	binary.LittleEndian.PutUint32(buf, uint32(len(b)))
	_, err := w.Write(append(buf, b...))
	return err
}

// readFrame reads a length-prefixed message. It sets aside no more memory than arrives.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	return readFramePaced(r, limit, func(int) {})
}

// readFramePaced tells announced how long the message will be before it reads on.
func readFramePaced(r io.Reader, limit int, announced func(size int)) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrTruncated
		}
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if uint64(n) > uint64(limit) {
		return nil, fmt.Errorf("%d bytes, at most %d: %w", n, limit, ErrTooBig)
	}
	announced(int(n))
	var buf bytes.Buffer
	if _, err := io.CopyN(&buf, r, int64(n)); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, ErrTruncated
		}
		return nil, err
	}
	return buf.Bytes(), nil
}
