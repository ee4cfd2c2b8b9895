package seal

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/crypto/chacha20poly1305"
)

// ErrBack: a record is not the next one of those that answer a sealed message, or was changed.
var ErrBack = errors.New("not the next record of what answers the sealed message")

// Overhead is by how much a record is longer sealed than open.
const Overhead = chacha20poly1305.Overhead

// ErrReader: not what Keep of a reader has given.
var ErrReader = errors.New("not the key of a reader")

// back is the way from a key's owner to who has sealed a message to it.
type back struct {
	key  []byte
	aead cipher.AEAD

	mu sync.Mutex
	n  uint64
}

// newBack derives the key from the HPKE context of the message.
func newBack(export func(context string, length int) ([]byte, error)) (*back, error) {
	key, err := export("gantry-seal-back-1", chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("seal: key of the answers: %w", err)
	}
	return backOf(key)
}

func backOf(key []byte) (*back, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, fmt.Errorf("seal: key of the answers: %w", err)
	}
	return &back{key: key, aead: aead}, nil
}

// nonce is that of the record whose turn it is.
func (b *back) nonce() []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, chacha20poly1305.NonceSize-counterBytes), b.n)
}

// Writer seals records for the sealer of a message. It is safe for concurrent use.
type Writer struct{ b *back }

// Seal seals the next record.
func (w *Writer) Seal(record []byte) []byte {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	out := w.b.aead.Seal(nil, w.b.nonce(), record, nil)
	w.b.n++
	return out
}

// Reader opens the records in their order. It is safe for concurrent use.
type Reader struct{ b *back }

// Keep is the reader's key, with which [Again] reads the records once more. It is as secret as they are.
func (r *Reader) Keep() []byte { return bytes.Clone(r.b.key) }

// Again reads the records from the first one on, with the key of a reader. Error: ErrReader.
func Again(key []byte) (*Reader, error) {
	if len(key) != chacha20poly1305.KeySize {
		return nil, ErrReader
	}
	b, err := backOf(bytes.Clone(key))
	return &Reader{b}, err
}

// Open opens the next record. One that does not open does not count. Error: ErrBack.
func (r *Reader) Open(sealed []byte) ([]byte, error) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	out, err := r.b.aead.Open(nil, r.b.nonce(), sealed, nil)
	if err != nil {
		return nil, ErrBack
	}
	r.b.n++
	return out, nil
}
