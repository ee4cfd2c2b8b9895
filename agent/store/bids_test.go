package store

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func openBids(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Owner: Owner{NodeKey: Key{1}}})
	require.NoError(t, err)
	return s
}

// The first bid of an auction is the one for ever; another life of the order's address is another auction.
func TestOneBidForAnAuction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	s := openBids(t, path)
	first, err := s.AddBid(Bid{Order: Key{5}, CloseAt: 100, Price: 7, Salt: Key{8}, Commitment: Key{9}, Signature: []byte{1}})
	require.NoError(t, err)
	require.False(t, first.At.IsZero())
	require.NoError(t, s.Close())

	s = openBids(t, path)
	again, err := s.AddBid(Bid{Order: Key{5}, CloseAt: 100, Price: 1, Salt: Key{2}})
	require.NoError(t, err)
	require.Equal(t, first, again)
	changed, err := s.UpdateBid(Key{5}, 100, func(b *Bid) {
		b.Price, b.Salt, b.Commitment, b.CloseAt = 1, Key{}, Key{}, 3
		b.Acks, b.Over, b.Note = append(b.Acks, BidAck{Keeper: Key{4}, Stage: 1}), true, "note"
	})
	require.NoError(t, err)
	require.EqualValues(t, 7, changed.Price)
	require.Equal(t, Key{8}, changed.Salt)
	require.EqualValues(t, 100, changed.CloseAt)
	require.Len(t, changed.Acks, 1)
	_, err = s.UpdateBid(Key{5}, 101, func(*Bid) {})
	require.ErrorIs(t, err, ErrNotFound)
	other, err := s.AddBid(Bid{Order: Key{5}, CloseAt: 90, Price: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, other.Price)
	all, err := s.Bids()
	require.NoError(t, err)
	require.Equal(t, []int64{90, 100}, []int64{all[0].CloseAt, all[1].CloseAt})

	n, err := s.PruneBids(200)
	require.NoError(t, err)
	require.Equal(t, 1, n, "what is not over stays")
	require.NoError(t, s.Close())
}
