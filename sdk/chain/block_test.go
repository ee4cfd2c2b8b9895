package chain_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/chain"
)

// ledger is a chain of blocks, with slots left out.
type ledger struct {
	blocks []chain.Block
}

func (l *ledger) Last(context.Context) (uint64, error) {
	return l.blocks[len(l.blocks)-1].Slot, nil
}

func (l *ledger) At(_ context.Context, slot uint64) (chain.Block, error) {
	i, _ := slices.BinarySearchFunc(l.blocks, slot, func(b chain.Block, s uint64) int { return int(int64(b.Slot) - int64(s)) })
	if i == len(l.blocks) {
		return chain.Block{}, chain.ErrNoBlockYet
	}
	return l.blocks[i], nil
}

func newLedger(n int, start int64, step func(i int) (slots uint64, seconds int64)) *ledger {
	l := &ledger{}
	slot, at := uint64(1), start
	for i := range n {
		l.blocks = append(l.blocks, chain.Block{Slot: slot, Hash: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, slot)), Time: time.Unix(at, 0)})
		s, secs := step(i)
		slot, at = slot+s, at+secs
	}
	return l
}

// Whatever slots were left out and however long they lasted: the block that is found is the first one of that time.
func TestFirstBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger(rapid.IntRange(1, 300).Draw(t, "blocks"), 10_000, func(int) (uint64, int64) {
			return rapid.Uint64Range(1, 4).Draw(t, "slots"), rapid.Int64Range(0, 3).Draw(t, "seconds")
		})
		at := time.Unix(rapid.Int64Range(9_990, 10_600).Draw(t, "time"), 0)
		want := slices.IndexFunc(l.blocks, func(b chain.Block) bool { return !b.Time.Before(at) })
		got, err := chain.FirstBlock(t.Context(), l, at)
		if want < 0 {
			require.ErrorIs(t, err, chain.ErrNoBlockYet)
			return
		}
		require.NoError(t, err)
		require.Equal(t, l.blocks[want], got)
	})
}
