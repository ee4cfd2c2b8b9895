package measure

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrEncoding means that bytes are not what they are said to encode.
var ErrEncoding = errors.New("the bytes are not of the format")

// Entry is what a machine states of one GPU.
type Entry struct {
	GPU     uint8
	Profile Hash
	// Rounds is R, LastRoot the root of the last of them, RoundsRoot over all.
	Rounds     uint32
	LastRoot   Hash
	RoundsRoot Hash
	// Walks is N, WalksRoot over all walks of all lanes.
	Walks     uint32
	WalksRoot Hash
	// ChainMs and WalkMs are the times that the machine took, by its own clock. No verifier believes them.
	ChainMs, WalkMs uint32
}

// EntryBytes is the length of an encoded entry.
const EntryBytes = 145

// Bytes encodes the entry.
func (e Entry) Bytes() [EntryBytes]byte {
	b := make([]byte, 0, EntryBytes)
	le := binary.LittleEndian
	b = append(b, e.GPU)
	b = append(b, e.Profile[:]...)
	b = le.AppendUint32(b, e.Rounds)
	b = append(b, e.LastRoot[:]...)
	b = append(b, e.RoundsRoot[:]...)
	b = le.AppendUint32(b, e.Walks)
	b = append(b, e.WalksRoot[:]...)
	b = le.AppendUint32(b, e.ChainMs)
	b = le.AppendUint32(b, e.WalkMs)
	return [EntryBytes]byte(b)
}

// DecodeEntry reads an entry; it holds it against nothing.
func DecodeEntry(b []byte) (Entry, error) {
	if len(b) != EntryBytes {
		return Entry{}, fmt.Errorf("%w: %d bytes, an entry has %d", ErrEncoding, len(b), EntryBytes)
	}
	le := binary.LittleEndian
	return Entry{
		GPU: b[0], Profile: Hash(b[1:33]),
		Rounds: le.Uint32(b[33:]), LastRoot: Hash(b[37:69]), RoundsRoot: Hash(b[69:101]),
		Walks: le.Uint32(b[101:]), WalksRoot: Hash(b[105:137]),
		ChainMs: le.Uint32(b[137:]), WalkMs: le.Uint32(b[141:]),
	}, nil
}

// Hash is what the commitment holds of the entry.
func (e Entry) Hash() Hash {
	b := e.Bytes()
	return sum(tagGPU[:], b[:])
}

// Commitment is what a machine signs: who it is, when, and what each of its GPUs computed.
type Commitment struct {
	Place
	// Entries are the hashes of the GPUs' entries, in the order of their numbers.
	Entries []Hash
}

const (
	commitmentHead = 32 + 8 + 32 + 32 + 1
	// MaxCommitmentBytes is the length of a commitment of [MaxGPUs].
	MaxCommitmentBytes = commitmentHead + 32*MaxGPUs
)

// Commit makes the commitment to entries.
func Commit(p Place, entries []Entry) Commitment {
	c := Commitment{Place: p}
	for _, e := range entries {
		c.Entries = append(c.Entries, e.Hash())
	}
	return c
}

// Bytes encodes the commitment. These bytes are what is signed.
func (c Commitment) Bytes() []byte {
	b := append(make([]byte, 0, MaxCommitmentBytes), tagCommitment[:]...)
	b = append(b, c.Domain[:]...)
	b = append(b, c.Instant[:]...)
	b = append(b, c.Node[:]...)
	b = append(b, uint8(len(c.Entries)))
	for _, e := range c.Entries {
		b = append(b, e[:]...)
	}
	return b
}

// DecodeCommitment reads a commitment.
func DecodeCommitment(b []byte) (Commitment, error) {
	var c Commitment
	switch {
	case len(b) < commitmentHead || !bytes.Equal(b[:32], tagCommitment[:]):
		return c, fmt.Errorf("%w: no commitment", ErrEncoding)
	case b[commitmentHead-1] < 1 || b[commitmentHead-1] > MaxGPUs:
		return c, fmt.Errorf("%w: a commitment of %d GPUs, there must be 1 to %d", ErrEncoding, b[commitmentHead-1], MaxGPUs)
	case len(b) != commitmentHead+32*int(b[commitmentHead-1]):
		return c, fmt.Errorf("%w: a commitment of %d GPUs in %d bytes", ErrEncoding, b[commitmentHead-1], len(b))
	}
	c.Domain, c.Instant, c.Node = [8]byte(b[32:]), [32]byte(b[40:]), [32]byte(b[72:])
	for b = b[commitmentHead:]; len(b) > 0; b = b[32:] {
		c.Entries = append(c.Entries, Hash(b))
	}
	return c, nil
}

// Signed reports whether an ed25519 key signed the commitment.
func (c Commitment) Signed(key [32]byte, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(key[:], c.Bytes(), signature)
}
