package daemon

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/clock"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/watch"
)

// The agent uses the GPUs while it is measured; other processes are not its own.
func TestOurs(t *testing.T) {
	require.True(t, ours(uint32(os.Getpid())))
	require.False(t, ours(uint32(os.Getppid())))
	require.False(t, ours(1<<31), "no such process")
}

// slowAgent is an agent whose node has so many slow periods in a row on a chain that answers nothing.
func slowAgent(t *testing.T, allowSimulated uint8, periods uint8, cfg config.Config) *Agent {
	t.Helper()
	rpc := fakerpc.New(t)
	cfg.DataDir = t.TempDir()
	a := &Agent{
		cfg: cfg, log: zerolog.Nop(), view: view.New(view.Options{}), key: solana.NewWallet().PrivateKey, faults: faults.New(nil, zerolog.Nop()),
	}
	var err error
	a.client, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: rpc.URL(), WS: rpc.WS()}}})
	require.NoError(t, err)
	t.Cleanup(a.client.Close)
	a.txStore, err = txm.OpenStore(filepath.Join(cfg.DataDir, "txm.db"), solana.Hash{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.txStore.Close()) })
	a.txm, err = txm.New(txm.Options{RPC: a.client, Store: a.txStore, Keys: txm.NewKeys(a.key), Payer: a.key.PublicKey(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(a.txm.Close)
	put := func(key solana.PublicKey, disc [8]byte, account interface {
		MarshalWithEncoder(encoder *bin.Encoder) error
	},
	) {
		var b bytes.Buffer
		b.Write(disc[:])
		require.NoError(t, account.MarshalWithEncoder(bin.NewBorshEncoder(&b)))
		a.view.Apply(watch.Event{Pubkey: key, Data: b.Bytes(), Slot: 1})
	}
	put(market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: market.LayoutVersion, Params: bindings.Params{PeriodSecs: 3600, AllowSimulated: allowSimulated}})
	a.clock, err = clock.New(clock.Options{Read: func(context.Context) ([]time.Time, error) { return nil, context.Canceled }})
	require.NoError(t, err)
	provider := solana.PublicKey{100}
	a.node = market.NodeAddress(provider, a.key.PublicKey())
	n := bindings.Node{
		Provider: provider, NodeKey: a.key.PublicKey(), Status: uint8(market.NodeActive), Version: market.LayoutVersion,
		MinOperations: 1000, MinBandwidth: 1000, SlowPeriods: periods, SharesLen: 1, MeasuredPeriod: 9,
	}
	n.Shares[0] = 6_000
	put(a.node, bindings.Account_Node, n)
	return a
}

// The agent as it is assembled takes a slow node out, by the row that its market counts, and stays where its owner wants that.
func TestAnAgentTakesASlowNodeOut(t *testing.T) {
	for name, c := range map[string]struct {
		simulated, periods uint8
		cfg                config.Config
		out                bool
	}{
		"half of sixteen":         {0, 8, config.Config{}, true},
		"less":                    {0, 7, config.Config{}, false},
		"half of six":             {1, 3, config.Config{}, true},
		"less of six":             {1, 2, config.Config{}, false},
		"the owner wants to stay": {0, 15, config.Config{StayWhenSlow: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := slowAgent(t, c.simulated, c.periods, c.cfg)
			require.NoError(t, a.openOffer())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- a.offer.Run(ctx) }()
			if c.out {
				require.Eventually(t, func() bool { return a.offer.State().Withdrawn }, time.Minute, time.Millisecond)
			} else {
				time.Sleep(300 * time.Millisecond)
			}
			cancel()
			require.Error(t, <-done) // the chain does not answer: the status is not there yet
			s := a.offer.State()
			require.Equal(t, c.out, s.Reason == offer.Slow, s)
			require.Equal(t, c.out, s.Withdrawn)
			require.Equal(t, c.out, offer.Mark(a.cfg.OfferPath()).Set(), "that the agent took it out is noted first")
		})
	}
}
