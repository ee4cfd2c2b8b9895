package fault

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// cluster is a node with a block each slot, on which accounts change.
type cluster struct {
	srv     *fakerpc.Server
	program solana.PublicKey

	mu       sync.Mutex
	slot     uint64
	accounts map[solana.PublicKey]owned
	landed   map[solana.Signature]uint64
}

type owned struct {
	owner solana.PublicKey
	data  []byte
}

// finality is how many slots behind the confirmed one the final one is.
const finality = 2

func newCluster(t *testing.T) *cluster {
	c := &cluster{srv: fakerpc.New(t), program: solana.PublicKey{77}, slot: 100, accounts: map[solana.PublicKey]owned{}, landed: map[solana.Signature]uint64{}}
	at := func(p []json.RawMessage) uint64 {
		var conf accountConfig
		for _, raw := range p {
			_ = json.Unmarshal(raw, &conf)
		}
		if level(conf.Commitment) == 2 {
			return c.slot - finality
		}
		return c.slot
	}
	handle := func(method string, h func(p []json.RawMessage) any) {
		c.srv.Handle(method, func(p []json.RawMessage) (any, *fakerpc.Error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return h(p), nil
		})
	}
	context := func(value any) any { return map[string]any{"context": map[string]any{"slot": c.slot}, "value": value} }
	handle("getSlot", func(p []json.RawMessage) any { return at(p) })
	handle("getBlockHeight", func(p []json.RawMessage) any { return at(p) - 50 })
	handle("getLatestBlockhash", func(p []json.RawMessage) any {
		return context(map[string]any{"blockhash": blockhash(at(p)), "lastValidBlockHeight": at(p) + 100})
	})
	handle("getProgramAccounts", func(p []json.RawMessage) any {
		var of solana.PublicKey
		_ = json.Unmarshal(p[0], &of)
		list := []any{}
		for key, a := range c.accounts {
			if a.owner == of {
				list = append(list, map[string]any{"pubkey": key, "account": a.json()})
			}
		}
		return context(list)
	})
	handle("getMultipleAccounts", func(p []json.RawMessage) any {
		var keys []solana.PublicKey
		_ = json.Unmarshal(p[0], &keys)
		out := make([]any, len(keys))
		for i, k := range keys {
			if a, ok := c.accounts[k]; ok {
				out[i] = a.json()
			}
		}
		return context(out)
	})
	handle("getBlocksWithLimit", func(p []json.RawMessage) any {
		var from, count uint64
		_, _ = json.Unmarshal(p[0], &from), json.Unmarshal(p[1], &count)
		slots := []uint64{}
		for s := from; s <= at(p) && uint64(len(slots)) < count; s++ {
			slots = append(slots, s)
		}
		return slots
	})
	handle("getBlock", func(p []json.RawMessage) any {
		var slot uint64
		_ = json.Unmarshal(p[0], &slot)
		return map[string]any{"blockhash": blockhash(slot), "blockTime": 1_000_000 + slot, "parentSlot": slot - 1, "previousBlockhash": blockhash(slot - 1)}
	})
	handle("getSignatureStatuses", func(p []json.RawMessage) any {
		var sigs []solana.Signature
		_ = json.Unmarshal(p[0], &sigs)
		out := make([]any, len(sigs))
		for i, s := range sigs {
			if slot, ok := c.landed[s]; ok {
				out[i] = map[string]any{"slot": slot, "confirmations": nil, "err": nil, "confirmationStatus": "finalized"}
			}
		}
		return context(out)
	})
	handle("getSignaturesForAddress", func([]json.RawMessage) any {
		list := []any{}
		for s, slot := range c.landed {
			list = append(list, map[string]any{"signature": s, "slot": slot, "err": nil})
		}
		return list
	})
	return c
}

func blockhash(slot uint64) solana.Hash { return solana.Hash{byte(slot), byte(slot >> 8), 1} }

func (a owned) json() any {
	return map[string]any{"lamports": 7, "owner": a.owner, "executable": false, "rentEpoch": 0, "space": len(a.data), "data": []string{base64.StdEncoding.EncodeToString(a.data), "base64"}}
}

// next makes a block after a change, and announces what is named.
func (c *cluster) next(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.slot++
}

func (c *cluster) put(key solana.PublicKey, a owned) func() { return func() { c.accounts[key] = a } }

// behind is a proxy of the cluster with a history, and a client behind it.
func (c *cluster) behind(t *testing.T) (*Proxy, *History, *chain.Client) {
	h, err := Record(t.Context(), HistoryOptions{RPC: c.srv.URL(), Programs: []solana.PublicKey{c.program}, Every: 5 * time.Millisecond})
	require.NoError(t, err)
	p, err := StartProxyOf(t.Context(), Node{RPC: c.srv.URL(), WS: c.srv.WS(), Past: h})
	require.NoError(t, err)
	t.Cleanup(func() { p.Close(); h.Close() })
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "http://" + p.Addr(), WS: "ws://" + p.Addr()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return p, h, client
}

// seen waits until the history has a slot.
func seen(t *testing.T, h *History, slot uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return h.last().slot >= slot }, time.Minute, time.Millisecond)
}

// All that a node shows while it is behind is of one time: slots, blocks, accounts, transactions.
func TestANodeThatIsBehind(t *testing.T) {
	c := newCluster(t)
	program, one, two, wallet := c.program, solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}
	early, late := solana.Signature{1}, solana.Signature{2}
	c.next(c.put(one, owned{program, []byte("one")}))
	c.next(c.put(wallet, owned{solana.SystemProgramID, nil}))
	c.next(func() { c.landed[early] = 100 })
	p, h, client := c.behind(t)
	ctx := t.Context()
	seen(t, h, 103)

	p.Set(Faults{Lag: time.Hour}) // it stands still from here on
	c.next(c.put(one, owned{program, []byte("new")}))
	c.next(c.put(two, owned{program, []byte("two")}))
	c.next(func() { c.landed[late] = 106 })
	seen(t, h, 106)

	slot, err := client.Slot(ctx, chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 103, slot)
	slot, err = client.Slot(ctx, chain.Finalized)
	require.NoError(t, err)
	require.EqualValues(t, 101, slot)
	hash, err := client.LatestBlockhash(ctx, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, blockhash(103), hash.Hash)

	all, at, err := client.ProgramAccounts(ctx, program, chain.Confirmed, chain.Filter{})
	require.NoError(t, err)
	require.EqualValues(t, 103, at)
	require.Len(t, all, 1)
	require.Equal(t, "one", string(all[0].Data))
	for prefix, n := range map[string]int{"on": 1, "one": 1, "ones": 0, "tw": 0} {
		all, _, err := client.ProgramAccounts(ctx, program, chain.Confirmed, chain.Filter{Prefix: []byte(prefix)})
		require.NoError(t, err)
		require.Len(t, all, n, prefix)
	}
	all, _, err = client.ProgramAccounts(ctx, program, chain.Confirmed, chain.Filter{DataSize: 4})
	require.NoError(t, err)
	require.Empty(t, all)
	accounts, err := client.Accounts(ctx, []solana.PublicKey{one, two, wallet}, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, "one", string(accounts[0].Data))
	require.Nil(t, accounts[1], "it is not there yet")
	require.NotNil(t, accounts[2], "a wallet is shown as it is until it is recorded")
	_, err = client.Account(ctx, two, chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrAccountNotFound)
	lamports, err := client.Balance(ctx, one, chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 7, lamports)
	_, _, err = client.AccountsSince(ctx, []solana.PublicKey{one}, chain.Confirmed, 103)
	require.NoError(t, err)
	_, _, err = client.AccountsSince(ctx, []solana.PublicKey{one}, chain.Confirmed, 104)
	require.True(t, chain.IsCode(err, chain.CodeSlotNotReached), err)

	blocks := client.Blocks(chain.Confirmed)
	b, err := blocks.At(ctx, 103)
	require.NoError(t, err)
	require.EqualValues(t, blockhash(103), b.Hash)
	_, err = blocks.At(ctx, 104)
	require.ErrorIs(t, err, chain.ErrNoBlockYet)
	code, text, err := ask(ctx, p, "getBlock", 104, map[string]string{"commitment": confirmed})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, text, fmt.Sprint(codeNoBlock))
	known, err := client.Statuses(ctx, []solana.Signature{early, late}, true)
	require.NoError(t, err)
	require.True(t, known[0].Found)
	require.Equal(t, chain.Finalized, known[0].Commitment)
	require.False(t, known[1].Found)
	history, err := client.History(ctx, program, chain.Confirmed, 0)
	require.NoError(t, err)
	require.Len(t, history, 1)
	_, text, err = ask(ctx, p, "getSupply")
	require.NoError(t, err)
	require.Contains(t, text, "cannot show the past of getSupply")
	require.Positive(t, p.Counts().Lagged)

	p.Set(Faults{})
	slot, err = client.Slot(ctx, chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 106, slot)
}

// What is final lags behind what is confirmed.
func TestFinalAccountsOfANodeThatIsBehind(t *testing.T) {
	c := newCluster(t)
	key := solana.PublicKey{1}
	p, h, client := c.behind(t)
	for i := range 5 {
		c.next(c.put(key, owned{c.program, []byte{byte(i)}})) // slot 101 + i
		seen(t, h, 101+uint64(i))
	}
	p.Set(Faults{Lag: time.Hour})
	a, err := client.Account(t.Context(), key, chain.Confirmed)
	require.NoError(t, err)
	require.Equal(t, []byte{4}, a.Data)
	a, err = client.Account(t.Context(), key, chain.Finalized)
	require.NoError(t, err)
	require.Equal(t, []byte{4 - finality}, a.Data)
	require.EqualValues(t, 105-finality, a.Slot)
}

// The chain stands still until the node is as far behind as it is told, goes on then, and never goes back.
func TestANodeFallsBehindAndNeverGoesBack(t *testing.T) {
	const lag = 300 * time.Millisecond
	c := newCluster(t)
	p, h, client := c.behind(t)
	seen(t, h, 100)
	p.Set(Faults{Lag: lag})
	began := time.Now()
	c.next(func() {})
	var slots []uint64
	for slots = append(slots, 100); slots[len(slots)-1] == 100; {
		require.Less(t, time.Since(began), 5*time.Second)
		slot, err := client.Slot(t.Context(), chain.Confirmed)
		require.NoError(t, err)
		slots = append(slots, slot)
	}
	require.GreaterOrEqual(t, time.Since(began), lag)
	require.True(t, slices.IsSorted(slots))
	p.Set(Faults{Lag: 10 * lag})
	slot, err := client.Slot(t.Context(), chain.Confirmed)
	require.NoError(t, err)
	require.EqualValues(t, 101, slot)
}

// What the node announces comes as much later, after the account that it is about can be read.
func TestAnnouncementsOfANodeThatIsBehind(t *testing.T) {
	const lag = 300 * time.Millisecond
	c := newCluster(t)
	key := solana.PublicKey{1}
	c.next(c.put(key, owned{c.program, []byte("old")}))
	p, h, client := c.behind(t)
	seen(t, h, 101)
	ws, err := client.DialWS(t.Context())
	require.NoError(t, err)
	defer ws.Close()
	heard := make(chan chain.Announced, 8)
	listen := func() *chain.Subscription {
		sub, err := ws.Listen(t.Context(), "programSubscribe", "programUnsubscribe", func(raw json.RawMessage) error {
			a, err := chain.DecodeAnnounced(raw)
			heard <- a
			return err
		}, c.program)
		require.NoError(t, err)
		return sub
	}
	announce := func(data string) {
		c.next(c.put(key, owned{c.program, []byte(data)}))
		c.srv.Notify("programSubscribe", map[string]any{"context": map[string]any{"slot": c.slot}, "value": map[string]any{"pubkey": key}})
	}
	sub := listen()
	announce("at once")
	require.EqualValues(t, 102, (<-heard).Slot)
	require.NoError(t, sub.Unsubscribe(t.Context()))

	seen(t, h, 102)
	p.Set(Faults{Lag: lag})
	began := time.Now()
	listen()
	require.Less(t, time.Since(began), lag, "the answer to a subscription comes at once")
	announce("later")
	a := <-heard
	require.GreaterOrEqual(t, time.Since(began), lag)
	require.Equal(t, chain.Announced{Key: key, Slot: 103}, a)
	got, _, err := client.AccountsSince(t.Context(), []solana.PublicKey{key}, chain.Confirmed, a.Slot)
	require.NoError(t, err)
	require.Equal(t, "later", string(got[0].Data))

	announce("waits")
	p.Set(Faults{})
	require.EqualValues(t, 104, (<-heard).Slot, "what waited comes when the node is no longer behind")
}

func TestAWebSocketThatBreaks(t *testing.T) {
	c := newCluster(t)
	p, _, client := c.behind(t)
	ws, err := client.DialWS(t.Context())
	require.NoError(t, err)
	defer ws.Close()
	p.Set(Faults{Drop: time.Millisecond})
	select {
	case <-ws.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the connection lasts")
	}
	require.EqualValues(t, 1, p.Counts().Dropped)
}

func TestAProxyWithoutAPast(t *testing.T) {
	c := newCluster(t)
	p, err := StartProxy(t.Context(), c.srv.URL())
	require.NoError(t, err)
	t.Cleanup(p.Close)
	p.Set(Faults{Lag: time.Second})
	_, text, err := ask(t.Context(), p, "getSlot")
	require.NoError(t, err)
	require.Contains(t, text, "start it with a History")
	res, err := http.Get("http://" + p.Addr()) //nolint:noctx // a test
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}
