package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/agent/faults"
	"github.com/gantry-market/gantry/agent/offer"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/internal/alert"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/todo"
)

// What needs a person is told, with what to do; what the owner has chosen is not.
func TestNotices(t *testing.T) {
	low, enough := chain.Lamports(1), chain.Lamports(chain.SOL)
	good := noticeFacts{offer: offer.State{Offering: true}, balance: &enough}
	var d market.Dispute
	d.Lease, d.OpenedAt, d.ClosesAt = solana.PublicKey{7}, 5, 1_700_000_000
	for name, c := range map[string]struct {
		change func(*noticeFacts)
		keys   []string
		text   string
	}{
		"all is well":     {func(*noticeFacts) {}, nil, ""},
		"nothing known":   {func(f *noticeFacts) { f.balance = nil }, nil, ""},
		"outside hours":   {func(f *noticeFacts) { f.offer = offer.State{Reason: offer.Hours, Withdrawn: true} }, nil, ""},
		"the owner's use": {func(f *noticeFacts) { f.offer = offer.State{Reason: offer.Used}; f.notReady = []string{"x"} }, nil, ""},
		"GPU fault": {func(f *noticeFacts) {
			f.broken = []faults.Fault{{GPU: 3, Code: 79}}
			f.offer = offer.State{Reason: offer.Fault}
			f.notReady = []string{"x"}
		}, []string{"gpu/3/79"}, "gantry-agent repaired"},
		"silent GPU": {func(f *noticeFacts) { f.silent = "GPU 1 is silent" }, []string{"gpu-silent"}, "GPU 1 is silent"},
		"fabric":     {func(f *noticeFacts) { f.fabric = "no fabric" }, []string{"nvswitch"}, "no fabric"},
		"chain": {func(f *noticeFacts) {
			f.todo = []todo.ToDo{{Key: "unhealthy", Kind: todo.Unhealthy, What: "ill", Do: "mend it"}, {Key: "withdrawn", Kind: todo.Withdrawn}}
		}, []string{"unhealthy"}, "ill\n\nTo do: mend it"},
		"not ready":   {func(f *noticeFacts) { f.notReady = []string{"connected to none"} }, []string{"not-offering"}, "connected to none"},
		"starting":    {func(f *noticeFacts) { f.offer = offer.State{Text: "the agent starts"} }, []string{"not-offering"}, "the agent starts"},
		"dispute":     {func(f *noticeFacts) { f.disputes = []market.Dispute{d} }, []string{"dispute/" + d.Lease.String() + "/5"}, "2023-11-14 22:13 UTC"},
		"idle job":    {func(f *noticeFacts) { f.idle = "it failed 3 times in a row: it ended with status 1" }, []string{"idle"}, "gantry-agent idle logs"},
		"low balance": {func(f *noticeFacts) { f.balance, f.nodeKey = &low, "KEY" }, []string{"balance"}, "send some SOL to KEY"},
	} {
		f := good
		c.change(&f)
		var keys []string
		for _, n := range notices(f) {
			keys = append(keys, n.Key)
			require.Contains(t, n.Text, c.text, name)
			require.Equal(t, n.Key == "not-offering", n.After == 10*time.Minute, name)
			require.NotEmpty(t, n.Severity, name)
		}
		require.Equal(t, c.keys, keys, name)
	}
}

// An agent that cannot go on says why before it ends, and not again the same day.
func TestAnAgentThatStopsTellsSo(t *testing.T) {
	got := make(chan alert.Notice, 9)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n alert.Notice
		if json.NewDecoder(r.Body).Decode(&n) == nil {
			got <- n
		}
	}))
	defer s.Close()
	o := Options{Config: config.Config{DataDir: t.TempDir(), RPC: "x", NodeKey: "x", Inventory: "x", Notify: []string{"nowhere"}}, Log: zerolog.Nop()}
	_, err := New(o)
	require.ErrorIs(t, err, config.ErrConfig)
	o.Config.Notify = []string{s.URL}
	a, err := New(o)
	require.NoError(t, err)
	a.store, err = store.Open(filepath.Join(t.TempDir(), "agent.db"), store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, a.store.Close()) }()
	a.noteStop(t.Context(), errors.New("no target yet"))
	for range 2 {
		require.NoError(t, a.openNotices())
		a.noteStop(t.Context(), errors.New("GPU 1 is gone"))
		a.noteStop(t.Context(), ErrClosed)
	}
	n := <-got
	require.Equal(t, "The agent has stopped", n.Subject)
	require.Contains(t, n.Text, "GPU 1 is gone")
	require.Contains(t, n.Source, "gantry-agent")
	require.Empty(t, got)
}
