package chain_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// of makes a server a node of a cluster.
func of(t *testing.T, genesis string, slot int) *fakerpc.Server {
	s := fakerpc.New(t)
	s.Answer("getGenesisHash", genesis)
	s.Answer("getSlot", slot)
	return s
}

// Two clusters in one list, both reachable: there is no telling which was meant, so nothing is asked of either.
func TestTwoClustersInOneListAreRefused(t *testing.T) {
	a, b := of(t, chain.DevnetGenesis, 1), of(t, chain.TestnetGenesis, 2)
	c := client(t, a, b)
	_, err := c.Genesis(ctxFor(t))
	require.ErrorIs(t, err, chain.ErrWrongCluster)
	for _, part := range []string{a.URL(), b.URL(), chain.DevnetGenesis, chain.TestnetGenesis} {
		require.ErrorContains(t, err, part)
	}
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrWrongCluster)
	require.ErrorIs(t, c.Send(ctxFor(t), []byte{1}, chain.SendOptions{}), chain.ErrWrongCluster)
	_, err = c.DialWS(ctxFor(t))
	require.ErrorIs(t, err, chain.ErrWrongCluster)
	require.Zero(t, a.Calls("sendTransaction")+b.Calls("sendTransaction")+a.Calls("getSlot")+b.Calls("getSlot"))
}

// The second endpoint was down when the client began; when it comes up it turns out to be of another cluster.
func TestAFailoverEndpointOfAnotherClusterIsNeverUsed(t *testing.T) {
	a, b := of(t, chain.DevnetGenesis, 1), of(t, chain.TestnetGenesis, 2)
	b.Down(true)
	c := client(t, a, b)
	slot, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 1, slot)

	b.Down(false)
	a.Down(true)
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrWrongCluster)
	require.ErrorContains(t, err, b.URL())
	require.Error(t, c.Send(ctxFor(t), []byte{1}, chain.SendOptions{}))
	_, err = c.DialWS(ctxFor(t))
	require.Error(t, err)
	require.Zero(t, b.Calls("getSlot")+b.Calls("sendTransaction"))

	a.Down(false)
	require.Eventually(t, func() bool {
		slot, err := c.Slot(ctxFor(t), chain.Confirmed)
		return err == nil && slot == 1
	}, time.Minute, 20*time.Millisecond)
	genesis, err := c.Genesis(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, chain.DevnetGenesis, genesis.String())
}

// One URL behind which another cluster answers after an outage.
func TestAnEndpointIsAskedAgainWhenItRecovers(t *testing.T) {
	var genesis atomic.Value
	genesis.Store(chain.DevnetGenesis)
	s := of(t, "", 1)
	s.Handle("getGenesisHash", func([]json.RawMessage) (any, *fakerpc.Error) { return genesis.Load(), nil })
	c := client(t, s)
	_, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	s.Down(true)
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreachable)
	genesis.Store(chain.TestnetGenesis)
	s.Down(false)
	before := s.Calls("getSlot")
	for range 3 {
		_, err = c.Slot(ctxFor(t), chain.Confirmed)
		require.ErrorIs(t, err, chain.ErrWrongCluster)
	}
	require.Equal(t, before, s.Calls("getSlot"))
	genesis.Store(chain.DevnetGenesis)
	require.Eventually(t, func() bool { _, err := c.Slot(ctxFor(t), chain.Confirmed); return err == nil }, time.Minute, 20*time.Millisecond)
}

// A client that knows its cluster, from a store for example, believes no endpoint that says otherwise.
func TestAnExpectedGenesisDecides(t *testing.T) {
	a, b := of(t, chain.TestnetGenesis, 1), of(t, chain.DevnetGenesis, 2)
	c, err := chain.New(chain.Options{
		Endpoints: []chain.Endpoint{{RPC: a.URL(), WS: a.WS()}, {RPC: b.URL(), WS: b.WS()}},
		Genesis:   solana.MustHashFromBase58(chain.DevnetGenesis),
	})
	require.NoError(t, err)
	defer c.Close()
	slot, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 2, slot)
	require.Zero(t, a.Calls("getSlot"))
	require.ErrorIs(t, c.Health()[0].LastErr, chain.ErrWrongCluster)
}

// A transaction goes to every endpoint, so that no single one can hold it back; one that does not answer delays nobody.
func TestATransactionIsSentToEveryEndpoint(t *testing.T) {
	a, b, slow := fakerpc.New(t), fakerpc.New(t), fakerpc.New(t)
	hold := make(chan struct{})
	for _, s := range []*fakerpc.Server{a, b} {
		s.Answer("sendTransaction", solana.Signature{1})
	}
	slow.Handle("sendTransaction", func([]json.RawMessage) (any, *fakerpc.Error) { <-hold; return solana.Signature{1}, nil })
	c := client(t, slow, a, b)
	began := time.Now()
	require.NoError(t, c.Send(ctxFor(t), []byte{1}, chain.SendOptions{}))
	require.Less(t, time.Since(began), 9*time.Second, "it did not wait for the one that holds")
	require.Eventually(t, func() bool {
		return a.Calls("sendTransaction") == 1 && b.Calls("sendTransaction") == 1 && slow.Calls("sendTransaction") == 1
	}, time.Minute, time.Millisecond)
	close(hold)

	// One refuses what another takes: it is on its way.
	a.Handle("sendTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
		return nil, &fakerpc.Error{Code: -32002, Message: "no"}
	})
	require.NoError(t, client(t, a, b).Send(ctxFor(t), []byte{1}, chain.SendOptions{}))
}
