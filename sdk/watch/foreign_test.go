package watch_test

import (
	"encoding/json"
	"strings"
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

// between makes a watcher whose RPC endpoint is of one cluster and whose WebSocket is of another.
func between(t *testing.T, l *ledger, other *fakerpc.Server, scope watch.Scope) (*consumer, *atomic.Bool) {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: l.srv.URL(), WS: other.WS()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var said atomic.Bool
	log := zerolog.New(writer(func(b []byte) {
		if strings.Contains(string(b), "check that --ws and --url are of one cluster") {
			said.Store(true)
		}
	}))
	w, err := watch.New(watch.Options{Client: c, Program: program, Resnapshot: -1, Scope: scope, Log: log})
	require.NoError(t, err)
	return l.run(t, w), &said
}

// exactly expects these events and no others, in any order.
func (c *consumer) exactly(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // anything that is believed would have been emitted
	c.mu.Lock()
	defer c.mu.Unlock()
	require.ElementsMatch(t, want, c.events)
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// A WebSocket endpoint of another cluster announces accounts, closings and transactions of its own: none of it is taken
// for a state of this cluster.
func TestNothingThatAnotherClustersWebSocketSaysIsBelieved(t *testing.T) {
	for name, scope := range map[string]watch.Scope{
		"the whole program": {},
		"a filter and an account": {
			Filters:   []chain.Filter{{Prefix: []byte("a")}},
			Addresses: func() []solana.PublicKey { return []solana.PublicKey{key(2)} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, other := newLedger(t), fakerpc.New(t)
			l.put(key(1), "a")
			l.put(key(2), "b")
			c, _ := between(t, l, other, scope)
			c.exactly(t, "1 a", "2 b")
			before := l.srv.Calls("getMultipleAccounts")
			lie := func(method string, k solana.PublicKey, account any) {
				require.Eventually(t, func() bool { return other.Subscribers(method) > 0 }, time.Minute, time.Millisecond)
				value := account
				if method == "programSubscribe" {
					value = map[string]any{"pubkey": k, "account": account}
				}
				other.Notify(method, map[string]any{"context": map[string]any{"slot": 1002}, "value": value})
			}
			lie("programSubscribe", key(1), account(program, 1, "a lie"))
			lie("programSubscribe", key(3), account(program, 1, "a thing of the other cluster"))
			if !scope.All() {
				lie("accountSubscribe", key(2), account(solana.SystemProgramID, 0, ""))
			}
			require.Eventually(t, func() bool { return l.srv.Calls("getMultipleAccounts") > before }, time.Minute, time.Millisecond)
			c.exactly(t, "1 a", "2 b")
		})
	}
}

// What an endpoint announces that the RPC endpoint does not come to know, and slots far from its own, end the connection
// with a message that says what to check.
func TestAWebSocketOfAnotherClusterIsNoticed(t *testing.T) {
	slots := func(l *ledger) { // as nodes do it
		l.srv.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) { return 1000, nil })
	}
	for name, lie := range map[string]func(l *ledger, other *fakerpc.Server){
		"by its slots": func(_ *ledger, other *fakerpc.Server) {
			other.Notify("slotSubscribe", map[string]any{"slot": 400_000_000, "parent": 1, "root": 1})
		},
		"by a transaction": func(_ *ledger, other *fakerpc.Server) {
			other.Notify("logsSubscribe", map[string]any{"context": map[string]any{"slot": 1001}, "value": map[string]any{"signature": solana.Signature{7}, "err": nil, "logs": []string{}}})
		},
		"by an account of a slot to come": func(l *ledger, other *fakerpc.Server) {
			l.srv.Handle("getMultipleAccounts", func([]json.RawMessage) (any, *fakerpc.Error) {
				return nil, &fakerpc.Error{Code: chain.CodeSlotNotReached, Message: "Minimum context slot has not been reached"}
			})
			other.Notify("programSubscribe", map[string]any{"context": map[string]any{"slot": 2000}, "value": map[string]any{"pubkey": key(1)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, other := newLedger(t), fakerpc.New(t)
			slots(l)
			l.put(key(1), "a")
			c, said := between(t, l, other, watch.Scope{})
			require.Eventually(t, func() bool {
				return other.Subscribers("slotSubscribe") > 0 && other.Subscribers("logsSubscribe") > 0
			}, time.Minute, time.Millisecond)
			lie(l, other)
			require.Eventually(t, func() bool { return said.Load() }, 20*time.Second, time.Millisecond)
			c.expect(t, "1 a")
		})
	}
}
