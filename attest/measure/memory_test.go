package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
)

// TestMemory: a check at the largest order takes little memory, its answer and the columns' keys included, and an answer
// that is all wrong is refused before a cell is computed.
func TestMemory(t *testing.T) {
	const most = 2 << 20
	at := atOrders[1]
	var before, after runtime.MemStats
	h := newHonest(t, at.p, at.walks)
	runtime.ReadMemStats(&before)
	v, err := NewVerifier(h.v.task, NewColumns(h.v.task.Columns, at.p.Order), h.v.entry, h.v.roots)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	answer := make([]byte, AnswerBytes(at.p, at.walks, h.draw))
	for i := range answer {
		answer[i] = byte(r.Uint32())
	}
	if err := v.Verify(context.Background(), h.draw, answer); !errors.Is(err, ErrLeaf) {
		t.Errorf("a random answer: %v", err)
	}
	for o, l := range h.leaves {
		if err := v.cells(l, h.draw.Cells(o)); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range h.walks {
		if _, err := v.walk(context.Background(), w); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("a check took %d KiB, at most %d are expected", took>>10, most>>10)
	} else {
		t.Logf("a check took %d KiB", took>>10)
	}
}

// TestVerifyEnds: a member that goes away does not compute on.
func TestVerifyEnds(t *testing.T) {
	r := readRecorded(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.verifier.Verify(ctx, r.draw, r.answer); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
