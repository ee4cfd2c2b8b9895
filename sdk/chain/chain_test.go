package chain_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/records"
)

func ctxFor(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func client(t testing.TB, servers ...*fakerpc.Server) *chain.Client {
	var eps []chain.Endpoint
	for _, s := range servers {
		eps = append(eps, chain.Endpoint{RPC: s.URL(), WS: s.WS()})
	}
	c, err := chain.New(chain.Options{Endpoints: eps, Timeout: 2 * time.Second})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestAmounts(t *testing.T) {
	for s, want := range map[string]chain.Lamports{
		"1": chain.SOL, "1.5": 1_500_000_000, "0.000000001": 1, ".5 SOL": 500_000_000, " 2 SOL ": 2 * chain.SOL, "0": 0,
		"18446744073.709551615": math.MaxUint64,
	} {
		got, err := chain.ParseSOL(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
		again, err := chain.ParseSOL(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, s := range []string{"", "-1", "+1", "1.0000000001", "x", ".", "1e3", "18446744073.709551616"} {
		_, err := chain.ParseSOL(s)
		require.ErrorIs(t, err, chain.ErrAmount, s)
	}
	require.Equal(t, "1.5 SOL", chain.Lamports(1_500_000_000).String())
	require.Equal(t, chain.Lamports(1), chain.MicroLamports(1).Cost(1))
	require.Equal(t, chain.Lamports(2), chain.MicroLamports(1_000_001).Cost(1))
	require.Equal(t, chain.Lamports(math.MaxUint64), chain.MicroLamports(math.MaxUint64).Cost(2))
}

func TestCommitment(t *testing.T) {
	require.True(t, chain.Finalized.Reaches(chain.Confirmed))
	require.True(t, chain.Processed.Reaches(chain.Processed))
	require.False(t, chain.Processed.Reaches(chain.Confirmed))
	require.False(t, chain.Commitment("x").Reaches(chain.Processed))
	require.False(t, chain.Finalized.Reaches(""))
	_, err := chain.ParseCommitment("max")
	require.ErrorIs(t, err, chain.ErrCommitment)
	_, err = chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "l"}}, Commitment: "max"})
	require.ErrorIs(t, err, chain.ErrCommitment)
}

// Programs that begin at once use one key.
func TestOneKeypairIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "id.json")
	keys, made, errs := make([]solana.PrivateKey, 8), make([]bool, 8), make([]error, 8)
	var ready, wg sync.WaitGroup
	ready.Add(len(keys))
	for i := range keys {
		wg.Go(func() {
			ready.Done()
			ready.Wait()
			keys[i], made[i], errs[i] = chain.LoadOrMakeKeypair(path)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	makers := 0
	for i := range keys {
		require.Equal(t, keys[0], keys[i])
		if made[i] {
			makers++
		}
	}
	require.Equal(t, 1, makers)
}

func TestKeypairs(t *testing.T) {
	dir := t.TempDir()
	key, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	good := filepath.Join(dir, "sub", "id.json")
	require.NoError(t, chain.SaveKeypair(good, key))
	info, err := os.Stat(good)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	got, err := chain.LoadKeypair(good)
	require.NoError(t, err)
	require.Equal(t, key, got)
	require.ErrorIs(t, chain.SaveKeypair(good, key), chain.ErrKeypairExists)

	nums := make([]int, 64)
	for i, b := range key {
		nums[i] = int(b)
	}
	enc := func(n []int) string { b, _ := json.Marshal(n); return string(b) }
	swapped := append([]int{}, nums...)
	swapped[40] ^= 1
	over := append([]int{}, nums...)
	over[3] = 256
	for name, tc := range map[string]struct {
		content string
		want    error
		say     string
	}{
		"empty":     {"", chain.ErrKeypairFormat, "JSON array"},
		"text":      {"seed words", chain.ErrKeypairFormat, "JSON array"},
		"base58":    {`"` + key.String() + `"`, chain.ErrKeypairFormat, "JSON array"},
		"short":     {enc(nums[:32]), chain.ErrKeypairFormat, "32 numbers instead of 64"},
		"long":      {enc(append(append([]int{}, nums...), 1)), chain.ErrKeypairFormat, "65 numbers"},
		"not bytes": {enc(over), chain.ErrKeypairFormat, "not a byte"},
		"mixed up":  {enc(swapped), chain.ErrKeypairFormat, "public half"},
		"huge":      {strings.Repeat(" ", 70<<10), chain.ErrKeypairFormat, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
			require.NoError(t, os.WriteFile(path, []byte(tc.content), 0o600))
			_, err := chain.LoadKeypair(path)
			require.ErrorIs(t, err, tc.want)
			require.Contains(t, err.Error(), tc.say)
			require.Contains(t, err.Error(), path)
			require.NotContains(t, err.Error(), "\n")
			require.NotContains(t, err.Error(), key.String())
		})
	}
	_, err = chain.LoadKeypair(filepath.Join(dir, "none.json"))
	require.ErrorIs(t, err, chain.ErrKeypairMissing)
	require.Contains(t, err.Error(), "gantry key new")
	_, err = chain.LoadKeypair(dir)
	require.ErrorIs(t, err, chain.ErrKeypairFormat)
	t.Setenv("HOME", dir)
	got, err = chain.LoadKeypair("~/sub/id.json")
	require.NoError(t, err)
	require.Equal(t, key, got)
}

func FuzzParseKeypair(f *testing.F) {
	key, err := solana.NewRandomPrivateKey()
	require.NoError(f, err)
	nums := make([]int, 64)
	for i, b := range key {
		nums[i] = int(b)
	}
	b, err := json.Marshal(nums)
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte("[1,2"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, in []byte) {
		k, err := chain.ParseKeypair(in)
		if err != nil {
			if !errors.Is(err, chain.ErrKeypairFormat) {
				t.Fatal(err)
			}
			return
		}
		if len(k) != 64 || k.Validate() != nil {
			t.Fatal("accepted an invalid key")
		}
	})
}

func TestSolanaConfig(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	cfg, err := chain.LoadCLIConfig("")
	require.NoError(t, err)
	require.Equal(t, chain.CLIConfig{
		RPCURL: chain.MainnetURL, WebsocketURL: "wss://api.mainnet-beta.solana.com",
		KeypairPath: "~/.config/solana/id.json", Commitment: chain.Confirmed,
	}, cfg)
	path := filepath.Join(dir, ".config", "solana", "cli", "config.yml")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write := func(s string) { require.NoError(t, os.WriteFile(path, []byte(s), 0o600)) }
	write("---\njson_rpc_url: http://localhost:8899\nwebsocket_url: ''\nkeypair_path: /k.json\naddress_labels:\n  '11111111111111111111111111111111': System Program\ncommitment: finalized\n")
	cfg, err = chain.LoadCLIConfig("")
	require.NoError(t, err)
	require.Equal(t, chain.CLIConfig{
		RPCURL: "http://localhost:8899", WebsocketURL: "ws://localhost:8900", KeypairPath: "/k.json",
		Commitment: chain.Finalized, Found: true,
	}, cfg)
	for _, bad := range []string{"{", "json_rpc_url: ftp://x", "commitment: much"} {
		write(bad)
		_, err = chain.LoadCLIConfig("")
		require.ErrorIs(t, err, chain.ErrConfig, bad)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestURLs(t *testing.T) {
	for in, want := range map[string]string{
		"d": chain.DevnetURL, "testnet": chain.TestnetURL, "mainnet-beta": chain.MainnetURL, "localhost": chain.LocalhostURL,
		"https://rpc.example.org/": "https://rpc.example.org",
	} {
		got, err := chain.ResolveURL(in)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"", "example", "ws://x", "http://"} {
		_, err := chain.ResolveURL(bad)
		require.ErrorIs(t, err, chain.ErrEndpoint, bad)
	}
	ws, err := chain.WebsocketURL("https://x.org/key")
	require.NoError(t, err)
	require.Equal(t, "wss://x.org/key", ws)
	_, err = chain.WebsocketURL("http://x:65535")
	require.ErrorIs(t, err, chain.ErrEndpoint)
	_, err = chain.New(chain.Options{})
	require.ErrorIs(t, err, chain.ErrNoEndpoint)

	e := chain.Explorer{Cluster: chain.ClusterLocal, RPCURL: "http://127.0.0.1:8899"}
	require.Equal(t, "https://explorer.solana.com/address/11111111111111111111111111111111?cluster=custom&customUrl=http%3A%2F%2F127.0.0.1%3A8899", e.Address(solana.SystemProgramID))
	require.Equal(t, "https://explorer.solana.com/address/11111111111111111111111111111111?cluster=devnet", chain.Explorer{Cluster: chain.ClusterDevnet}.Address(solana.SystemProgramID))
	require.NotContains(t, chain.Explorer{Cluster: chain.ClusterMainnet}.Tx(solana.Signature{1}), "?")
}

// The hashes are compared with those that the clusters' own pages print, not with the constants: a hash is 32 bytes, 43
// or 44 characters, and a constant that is no hash names no cluster.
func TestPublicClustersAreKnownByTheirRealGenesisHashes(t *testing.T) {
	for hash, want := range map[string]chain.Cluster{
		"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d": chain.ClusterMainnet,
		"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG": chain.ClusterDevnet,
		"4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY": chain.ClusterTestnet,
	} {
		genesis, err := solana.HashFromBase58(hash)
		require.NoError(t, err)
		require.Equal(t, want, chain.ClusterOf(genesis))
	}
	for _, constant := range []string{chain.MainnetGenesis, chain.DevnetGenesis, chain.TestnetGenesis} {
		hash, err := solana.HashFromBase58(constant)
		require.NoError(t, err, "%s is not a hash", constant)
		require.NotEqual(t, chain.ClusterLocal, chain.ClusterOf(hash))
	}
}

func TestGenesis(t *testing.T) {
	s := fakerpc.New(t)
	s.Answer("getGenesisHash", chain.DevnetGenesis)
	c := client(t, s)
	for range 3 {
		d, err := c.Domain(ctxFor(t))
		require.NoError(t, err)
		require.Equal(t, records.DomainOf(solana.MustHashFromBase58(chain.DevnetGenesis)), d)
	}
	require.Equal(t, 1, s.Calls("getGenesisHash"))
	e, err := c.Explorer(ctxFor(t))
	require.NoError(t, err)
	require.Equal(t, chain.ClusterDevnet, e.Cluster)
	require.True(t, c.Local())
}

func TestFailover(t *testing.T) {
	a, b := fakerpc.New(t), fakerpc.New(t)
	a.Answer("getSlot", 1)
	b.Answer("getSlot", 2)
	c := client(t, a, b)
	slot := func() uint64 {
		n, err := c.Slot(ctxFor(t), chain.Confirmed)
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 1, slot())
	a.Down(true)
	require.EqualValues(t, 2, slot())
	require.False(t, c.Health()[0].Healthy)
	require.True(t, c.Health()[1].Healthy)
	a.Down(false)
	require.Eventually(t, func() bool { return slot() == 1 }, time.Minute, 20*time.Millisecond, "the preferred endpoint is used again")
	require.True(t, c.Health()[0].Healthy)

	a.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) {
		return nil, &fakerpc.Error{Code: chain.CodeNodeUnhealthy, Message: "Node is behind by 42 slots"}
	})
	require.EqualValues(t, 2, slot(), "a node that lags is passed over")
	a.Down(true)
	b.Down(true)
	_, err := c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreachable)
	require.True(t, chain.Transient(err))
	require.Contains(t, err.Error(), "gantry-localnet up")
	require.NotContains(t, err.Error(), "\n")
}

func TestUnreachable(t *testing.T) {
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "http://127.0.0.1:1"}}})
	require.NoError(t, err)
	_, err = c.Slot(ctxFor(t), chain.Confirmed)
	require.ErrorIs(t, err, chain.ErrUnreachable)
	require.Contains(t, err.Error(), "connection refused")
	_, err = c.DialWS(ctxFor(t))
	require.ErrorIs(t, err, chain.ErrUnreachable)
	ctx, cancel := context.WithTimeout(context.Background(), 150*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, c.WaitReady(ctx), chain.ErrUnreachable)
}

func TestRefusals(t *testing.T) {
	a, b := fakerpc.New(t), fakerpc.New(t)
	a.Handle("sendTransaction", func([]json.RawMessage) (any, *fakerpc.Error) {
		return nil, &fakerpc.Error{Code: -32002, Message: "simulation failed", Data: map[string]any{"err": "BlockhashNotFound"}}
	})
	b.Handle("sendTransaction", a.HandlerOf("sendTransaction"))
	c := client(t, a, b)
	err := c.Send(ctxFor(t), []byte{1}, chain.SendOptions{PreflightCommitment: chain.Processed})
	var re *chain.RPCError
	require.ErrorAs(t, err, &re)
	require.JSONEq(t, `{"err":"BlockhashNotFound"}`, string(re.Data))
	require.NotErrorIs(t, err, chain.ErrAmbiguous)
	require.Equal(t, 1, b.Calls("sendTransaction"), "another endpoint may think otherwise")

	// One endpoint breaks off without an answer, the next refuses: unclear.
	a.Down(true)
	err = c.Send(ctxFor(t), []byte{1}, chain.SendOptions{})
	require.ErrorIs(t, err, chain.ErrAmbiguous)
	require.ErrorAs(t, err, &re)
	b.Down(true)
	require.ErrorIs(t, c.Send(ctxFor(t), []byte{1}, chain.SendOptions{}), chain.ErrAmbiguous)
}

func TestAccounts(t *testing.T) {
	s := fakerpc.New(t)
	acc := map[string]any{"lamports": 5, "owner": solana.SystemProgramID, "data": []string{"AQI=", "base64"}, "executable": false, "rentEpoch": json.Number("18446744073709551615"), "space": 2}
	var at string
	s.Handle("getAccountInfo", func(p []json.RawMessage) (any, *fakerpc.Error) {
		at = string(p[1])
		return map[string]any{"context": map[string]any{"slot": 9}, "value": acc}, nil
	})
	c := client(t, s)
	got, err := c.Account(ctxFor(t), solana.SystemProgramID, chain.Processed)
	require.NoError(t, err)
	require.Equal(t, chain.Account{Key: solana.SystemProgramID, Owner: solana.SystemProgramID, Lamports: 5, Data: []byte{1, 2}, Slot: 9}, got)
	require.Contains(t, at, `"commitment":"processed"`)
	s.Answer("getAccountInfo", map[string]any{"context": map[string]any{"slot": 9}, "value": nil})
	_, err = c.Account(ctxFor(t), solana.SystemProgramID, chain.Processed)
	require.ErrorIs(t, err, chain.ErrAccountNotFound)

	s.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var keys []solana.PublicKey
		require.NoError(t, json.Unmarshal(p[0], &keys))
		require.LessOrEqual(t, len(keys), 100)
		vals := make([]any, len(keys))
		for i := range vals {
			if keys[i][0]%2 == 0 {
				vals[i] = acc
			}
		}
		return map[string]any{"context": map[string]any{"slot": 9}, "value": vals}, nil
	})
	keys := make([]solana.PublicKey, 250)
	for i := range keys {
		keys[i] = solana.PublicKey{byte(i)}
	}
	accs, err := c.Accounts(ctxFor(t), keys, chain.Confirmed)
	require.NoError(t, err)
	require.Len(t, accs, 250)
	require.NotNil(t, accs[100])
	require.Nil(t, accs[249])
	require.Equal(t, 6, s.Calls("getMultipleAccounts"), "what is missing is asked for twice")
}

func TestFilter(t *testing.T) {
	f := chain.Filter{Prefix: []byte{1, 2}, DataSize: 4, Fields: []chain.Field{{Offset: 3, Bytes: []byte{9}}}}
	require.True(t, f.Matches([]byte{1, 2, 0, 9}))
	for _, d := range [][]byte{{1, 2, 0, 8}, {1, 3, 0, 9}, {1, 2, 0, 9, 0}, {1}, nil} {
		require.False(t, f.Matches(d))
	}
	require.True(t, chain.Filter{}.Matches(nil))
	require.Nil(t, chain.Filter{}.Params())
	require.Len(t, f.Params(), 3)
	require.False(t, chain.Filter{Fields: []chain.Field{{Offset: math.MaxUint64, Bytes: []byte{1}}}}.Matches([]byte{1}))
}

func TestFate(t *testing.T) {
	const last, since = 200, 50
	found := map[string]any{"slot": 7, "err": nil, "confirmationStatus": "confirmed"}
	for name, tc := range map[string]struct {
		height uint64
		status any
		tx     any
		txErr  *fakerpc.Error
		first  uint64
		want   chain.Fate
	}{
		"still valid":         {height: last, want: chain.FateOpen},
		"seen":                {height: last + 1000, status: found, want: chain.FateLanded},
		"just expired":        {height: last + 1, want: chain.FateDead},
		"cache still covers":  {height: last + 100, want: chain.FateDead},
		"long ago, no ledger": {height: last + 101, txErr: &fakerpc.Error{Code: chain.CodeNoHistory, Message: "Transaction history is not available from this node"}, want: chain.FateUncertain},
		"long ago, pruned":    {height: last + 101, first: since + 1, want: chain.FateUncertain},
		"long ago, in ledger": {height: last + 101, tx: map[string]any{"slot": 60, "meta": map[string]any{"err": nil}}, want: chain.FateLanded},
		"long ago, absent":    {height: last + 101, first: since, want: chain.FateDead},
	} {
		t.Run(name, func(t *testing.T) {
			s := fakerpc.New(t)
			s.Handle("getBlockHeight", func(p []json.RawMessage) (any, *fakerpc.Error) {
				require.Contains(t, string(p[0]), "finalized")
				return tc.height, nil
			})
			s.Answer("getSignatureStatuses", map[string]any{"context": map[string]any{"slot": 1}, "value": []any{tc.status}})
			s.Handle("getTransaction", func([]json.RawMessage) (any, *fakerpc.Error) { return tc.tx, tc.txErr })
			s.Answer("getFirstAvailableBlock", tc.first)
			got, _, err := client(t, s).Fate(ctxFor(t), solana.Signature{1}, last, since)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestHistoryPages(t *testing.T) {
	s := fakerpc.New(t)
	s.Handle("getSignaturesForAddress", func(p []json.RawMessage) (any, *fakerpc.Error) {
		n := 1000
		if strings.Contains(string(p[1]), "before") {
			n = 3
		}
		out := make([]map[string]any, n)
		for i := range out {
			out[i] = map[string]any{"signature": solana.Signature{byte(i), byte(i >> 8), 1}, "slot": i, "err": nil}
		}
		return out, nil
	})
	c := client(t, s)
	all, err := c.History(ctxFor(t), solana.SystemProgramID, chain.Confirmed, 0)
	require.NoError(t, err)
	require.Len(t, all, 1003)
	some, err := c.History(ctxFor(t), solana.SystemProgramID, chain.Confirmed, 5)
	require.NoError(t, err)
	require.Len(t, some, 5)
}

func TestWebsocket(t *testing.T) {
	s := fakerpc.New(t)
	c := client(t, s)
	ws, err := c.DialWS(ctxFor(t))
	require.NoError(t, err)
	defer ws.Close()
	heard := make(chan json.RawMessage, 100)
	hear := func(m json.RawMessage) error { heard <- m; return nil }
	sub, err := ws.Listen(ctxFor(t), "slotSubscribe", "slotUnsubscribe", hear)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.Subscribers("slotSubscribe") == 1 }, time.Minute, time.Millisecond)
	for i := range 100 {
		s.Notify("slotSubscribe", i)
	}
	for i := range 100 {
		var n int
		require.NoError(t, json.Unmarshal(<-heard, &n))
		require.Equal(t, i, n)
	}
	s.Handle("refuse:oddSubscribe", nil)
	_, err = ws.Listen(ctxFor(t), "oddSubscribe", "oddUnsubscribe", hear)
	require.True(t, chain.IsCode(err, chain.CodeMethodNotFound), err)
	require.NoError(t, sub.Unsubscribe(ctxFor(t)))

	s.DropWS()
	<-ws.Done()
	require.ErrorIs(t, ws.Err(), chain.ErrClosed)
	_, err = ws.Listen(ctxFor(t), "slotSubscribe", "slotUnsubscribe", hear)
	require.ErrorIs(t, err, chain.ErrClosed)
}

// A notification may be longer than a kilobyte or two: that of a block, or of an account with its data.
func TestWebsocketReadsLongMessages(t *testing.T) {
	s := fakerpc.New(t)
	ws, err := client(t, s).DialWS(ctxFor(t))
	require.NoError(t, err)
	defer ws.Close()
	heard := make(chan json.RawMessage, 1)
	_, err = ws.Listen(ctxFor(t), "slotSubscribe", "slotUnsubscribe", func(m json.RawMessage) error { heard <- m; return nil })
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.Subscribers("slotSubscribe") == 1 }, time.Minute, time.Millisecond)
	long := strings.Repeat("x", 1<<20)
	s.Notify("slotSubscribe", long)
	select {
	case m := <-heard:
		require.Len(t, m, len(long)+2)
	case <-ws.Done():
		require.NoError(t, ws.Err())
	}
}

// An endpoint is the one that was configured: the WebSocket does not follow it elsewhere.
func TestWebsocketFollowsNoRedirection(t *testing.T) {
	s := fakerpc.New(t)
	elsewhere := httptest.NewServer(http.RedirectHandler(s.URL(), http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	_, err := chain.DialWS(ctxFor(t), strings.Replace(elsewhere.URL, "http", "ws", 1), time.Second)
	require.ErrorContains(t, err, "307")
}

// The end of the context in which it was made does not end a connection, nor does that of a caller.
func TestWebsocketOutlivesItsCallers(t *testing.T) {
	s := fakerpc.New(t)
	c := client(t, s)
	ctx, cancel := context.WithCancel(ctxFor(t))
	ws, err := c.DialWS(ctx)
	require.NoError(t, err)
	defer ws.Close()
	cancel()
	hear := func(json.RawMessage) error { return nil }
	for range 20 { // whether the message or the cancellation is first
		_, _ = ws.Listen(ctx, "slotSubscribe", "slotUnsubscribe", hear)
	}
	_, err = ws.Listen(ctxFor(t), "slotSubscribe", "slotUnsubscribe", hear)
	require.NoError(t, err)
}

// A node that takes messages and answers no ping is gone.
func TestWebsocketEndsWithASilentNode(t *testing.T) {
	t.Parallel()
	long.Test(t, "a node has twenty seconds to answer a ping")
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		<-t.Context().Done() // pings are answered by who reads
	}))
	t.Cleanup(silent.Close)
	ws, err := chain.DialWS(ctxFor(t), strings.Replace(silent.URL, "http", "ws", 1), time.Second)
	require.NoError(t, err)
	select {
	case <-ws.Done():
	case <-time.After(time.Minute):
		require.Fail(t, "the connection lives")
	}
	require.ErrorIs(t, ws.Err(), chain.ErrClosed)
	require.ErrorContains(t, ws.Err(), "does not answer pings")
}
