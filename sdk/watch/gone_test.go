package watch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
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

// quiet expects no event for some time.
func (c *consumer) quiet(t *testing.T, d time.Duration) {
	t.Helper()
	c.mu.Lock()
	before := len(c.events)
	c.mu.Unlock()
	time.Sleep(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.events[before:])
}

// many puts accounts into a ledger without announcing them.
func (l *ledger) many(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		l.data[solana.PublicKey{byte(i), byte(i >> 8), 1}] = "a"
	}
}

// lists answers getProgramAccounts by this text until it is ended.
func (l *ledger) lists(result string) (end func()) {
	body := `{"jsonrpc":"2.0","id":$id,"result":` + result + `}`
	if result == "no result" {
		body = `{"jsonrpc":"2.0","id":$id}`
	}
	l.srv.Verbatim("getProgramAccounts", body)
	return func() { l.srv.Verbatim("getProgramAccounts", "") }
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(b) }

func (l *logs) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

// A list that lacks accounts makes none of them gone, whether it is empty, null, of slot 0 or of a node that lags.
func TestAListMakesNothingGone(t *testing.T) {
	for name, result := range map[string]string{
		"empty":           `{"context":{"slot":1010},"value":[]}`,
		"null":            `null`,
		"a value of null": `{"context":{"slot":1010},"value":null}`,
		"slot 0":          `{"context":{"slot":0},"value":[]}`,
		"far behind":      `{"context":{"slot":3},"value":[]}`,
		"no result":       `no result`,
		"a little behind": `{"context":{"slot":999},"value":[]}`,
		"far ahead":       `{"context":{"slot":4000000000},"value":[]}`,
	} {
		for scoped, scope := range map[string]watch.Scope{
			"all": {}, "a filter": {Filters: []chain.Filter{{Prefix: []byte("a")}}},
		} {
			t.Run(name+"/"+scoped, func(t *testing.T) {
				t.Parallel()
				l := newLedger(t)
				l.put(key(1), "a")
				l.put(key(2), "ab")
				l.mu.Lock()
				l.slot = 1010
				l.mu.Unlock()
				l.srv.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) { return 1010, nil })
				c := l.watch(t, func(o *watch.Options) { o.Scope, o.ResyncGap = scope, 50*time.Millisecond })
				require.Eventually(t, func() bool { return c.store.Len() == 2 }, time.Minute, time.Millisecond)
				end := l.lists(result)
				l.srv.DropWS() // the next connection begins with a list
				c.quiet(t, 1500*time.Millisecond)
				require.Equal(t, 2, c.store.Len())
				end()
				l.put(key(1), "a2")
				require.Eventually(t, func() bool { v, _ := c.store.Get(key(1)); return v == "a2" }, time.Minute, time.Millisecond)
				l.put(key(2), "")
				l.srv.Notify("accountSubscribe", map[string]any{"context": map[string]any{"slot": 1012}, "value": account(solana.SystemProgramID, 0, "")})
				require.Eventually(t, func() bool { return c.store.Len() == 1 }, time.Minute, time.Millisecond, "what is closed is seen")
			})
		}
	}
}

// A list of a node that lags takes nothing back, however often it is given: slots that go back say nothing of the
// cluster.
func TestANodeThatLagsTakesNothingBack(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "old")
	l.put(key(1), "new")
	l.put(key(2), "b")
	var said logs
	c := l.watch(t, func(o *watch.Options) { o.Log = zerolog.New(&said) })
	require.Eventually(t, func() bool { return c.store.Len() == 2 }, time.Minute, time.Millisecond)
	l.mu.Lock()
	slot := l.slot
	l.slot, l.data[key(1)] = 3, "old"
	delete(l.data, key(2))
	l.mu.Unlock()
	l.srv.DropWS()
	c.quiet(t, 3*time.Second) // far more than three sessions
	require.False(t, c.w.Status().Connected)
	require.Positive(t, said.count("answers from slot 3, 1003 was seen before"), said.b.String())
	l.mu.Lock()
	l.slot, l.data[key(1)], l.data[key(2)] = slot, "new", "b"
	l.mu.Unlock()
	require.Eventually(t, func() bool { return c.w.Status().Connected }, time.Minute, time.Millisecond)
	c.quiet(t, 100*time.Millisecond)
}

// A cluster that was started again has another genesis hash: nothing of it is believed, and nothing is gone.
func TestAnotherClusterMakesNothingGone(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	c := l.watch(t)
	c.expect(t, "1 a")
	l.srv.Down(true)
	time.Sleep(300 * time.Millisecond)
	l.srv.Answer("getGenesisHash", solana.Hash{8}.String())
	l.mu.Lock()
	l.slot, l.data = 3, map[solana.PublicKey]string{}
	l.mu.Unlock()
	l.srv.Down(false)
	c.quiet(t, 2*time.Second)
	require.False(t, c.w.Status().Connected)
	require.ErrorIs(t, c.w.Status().LastError, chain.ErrWrongCluster)
}

// What really was closed while nobody listened is gone, after two answers of the account's own.
func TestWhatWasClosedUnseenIsGone(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	l.put(key(2), "b")
	c := l.watch(t)
	c.exactly(t, "1 a", "2 b")
	l.srv.Down(true)
	l.put(key(2), "")
	l.srv.Down(false)
	require.Eventually(t, func() bool { return c.store.Len() == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, 2, l.srv.Calls("getMultipleAccounts"))
}

// An account that its own endpoint calls gone is there as long as another endpoint shows it.
func TestTwoEndpointsMustSayThatAnAccountIsGone(t *testing.T) {
	t.Parallel()
	ill, well := newLedger(t), newLedger(t)
	for _, l := range []*ledger{ill, well} {
		l.put(key(1), "a")
		l.put(key(2), "b")
	}
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: ill.srv.URL(), WS: ill.srv.WS()}, {RPC: well.srv.URL(), WS: well.srv.WS()}}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	w, err := watch.New(watch.Options{Client: c, Program: program, Resnapshot: -1, Log: zerolog.Nop()})
	require.NoError(t, err)
	con := ill.run(t, w)
	con.exactly(t, "1 a", "2 b")
	well.mu.Lock()
	well.slot += 5
	well.mu.Unlock()
	ill.put(key(2), "") // on this node alone
	con.quiet(t, time.Second)
	for _, l := range []*ledger{ill, well} {
		l.mu.Lock()
		l.slot = 2000
		l.mu.Unlock()
	}
	well.put(key(2), "")
	ill.announce(key(2), "", 2000)
	require.Eventually(t, func() bool { return con.store.Len() == 1 }, time.Minute, time.Millisecond)
}

// As long as nobody answers whether an account is gone it is there.
func TestNoAnswerMakesNothingGone(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	l.put(key(2), "b")
	c := l.watch(t, func(o *watch.Options) { o.Resnapshot = 50 * time.Millisecond })
	c.exactly(t, "1 a", "2 b")
	l.srv.Verbatim("getMultipleAccounts", `{"jsonrpc":"2.0","id":$id,"result":null}`)
	l.mu.Lock()
	l.mute = true
	l.mu.Unlock()
	l.put(key(2), "")
	c.quiet(t, time.Second)
	require.True(t, c.w.Status().Connected, "what else is announced is seen meanwhile")
	l.srv.Verbatim("getMultipleAccounts", "")
	require.Eventually(t, func() bool { return c.store.Len() == 1 }, 20*time.Second, time.Millisecond)
}

// An incomplete list is told of by the endpoint's name without its key, costs few questions whatever the market's size,
// and another list is taken, of another endpoint where there is one.
func TestAnIncompleteListOfALargeMarket(t *testing.T) {
	t.Parallel()
	const accounts = 5_000
	ill, well := newLedger(t), newLedger(t)
	ill.many(accounts)
	well.many(accounts)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{
		{RPC: ill.srv.URL() + "/v2/key-of-the-owner", WS: ill.srv.WS()}, {RPC: well.srv.URL(), WS: well.srv.WS()},
	}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	var said logs
	w, err := watch.New(watch.Options{Client: c, Program: program, Resnapshot: -1, ResyncGap: 50 * time.Millisecond, Log: zerolog.New(&said)})
	require.NoError(t, err)
	con := ill.run(t, w)
	require.Equal(t, accounts, con.store.Len())
	ill.mu.Lock()
	one := solana.PublicKey{0, 0, 1}
	rest := ill.data
	ill.data = map[solana.PublicKey]string{one: "a"}
	ill.mu.Unlock()
	well.mu.Lock()
	well.data[solana.PublicKey{1, 2, 3}] = "opened meanwhile"
	well.mu.Unlock()
	ill.srv.Handle("getMultipleAccounts", well.srv.HandlerOf("getMultipleAccounts")) // its index alone is incomplete
	before := ill.srv.Calls("getMultipleAccounts")
	ill.srv.DropWS()
	require.Eventually(t, func() bool { return con.store.Len() == accounts+1 }, 20*time.Second, time.Millisecond, "the other endpoint's list")
	require.LessOrEqual(t, ill.srv.Calls("getMultipleAccounts")-before, 12, "not one for each hundred accounts")
	require.Equal(t, 1, said.count("the RPC endpoint answered incompletely"), said.b.String())
	require.Positive(t, said.count(ill.srv.URL()+"/…"))
	require.Zero(t, said.count("key-of-the-owner"))
	con.mu.Lock()
	defer con.mu.Unlock()
	require.NotContains(t, fmt.Sprint(con.events), "gone")
	require.Len(t, rest, accounts)
}

// Accounts that leave the scope are no mistake of the endpoint.
func TestWhatLeavesAScopeUnseen(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "open")
	l.put(key(2), "open too")
	var said logs
	c := l.watch(t, func(o *watch.Options) {
		o.Scope.Filters, o.Log = []chain.Filter{{Prefix: []byte("open")}}, zerolog.New(&said)
	})
	c.exactly(t, "1 open", "2 open too")
	l.srv.Down(true)
	l.put(key(1), "awarded")
	l.srv.Down(false)
	require.Eventually(t, func() bool { return c.store.Len() == 1 }, time.Minute, time.Millisecond)
	require.Zero(t, said.count("incompletely"))
}

// A list of all accounts that lacks the one which is there for certain is none, at the start too.
func TestAFirstListWithoutWhatIsCertain(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	var ended atomic.Bool
	end := l.lists(`{"context":{"slot":1010},"value":[]}`)
	time.AfterFunc(500*time.Millisecond, func() { ended.Store(true); end() })
	c := l.watch(t, func(o *watch.Options) { o.Certain = key(1) })
	require.True(t, ended.Load())
	c.expect(t, "1 a")

	// Later such a list keeps nobody from what is announced.
	defer l.lists(`{"context":{"slot":1010},"value":[]}`)()
	l.mu.Lock()
	l.slot = 1010
	l.mu.Unlock()
	before := c.w.Status().Reconnects
	l.srv.DropWS()
	require.Eventually(t, func() bool { return c.w.Status().Reconnects > before && c.w.Status().Connected }, time.Minute, time.Millisecond)
	l.put(key(2), "b")
	c.expect(t, "1 a", "2 b")
}

// Of an empty list nothing says whether it is complete, where nothing was known before: it is asked for again.
func TestAFirstListThatIsEmpty(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	end := l.lists(`{"context":{"slot":1001},"value":[]}`)
	c := l.watch(t, func(o *watch.Options) {
		o.Scope.Filters, o.Resnapshot, o.ResyncGap = []chain.Filter{{Prefix: []byte("a")}}, time.Hour, 50*time.Millisecond
	})
	c.quiet(t, 200*time.Millisecond)
	end()
	c.expect(t, "1 a")
	lists := l.srv.Calls("getProgramAccounts")
	c.quiet(t, 500*time.Millisecond)
	require.Equal(t, lists, l.srv.Calls("getProgramAccounts"), "a list that is not empty is enough")
}

// A list that fails later ends no connection: what is announced is seen.
func TestALaterListThatFails(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.put(key(1), "a")
	c := l.watch(t, func(o *watch.Options) { o.Resnapshot, o.ResyncGap = 50*time.Millisecond, 50*time.Millisecond })
	defer l.lists("null")()
	before := l.srv.Calls("getProgramAccounts")
	require.Eventually(t, func() bool { return l.srv.Calls("getProgramAccounts") > before+3 }, time.Minute, time.Millisecond)
	l.put(key(2), "b")
	c.expect(t, "1 a", "2 b")
	require.True(t, c.w.Status().Connected)
	require.Zero(t, c.w.Status().Reconnects)
}
