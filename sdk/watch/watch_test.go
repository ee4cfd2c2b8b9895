package watch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/watch"
)

var program = solana.NewWallet().PublicKey()

// ledger is a program's accounts behind a fake node.
type ledger struct {
	t   testing.TB
	srv *fakerpc.Server

	mu   sync.Mutex
	slot uint64
	data map[solana.PublicKey]string
	txs  map[solana.Signature][]byte // wire form of transactions
	mute bool                        // changes are not announced
	n    byte
}

func newLedger(t testing.TB) *ledger {
	l := &ledger{t: t, srv: fakerpc.New(t), slot: 1000, data: map[solana.PublicKey]string{}, txs: map[solana.Signature][]byte{}}
	l.srv.Handle("getProgramAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		list := []any{}
		var conf struct {
			Filters []struct {
				Memcmp struct {
					Bytes []byte `json:"bytes"`
				} `json:"memcmp"`
			} `json:"filters"`
		}
		_ = json.Unmarshal(p[1], &conf)
		for k, d := range l.data {
			if len(conf.Filters) > 0 && !strings.HasPrefix(d, string(conf.Filters[0].Memcmp.Bytes)) {
				continue
			}
			list = append(list, map[string]any{"pubkey": k, "account": account(program, 1, d)})
		}
		return map[string]any{"context": map[string]any{"slot": l.slot}, "value": list}, nil
	})
	l.srv.Handle("getTransaction", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var sig solana.Signature
		_ = json.Unmarshal(p[0], &sig)
		l.mu.Lock()
		defer l.mu.Unlock()
		raw, ok := l.txs[sig]
		if !ok {
			return nil, nil
		}
		return map[string]any{
			"slot": l.slot, "blockTime": 1, "version": "legacy",
			"transaction": []string{base64.StdEncoding.EncodeToString(raw), "base64"},
			"meta":        map[string]any{"err": nil, "fee": 5000, "logMessages": []string{}},
		}, nil
	})
	l.srv.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var keys []solana.PublicKey
		_ = json.Unmarshal(p[0], &keys)
		var conf struct {
			Min uint64 `json:"minContextSlot"`
		}
		_ = json.Unmarshal(p[1], &conf)
		l.mu.Lock()
		defer l.mu.Unlock()
		if conf.Min > l.slot {
			return nil, &fakerpc.Error{Code: chain.CodeSlotNotReached, Message: "Minimum context slot has not been reached"}
		}
		var out []any
		for _, k := range keys {
			if d, ok := l.data[k]; ok {
				out = append(out, account(program, 1, d))
			} else {
				out = append(out, nil)
			}
		}
		return map[string]any{"context": map[string]any{"slot": l.slot}, "value": out}, nil
	})
	return l
}

func account(owner solana.PublicKey, lamports uint64, data string) map[string]any {
	return map[string]any{
		"lamports": lamports, "owner": owner, "executable": false, "rentEpoch": 0,
		"data": []string{base64.StdEncoding.EncodeToString([]byte(data)), "base64"},
	}
}

// put changes an account; "" closes it, of which a node's programSubscribe says nothing.
func (l *ledger) put(key solana.PublicKey, data string) {
	l.mu.Lock()
	l.slot++
	slot := l.slot
	if data == "" {
		delete(l.data, key)
	} else {
		l.data[key] = data
	}
	payer := solana.PublicKey{1, l.n}
	l.n++
	tx, err := solana.NewTransaction([]solana.Instruction{solana.NewInstruction(program, solana.AccountMetaSlice{solana.Meta(key).WRITE()}, nil)},
		solana.Hash{byte(slot), byte(slot >> 8)}, solana.TransactionPayer(payer))
	require.NoError(l.t, err)
	tx.Signatures = []solana.Signature{{byte(slot), byte(slot >> 8), byte(slot >> 16), 1}}
	raw, err := tx.MarshalBinary()
	require.NoError(l.t, err)
	l.txs[tx.Signatures[0]] = raw
	mute := l.mute
	l.mu.Unlock()
	if mute {
		return
	}
	if data != "" {
		l.announce(key, data, slot)
	}
	l.srv.Notify("logsSubscribe", map[string]any{
		"context": map[string]any{"slot": slot},
		"value":   map[string]any{"signature": tx.Signatures[0], "err": nil, "logs": []string{}},
	})
}

func (l *ledger) announce(key solana.PublicKey, data string, slot uint64) {
	l.srv.Notify("programSubscribe", map[string]any{
		"context": map[string]any{"slot": slot},
		"value":   map[string]any{"pubkey": key, "account": account(program, 1, data)},
	})
}

type consumer struct {
	w      *watch.Watcher
	store  *store[string]
	mu     sync.Mutex
	events []string
}

func (l *ledger) watch(t testing.TB, mod ...func(*watch.Options)) *consumer {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: l.srv.URL(), WS: l.srv.WS()}}, Timeout: 2 * time.Second})
	require.NoError(t, err)
	o := watch.Options{Client: c, Program: program, Resnapshot: -1, Log: zerolog.Nop()}
	for _, m := range mod {
		m(&o)
	}
	w, err := watch.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return l.run(t, w)
}

// run runs a watcher until the test ends and keeps what it emits.
func (l *ledger) run(t testing.TB, w *watch.Watcher) *consumer {
	con := &consumer{w: w, store: newStore(func(e watch.Event) (string, bool, error) {
		if string(e.Data) == "broken" {
			return "", false, errors.New("broken")
		}
		return string(e.Data), string(e.Data) != "other type", nil
	}, zerolog.Nop())}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- w.Run(ctx, func(e watch.Event) {
			con.mu.Lock()
			what := string(e.Data)
			if e.Deleted {
				what = "gone"
			}
			con.events = append(con.events, fmt.Sprintf("%d %s", e.Pubkey[0], what))
			con.mu.Unlock()
			con.store.Apply(e)
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
	select {
	case <-w.Ready():
	case <-time.After(5 * time.Second):
		t.Fatal("not ready")
	}
	return con
}

func (c *consumer) expect(t testing.TB, want ...string) {
	t.Helper()
	get := func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return append([]string{}, c.events...)
	}
	require.Eventually(t, func() bool { return len(get()) >= len(want) }, time.Minute, time.Millisecond, "have %v, want %v", get(), want)
	time.Sleep(30 * time.Millisecond) // anything doubled would come now
	require.Equal(t, want, get())
}

func key(n byte) solana.PublicKey { return solana.PublicKey{n, 7} }

func TestEachStateOnce(t *testing.T) {
	l := newLedger(t)
	l.put(key(1), "a")
	c := l.watch(t)
	c.expect(t, "1 a")
	l.put(key(2), "b")
	c.expect(t, "1 a", "2 b")
	l.put(key(1), "a2")
	c.expect(t, "1 a", "2 b", "1 a2")
	l.put(key(2), "")
	c.expect(t, "1 a", "2 b", "1 a2", "2 gone")
	l.announce(key(1), "a", 1001) // an old notification
	l.announce(key(2), "b", 1002)
	l.announce(key(1), "a2", 1003) // the same again
	l.put(key(2), "b again")
	c.expect(t, "1 a", "2 b", "1 a2", "2 gone", "2 b again")
	st := c.w.Status()
	require.True(t, st.Connected)
	require.Equal(t, 2, st.Accounts)
	require.EqualValues(t, 1, st.Snapshots)
}

func TestGapIsRepaired(t *testing.T) {
	l := newLedger(t)
	l.put(key(1), "a")
	l.put(key(2), "b")
	l.put(key(3), "c")
	c := l.watch(t)
	require.Eventually(t, func() bool { return c.store.Len() == 3 }, time.Minute, time.Millisecond)
	c.mu.Lock()
	c.events = nil
	c.mu.Unlock()
	l.srv.Down(true)
	l.put(key(1), "a2")
	l.put(key(1), "a3")
	l.put(key(2), "")
	time.Sleep(300 * time.Millisecond)
	require.False(t, c.w.Status().Connected)
	l.srv.Down(false)
	c.expect(t, "1 a3", "2 gone")
	require.NotZero(t, c.w.Status().Reconnects)
	require.True(t, c.w.Status().Connected)
	l.put(key(3), "c2")
	c.expect(t, "1 a3", "2 gone", "3 c2")
}

func TestGuardFindsWhatNobodyAnnounced(t *testing.T) {
	l := newLedger(t)
	l.put(key(1), "a")
	c := l.watch(t, func(o *watch.Options) { o.Resnapshot = 50 * time.Millisecond })
	l.mu.Lock()
	l.mute = true
	l.mu.Unlock()
	l.put(key(1), "a2")
	c.expect(t, "1 a", "1 a2")
	l.put(key(1), "")
	c.expect(t, "1 a", "1 a2", "1 gone")
}

func TestFilterApplies(t *testing.T) {
	l := newLedger(t)
	l.put(key(1), "xx1")
	c := l.watch(t, func(o *watch.Options) { o.Scope.Filters = []chain.Filter{{Prefix: []byte("xx")}} })
	c.expect(t, "1 xx1")
	l.announce(key(2), "yy", 1001) // a node would not send it
	l.put(key(1), "zz")            // no longer of this type
	c.expect(t, "1 xx1", "1 gone")
}

func TestStoreDecodes(t *testing.T) {
	l := newLedger(t)
	c := l.watch(t)
	l.put(key(1), "good")
	l.put(key(2), "other type")
	l.put(key(3), "broken")
	v, err := c.store.WaitFor(ctxFor(t), key(1), func(v string, ok bool) bool { return ok })
	require.NoError(t, err)
	require.Equal(t, "good", v)
	l.put(key(1), "broken")
	require.NoError(t, c.store.WaitUntil(ctxFor(t), func(s *store[string]) bool { return s.Len() == 0 }))
	require.Empty(t, c.store.All(nil))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = c.store.WaitFor(ctx, key(9), func(string, bool) bool { return false })
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func ctxFor(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// TestRandomTrouble changes accounts while connections break and notifications are lost, and expects the truth in the
// end and no state told twice.
func TestRandomTrouble(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			l := newLedger(t)
			c := l.watch(t, func(o *watch.Options) { o.Resnapshot = 70 * time.Millisecond })
			for i := range 300 {
				k := key(byte(rng.IntN(8)))
				switch r := rng.IntN(100); {
				case r < 4:
					l.srv.DropWS()
				case r < 6:
					l.srv.Down(true)
					time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
					l.srv.Down(false)
				case r < 10:
					l.mu.Lock()
					l.mute = !l.mute
					l.mu.Unlock()
				case r < 30:
					l.put(k, "")
				default:
					l.put(k, fmt.Sprint("v", i))
				}
				if rng.IntN(3) == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			require.Eventually(t, func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				if c.store.Len() != len(l.data) {
					return false
				}
				for k, want := range l.data {
					if got, _ := c.store.Get(k); got != want {
						return false
					}
				}
				return true
			}, time.Minute, 5*time.Millisecond)
			c.mu.Lock()
			defer c.mu.Unlock()
			told := map[string]bool{}
			last := map[byte]string{}
			for _, e := range c.events {
				if e[2:] != "gone" {
					require.False(t, told[e], "%s was told twice", e)
					told[e] = true
				}
				require.NotEqual(t, last[e[0]], e, "the same state twice in a row")
				last[e[0]] = e
			}
		})
	}
}
