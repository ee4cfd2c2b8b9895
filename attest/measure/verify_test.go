package measure

import (
	"context"
	"os"
	"testing"
)

// recorded is the run of testdata/vectors.py with what a member asked of it.
type recorded struct {
	signed   Signed
	place    Place
	asked    []Asked
	key      [32]byte
	roots    []Hash
	draw     Draw
	answer   []byte
	verifier *Verifier
}

func readRecorded(t testing.TB) recorded {
	t.Helper()
	v := readVectors(t)
	r := recorded{
		signed: Signed{Commitment: v.Run.Commitment, Signature: v.Run.Signature, Entries: []Entry{v.entry()}},
		place:  v.place(), asked: []Asked{{GPU: v.Run.GPU, Profile: v.Run.profile()}}, key: [32]byte(v.Run.Node),
	}
	for _, root := range v.Run.Roots {
		r.roots = append(r.roots, root.hash())
	}
	c, err := r.signed.Check(r.place, r.key, r.asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckRoots(v.entry(), r.roots, map[uint32]Hash{1: r.roots[1]}); err != nil {
		t.Fatal(err)
	}
	r.draw = NewDraw([32]byte(v.Run.Challenge), v.Run.GPU, c)
	if r.answer, err = os.ReadFile("testdata/answer.bin"); err != nil {
		t.Fatal(err)
	}
	task := NewTask(r.place, v.Run.GPU, v.Run.profile())
	if r.verifier, err = NewVerifier(task, NewColumns(task.Columns, task.Profile.Order), v.entry(), r.roots); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordedAnswer: what another program computed and opened from the format's page passes every check.
func TestRecordedAnswer(t *testing.T) {
	r := readRecorded(t)
	if err := r.verifier.Verify(context.Background(), r.draw, r.answer); err != nil {
		t.Fatal(err)
	}
}
