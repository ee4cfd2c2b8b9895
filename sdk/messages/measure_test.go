package messages_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// The bounds of the messages are those of the format: nothing that an honest machine sends is above them, and little more
// is let in.
func TestMeasureMessagesHoldWhatTheFormatAllows(t *testing.T) {
	require.Equal(t, measure.MaxRounds, messages.MaxMeasureRoots)
	largest := measure.Profile{Order: measure.MaxOrder, Fold: 2, Rows: measure.MaxRows, ChainMs: 1, Resident: 1, WalkMs: 1, Lanes: measure.MaxLanes}
	require.NoError(t, largest.Validate())
	most := 0
	for i := range byte(50) { // walks that are the first of their lane take less
		draw := measure.NewDraw([32]byte{i}, 0, measure.Commitment{})
		most = max(most, measure.AnswerBytes(largest, measure.MaxWalks, draw))
	}
	require.LessOrEqual(t, most, messages.MaxMeasureAnswer)
	require.Greater(t, most, messages.MaxMeasureAnswer*9/10)

	honest := []any{
		messages.MeasureItem{Roots: &messages.MeasureRoots{GPU: 7, First: 1, Roots: make([]byte, 32*measure.MaxRounds)}},
		messages.MeasureItem{Commitment: &messages.MeasureCommitment{
			Commitment: make([]byte, measure.MaxCommitmentBytes), Entries: make([]byte, measure.EntryBytes*measure.MaxGPUs),
		}},
		messages.MeasureItem{Refused: messages.MeasureLease},
		messages.MeasureOpening{Answer: make([]byte, messages.MaxMeasureAnswer)},
	}
	for _, m := range honest {
		require.NoError(t, messages.Check(m))
		b, err := p2p.Encode(m)
		require.NoError(t, err)
		require.Less(t, len(b), messages.MaxMeasureItem)
	}
	for _, m := range []any{
		messages.MeasureItem{Roots: &messages.MeasureRoots{Roots: make([]byte, 32*measure.MaxRounds+1)}},
		messages.MeasureItem{Commitment: &messages.MeasureCommitment{Commitment: make([]byte, measure.MaxCommitmentBytes+1)}},
		messages.MeasureItem{Commitment: &messages.MeasureCommitment{Entries: make([]byte, measure.EntryBytes*measure.MaxGPUs+1)}},
		messages.MeasureOpening{Answer: make([]byte, messages.MaxMeasureAnswer+1)},
	} {
		require.ErrorIs(t, messages.Check(m), messages.ErrLimit)
	}
}

// What is read is what was written, and has one encoding.
func TestMeasureMessagesAreReadAsWritten(t *testing.T) {
	request := messages.MeasureRequest{Version: messages.Version, Node: [32]byte{1}, Period: 1 << 40, Tick: 11, Slot: 9, BlockHash: [32]byte{2}}
	open := messages.MeasureOpenRequest{Version: messages.Version, Node: [32]byte{1}, Period: 3, GPU: 7, Challenge: [32]byte{4}}
	item := messages.MeasureItem{Roots: &messages.MeasureRoots{GPU: 1, First: 4095, Roots: make([]byte, 32)}}
	var gotRequest messages.MeasureRequest
	var gotOpen messages.MeasureOpenRequest
	var gotItem messages.MeasureItem
	for _, c := range []struct{ wrote, read any }{{&request, &gotRequest}, {&open, &gotOpen}, {&item, &gotItem}} {
		b, err := p2p.Encode(c.wrote)
		require.NoError(t, err)
		require.NoError(t, p2p.Decode(b, c.read))
		require.Equal(t, c.wrote, c.read)
		require.ErrorIs(t, p2p.Decode(append(b, 0), c.read), p2p.ErrEncoding)
	}
}

func TestMeasureRefusalsHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for r := messages.MeasureLease; r <= messages.MeasureJob; r++ {
		require.False(t, seen[r.String()])
		seen[r.String()] = true
	}
	require.Equal(t, "a reason that is not known", messages.MeasureRefusal(0).String())
	require.Equal(t, "a reason that is not known", (messages.MeasureJob + 1).String())
}

// FuzzMeasureItem: whatever arrives is refused, or is within the bounds and encoded in the one way.
func FuzzMeasureItem(f *testing.F) {
	for _, m := range []messages.MeasureItem{
		{},
		{Roots: &messages.MeasureRoots{GPU: 1, First: 2, Roots: make([]byte, 64)}},
		{Commitment: &messages.MeasureCommitment{Commitment: make([]byte, 137), Entries: make([]byte, 145)}},
		{Refused: messages.MeasureOver},
	} {
		b, err := p2p.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m messages.MeasureItem
		if err := p2p.Decode(b, &m); err != nil {
			if !errors.Is(err, p2p.ErrEncoding) {
				t.Fatal(err)
			}
			return
		}
		if messages.Check(m) == nil && m.Roots != nil && len(m.Roots.Roots) > 32*messages.MaxMeasureRoots {
			t.Fatalf("%d bytes of roots", len(m.Roots.Roots))
		}
		again, err := p2p.Encode(m)
		if err != nil || string(again) != string(b) {
			t.Fatalf("read %x and wrote %x: %v", b, again, err)
		}
	})
}
