package watch_test

import (
	"bytes"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/watch"
)

// follow runs a watcher over a ledger until the test ends.
func follow(t *testing.T, l *ledger, gap time.Duration) *watch.Watcher {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: l.srv.URL(), WS: l.srv.WS()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w, err := watch.New(watch.Options{Client: c, Program: program, ResyncGap: gap})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(t.Context(), func(watch.Event) {}) }()
	t.Cleanup(func() { <-done })
	<-w.Ready()
	return w
}

func mention(l *ledger, n byte, logs ...string) {
	l.srv.Notify("logsSubscribe", map[string]any{
		"context": map[string]any{"slot": 1000},
		"value":   map[string]any{"signature": solana.Signature{9, n}, "err": nil, "logs": logs},
	})
}

// A stranger's transaction that nobody can read makes no watcher start over, and a hundred of them make it read the
// accounts once per gap.
func TestUnreadableTransactionsDoNotMakeWatchersStartOver(t *testing.T) {
	l := newLedger(t)
	l.put(key(1), "a") // an empty list would be asked for twice
	l.srv.Handle("getTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
		return nil, &fakerpc.Error{Code: chain.CodeVersionNotAsked, Message: "Transaction version (2) is not supported by the requesting client"}
	})
	w := follow(t, l, time.Hour)
	for n := range 100 {
		mention(l, byte(n))
		time.Sleep(2 * time.Millisecond)
	}
	require.Eventually(t, func() bool { return w.Status().Snapshots == 2 }, time.Minute, time.Millisecond)
	time.Sleep(200 * time.Millisecond)
	require.EqualValues(t, 2, w.Status().Snapshots)
	require.Zero(t, w.Status().Reconnects)
	require.Equal(t, 2, l.srv.Calls("getProgramAccounts"))
}

// A transaction that names the program without running it is not read at all.
func TestMentionsOfTheProgramCostNobodyARead(t *testing.T) {
	l := newLedger(t)
	w := follow(t, l, time.Hour)
	for n := range 50 {
		mention(l, byte(n), "Program 11111111111111111111111111111111 invoke [1]", "Program 11111111111111111111111111111111 success")
	}
	key := solana.NewWallet().PublicKey()
	l.put(key, "x")
	require.Eventually(t, func() bool { return w.Status().Accounts == 1 }, time.Minute, time.Millisecond)
	l.put(key, "")
	require.Eventually(t, func() bool { return w.Status().Accounts == 0 }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, l.srv.Calls("getTransaction"), 2, "only of those that ran it")
	require.Zero(t, w.Status().Reconnects)
}

// Where an endpoint refuses filters, or subscriptions to single accounts, the whole program is followed; the log says so.
func TestAnEndpointWithoutFiltersIsFollowedAsAWhole(t *testing.T) {
	for name, refuse := range map[string]func(l *ledger){
		"filters": func(l *ledger) {
			all := l.srv.HandlerOf("getProgramAccounts")
			l.srv.Handle("getProgramAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
				if bytes.Contains(p[1], []byte("filters")) {
					return nil, &fakerpc.Error{Code: chain.CodeInvalidParams, Message: "filters are not served"}
				}
				return all(p)
			})
		},
		"subscriptions": func(l *ledger) { l.srv.Handle("refuse:accountSubscribe", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t)
			l.put(key(1), "a")
			l.put(key(2), "b")
			refuse(l)
			var said atomic.Bool
			log := zerolog.New(writer(func(b []byte) {
				if bytes.Contains(b, []byte("all accounts of the program are followed")) {
					said.Store(true)
				}
			}))
			c := l.watch(t, func(o *watch.Options) { o.Scope.Filters, o.Log = []chain.Filter{{Prefix: []byte("a")}}, log })
			require.Eventually(t, func() bool { return said.Load() && c.store.Len() == 2 }, 20*time.Second, time.Millisecond)
			l.put(key(1), "")
			require.Eventually(t, func() bool { return c.store.Len() == 1 }, 20*time.Second, time.Millisecond)
		})
	}
}

// An account is of the scope as long as one that leads to it is.
func TestAScopeFollowsWhatItsAccountsLeadTo(t *testing.T) {
	l := newLedger(t)
	l.put(key(2), "led")
	l.put(key(3), "of others")
	c := l.watch(t, func(o *watch.Options) {
		o.Scope = watch.Scope{
			Filters: []chain.Filter{{Prefix: []byte("a")}},
			Leads: func(_ solana.PublicKey, data []byte) []solana.PublicKey {
				if string(data) == "a leads" {
					return []solana.PublicKey{key(2)}
				}
				return nil
			},
		}
	})
	l.put(key(1), "a leads")
	require.Eventually(t, func() bool { return c.store.Len() == 2 }, 20*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return l.srv.Subscribers("accountSubscribe") == 2 }, 20*time.Second, time.Millisecond)
	l.put(key(1), "a leads no more")
	require.Eventually(t, func() bool { return c.store.Len() == 1 }, 20*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return l.srv.Subscribers("accountSubscribe") == 1 }, 20*time.Second, time.Millisecond)
	_, there := c.store.Get(key(3))
	require.False(t, there)
}

// What an account leads to stays of the scope when another one leads there in its place, in whatever order the two are read: an
// order that is awarded leaves a machine's scope, and its lease comes with the same customer.
func TestWhatIsLedToAnewIsReadAnew(t *testing.T) {
	l := newLedger(t)
	l.put(key(2), "led")
	c := l.watch(t, func(o *watch.Options) {
		o.Scope = watch.Scope{
			Filters: []chain.Filter{{Prefix: []byte("a")}},
			Leads: func(_ solana.PublicKey, data []byte) []solana.PublicKey {
				if string(data) == "a leads" {
					return []solana.PublicKey{key(2)}
				}
				return nil
			},
		}
	})
	first := byte(10)
	l.put(key(first), "a leads")
	has := func(k solana.PublicKey) bool {
		_, there := c.store.Get(k)
		return there
	}
	for n := first; n < first+20; n++ {
		require.Eventually(t, func() bool { return has(key(n)) && has(key(2)) && c.store.Len() == 2 }, time.Minute, time.Millisecond, "change %d", n-first)
		l.put(key(n), "b")
		l.put(key(n+1), "a leads")
	}
}
