package fault

import (
	"runtime"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A client reads no more of a bomb than its question may need, and another endpoint answers.
func TestBombs(t *testing.T) {
	node := fakerpc.New(t)
	node.Answer("getSlot", 5)
	p, err := StartProxy(t.Context(), node.URL())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "http://" + p.Addr()}, {RPC: node.URL()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Genesis(t.Context())
	require.NoError(t, err)
	p.Set(Faults{Bomb: 1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	slot, err := c.Slot(t.Context(), chain.Confirmed)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.EqualValues(t, 5, slot)
	require.EqualValues(t, 1, p.Counts().Bombs)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))

	// Lists have the largest limit, and no long text.
	node.Answer("getProgramAccounts", map[string]any{"context": map[string]any{"slot": 5}, "value": []any{}})
	for _, f := range []chain.Filter{{}, {Prefix: []byte("a")}} {
		time.Sleep(300 * time.Millisecond) // the proxy has rested
		runtime.ReadMemStats(&before)
		_, err = c.List(t.Context(), solana.PublicKey{1}, chain.Confirmed, f, nil)
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	}
	require.Greater(t, p.Counts().Bombs, uint64(2))
}
