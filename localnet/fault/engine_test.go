package fault_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/localnode"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/sdk/chain"
)

// The proxy before the embedded engine: what a client reads of its chain is of a time before, in the engine's own form.
func TestARealNodeThatIsBehind(t *testing.T) {
	const lag = 3 * time.Second
	ctx := t.Context()
	at := localnode.Surfnet(t)
	direct, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{at}})
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	h, err := fault.Record(ctx, fault.HistoryOptions{RPC: at.RPC, Programs: []solana.PublicKey{solana.TokenProgramID}})
	require.NoError(t, err)
	p, err := fault.StartProxyOf(ctx, fault.Node{RPC: at.RPC, WS: at.WS, Past: h})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(); h.Close() })
	behind, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "http://" + p.Addr(), WS: "ws://" + p.Addr()}}})
	require.NoError(t, err)
	t.Cleanup(behind.Close)

	wallet := solana.NewWallet().PublicKey()
	p.Set(fault.Faults{Lag: lag})
	_, err = behind.Balance(ctx, wallet, chain.Confirmed) // recorded from here on
	require.NoError(t, err)
	time.Sleep(lag + time.Second)
	sig, err := direct.Airdrop(ctx, wallet, 1_000_000_000)
	require.NoError(t, err)
	landed := time.Now()
	funded := func(c *chain.Client) bool {
		lamports, err := c.Balance(ctx, wallet, chain.Confirmed)
		require.NoError(t, err)
		return lamports > 0
	}
	require.Eventually(t, func() bool { return funded(direct) }, lag/2, 10*time.Millisecond)
	require.False(t, funded(behind))
	known, err := behind.Statuses(ctx, []solana.Signature{sig}, true)
	require.NoError(t, err)
	require.False(t, known[0].Found)

	slot, err := direct.Slot(ctx, chain.Confirmed)
	require.NoError(t, err)
	old, err := behind.Slot(ctx, chain.Confirmed)
	require.NoError(t, err)
	require.Less(t, old, slot)
	now, err := direct.ClusterTime(ctx, chain.Confirmed)
	require.NoError(t, err)
	then, err := behind.ClusterTime(ctx, chain.Confirmed)
	require.NoError(t, err)
	require.InDelta(t, lag.Seconds(), now.Sub(then).Seconds(), 1.5)
	_, err = chain.FirstBlock(ctx, behind.Blocks(chain.Confirmed), then.Add(-time.Second))
	require.NoError(t, err)
	_, err = chain.FirstBlock(ctx, behind.Blocks(chain.Confirmed), now)
	require.ErrorIs(t, err, chain.ErrNoBlockYet)

	ws, err := behind.DialWS(ctx)
	require.NoError(t, err)
	defer ws.Close()
	slots := make(chan uint64, 1)
	_, err = ws.Listen(ctx, "slotSubscribe", "slotUnsubscribe", func(raw json.RawMessage) error {
		var n struct{ Slot uint64 }
		select {
		case slots <- n.Slot:
		default:
		}
		return json.Unmarshal(raw, &n)
	})
	require.NoError(t, err)
	began := time.Now()
	<-slots
	require.GreaterOrEqual(t, time.Since(began), lag-time.Second)

	require.Eventually(t, func() bool { return funded(behind) }, 2*lag, 50*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(landed), lag-time.Second)
	known, err = behind.Statuses(ctx, []solana.Signature{sig}, true)
	require.NoError(t, err)
	require.True(t, known[0].Found)
	require.NoError(t, h.Err())
}
