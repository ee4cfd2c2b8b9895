package consensus

import (
	"context"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// However many roots have votes, a round of questions is about eight of them at most, and each has its turn.
func TestEveryRootIsAskedForInTurn(t *testing.T) {
	for _, count := range []int{0, 1, 4, 8, 9, 13, 255} {
		var roots []records.Hash
		for i := range count {
			roots = append(roots, records.Hash{byte(i), 1})
		}
		seen := map[records.Hash]bool{}
		for turn := range 64 {
			asked := rootsOfTurn(slices.Clone(roots), turn)
			require.LessOrEqual(t, len(asked), 8)
			require.Equal(t, roots[:min(count, 4)], asked[:min(count, 4)], "the heaviest always")
			for _, root := range asked {
				seen[root] = true
			}
		}
		require.Len(t, seen, count)
	}
}

// Peers that hand out nonsense are not believed and do not make us take more than was announced.
func TestPiecesThatDoNotFitAreRefused(t *testing.T) {
	for name, piece := range map[string]messages.Piece{
		"more than announced": {Total: 1000, Data: make([]byte, 10)},
		"more than in all":    {Total: 5, Data: make([]byte, 10)},
		"nothing":             {Total: 50},
		"too large a piece":   {Total: 60, Data: make([]byte, messages.MaxPiece+1)},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			e := c.participants[0].engine
			e.o.Peers = nonsense{e.o.Peers, piece}
			_, err := e.fetchBlob(t.Context(), c.participants[1].wallet(), messages.BlobSet, 1, [32]byte{}, 100)
			require.ErrorIs(t, err, ErrPiece)
		})
	}
}

// nonsense answers every request for a piece with the same.
type nonsense struct {
	Peers
	piece messages.Piece
}

func (n nonsense) Blob(context.Context, solana.PublicKey, messages.BlobRequest) (messages.Piece, error) {
	return n.piece, nil
}

// A keeper that announces a set of 32 MiB in a market of four nodes is not asked for it: all keepers would hold it.
func TestASetThatTheMarketCannotMakeIsNotTaken(t *testing.T) {
	c := newCluster(t, 2)
	e := c.participants[0].engine
	asked := 0
	e.o.Peers = counting{e.o.Peers, &asked}
	m := statement.Manifest{Keeper: c.participants[1].wallet(), Period: 1, Size: statement.MaxSet}
	require.False(t, e.fetchSet(t.Context(), chainFacts{period: 1, nodes: 4}, m, nil))
	require.Zero(t, asked)
	m.Size = 100 << 10
	require.False(t, e.fetchSet(t.Context(), chainFacts{period: 1, nodes: 4}, m, nil))
	require.NotZero(t, asked)
	require.Equal(t, statement.MaxSet, statement.MaxSetOf(40_000))
}

// counting counts how often pieces are asked for, and has none.
type counting struct {
	Peers
	asked *int
}

func (c counting) Blob(context.Context, solana.PublicKey, messages.BlobRequest) (messages.Piece, error) {
	*c.asked++
	return messages.Piece{}, ErrPiece
}
