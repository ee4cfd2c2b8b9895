package store

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

func bidStore(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Keeper: solana.PublicKey{1}, Domain: records.Domain{2}})
	require.NoError(t, err)
	return s
}

func TestBidsSurviveAndArePruned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keeper.db")
	s := bidStore(t, path)
	old, fresh := AuctionKey{CloseAt: 100, Order: solana.PublicKey{9}}, AuctionKey{CloseAt: 200, Order: solana.PublicKey{3}}
	var wg sync.WaitGroup
	for i := range 20 { // at the same time, as nodes call
		wg.Go(func() {
			for _, a := range []AuctionKey{old, fresh} {
				if err := s.PutBids(a, map[[32]byte][]byte{{byte(i)}: {byte(i), byte(a.CloseAt)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, s.PutBids(fresh, map[[32]byte][]byte{{0}: []byte("again")}))
	require.NoError(t, s.PutBidSet(old, solana.PublicKey{7}, []byte("old set")))
	require.NoError(t, s.PutBidSet(fresh, solana.PublicKey{7}, []byte("set")))
	require.NoError(t, s.Close())

	s = bidStore(t, path)
	all := func(from int64) map[string]string {
		out := map[string]string{}
		require.NoError(t, s.EachBid(from, func(a AuctionKey, node [32]byte, raw []byte) error {
			out[fmt.Sprint(a.CloseAt, node[0])] = string(raw)
			return nil
		}))
		return out
	}
	require.Len(t, all(0), 40)
	require.Len(t, all(101), 20)
	require.Equal(t, "again", all(200)["200 0"])
	got, err := s.BidSet(fresh, solana.PublicKey{7})
	require.NoError(t, err)
	require.Equal(t, "set", string(got))
	_, err = s.BidSet(fresh, solana.PublicKey{8})
	require.ErrorIs(t, err, ErrNotFound)
	last, err := s.LastBidSet(old.Order, solana.PublicKey{7})
	require.NoError(t, err)
	require.Equal(t, old, last)
	n, err := s.PruneBids(200)
	require.NoError(t, err)
	require.Equal(t, 21, n)
	_, err = s.LastBidSet(old.Order, solana.PublicKey{7})
	require.ErrorIs(t, err, ErrNotFound)
	require.Len(t, all(0), 20)
	require.NoError(t, s.Close())
}
