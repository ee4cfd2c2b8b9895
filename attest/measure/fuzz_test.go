package measure

import (
	"bytes"
	"context"
	"testing"
)

// FuzzAnswer: of all answers to one question, only the honest one is taken, whatever bytes stand where.
func FuzzAnswer(f *testing.F) {
	r := readRecorded(f)
	f.Add(r.answer, uint16(0), []byte{})
	f.Add(r.answer[:1000], uint16(7), []byte{1})
	f.Add(r.answer, uint16(len(r.answer)-1), []byte{255})
	f.Fuzz(func(t *testing.T, answer []byte, at uint16, change []byte) {
		answer = bytes.Clone(answer)
		for i, b := range change {
			if p := int(at) + i; p < len(answer) {
				answer[p] ^= b
			}
		}
		err := r.verifier.Verify(context.Background(), r.draw, answer)
		if honest := bytes.Equal(answer, r.answer); honest != (err == nil) {
			t.Errorf("honest %v, verified: %v", honest, err)
		}
	})
}

// FuzzCommitment: what is read encodes to the same bytes, and only what the node signed passes.
func FuzzCommitment(f *testing.F) {
	r := readRecorded(f)
	f.Add(r.signed.Commitment, r.signed.Signature)
	f.Add(r.signed.Commitment[:commitmentHead], []byte{})
	f.Fuzz(func(t *testing.T, commitment, signature []byte) {
		c, err := DecodeCommitment(commitment)
		if err == nil && !bytes.Equal(c.Bytes(), commitment) {
			t.Errorf("%x was read as %x", commitment, c.Bytes())
		}
		s := Signed{Commitment: commitment, Signature: signature, Entries: r.signed.Entries}
		if _, err := s.Check(r.place, r.key, r.asked); err == nil && !bytes.Equal(commitment, r.signed.Commitment) {
			t.Errorf("%x passes", commitment)
		}
	})
}
