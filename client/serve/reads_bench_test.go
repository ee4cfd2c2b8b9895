package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// The reference market of the benchmark.
const (
	benchNodes  = 40_000
	benchLeases = 1_000
	benchModels = 8
	// benchRequests at least are measured of each kind, by benchClients at once.
	benchRequests = 400
	benchClients  = 4
)

var benchCustomer = solana.PublicKey{1}

// node is an RPC node that answers from memory: lists of accounts are encoded once.
type rpcNode struct {
	srv      *fakerpc.Server
	accounts map[solana.PublicKey]json.RawMessage
	listed   map[string][]json.RawMessage // by discriminator
	answers  map[string]json.RawMessage   // getProgramAccounts, by its filters
	mu       sync.Mutex
}

func benchKey(kind string, n int) solana.PublicKey {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(kind), uint64(n)))
}

func newRPCNode(b testing.TB) *rpcNode {
	n := &rpcNode{srv: fakerpc.New(b), accounts: map[solana.PublicKey]json.RawMessage{}, listed: map[string][]json.RawMessage{}, answers: map[string]json.RawMessage{}}
	n.srv.Handle("getMultipleAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var keys []solana.PublicKey
		_ = json.Unmarshal(p[0], &keys)
		out := make([]json.RawMessage, len(keys))
		for i, k := range keys {
			if out[i] = n.accounts[k]; out[i] == nil {
				out[i] = json.RawMessage("null")
			}
		}
		return map[string]any{"context": map[string]any{"slot": 1000}, "value": out}, nil
	})
	n.srv.Handle("getAccountInfo", func(p []json.RawMessage) (any, *fakerpc.Error) {
		var key solana.PublicKey
		_ = json.Unmarshal(p[0], &key)
		value := n.accounts[key]
		if key == solana.SysVarClockPubkey {
			raw := make([]byte, 40)
			binary.LittleEndian.PutUint64(raw[32:], uint64(time.Now().Unix()))
			value = encoded(solana.PublicKey{}, raw)
		}
		if value == nil {
			value = json.RawMessage("null")
		}
		return map[string]any{"context": map[string]any{"slot": 1000}, "value": value}, nil
	})
	n.srv.Handle("getProgramAccounts", func(p []json.RawMessage) (any, *fakerpc.Error) { return n.list(p[1]), nil })
	n.srv.Answer("getSlot", 1000)
	return n
}

func encoded(owner solana.PublicKey, data []byte) json.RawMessage {
	raw, _ := json.Marshal(map[string]any{
		"lamports": 1, "owner": owner, "executable": true, "rentEpoch": 0, "data": []string{base64.StdEncoding.EncodeToString(data), "base64"},
	})
	return raw
}

func (n *rpcNode) put(b testing.TB, key solana.PublicKey, discriminator [8]byte, value interface{ Marshal() ([]byte, error) }) {
	raw, err := value.Marshal()
	require.NoError(b, err)
	n.accounts[key] = encoded(market.ProgramID, append(discriminator[:], raw...))
	listed, err := json.Marshal(map[string]any{"pubkey": key, "account": n.accounts[key]})
	require.NoError(b, err)
	n.listed[string(discriminator[:])] = append(n.listed[string(discriminator[:])], listed)
}

// list answers with all accounts of the kind that the first filter names: all leases and orders are the customer's.
func (n *rpcNode) list(conf json.RawMessage) json.RawMessage {
	var c struct {
		Filters []struct {
			Memcmp struct {
				Bytes []byte `json:"bytes"`
			} `json:"memcmp"`
		} `json:"filters"`
	}
	_ = json.Unmarshal(conf, &c)
	kind := ""
	for _, f := range c.Filters {
		if len(f.Memcmp.Bytes) >= 8 && kind == "" {
			kind = string(f.Memcmp.Bytes[:8])
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers[kind] == nil {
		raw, err := json.Marshal(map[string]any{"context": map[string]any{"slot": 1000}, "value": append([]json.RawMessage{}, n.listed[kind]...)})
		if err != nil {
			panic(err)
		}
		n.answers[kind] = raw
	}
	return n.answers[kind]
}

// fill puts the reference market on the node.
func (n *rpcNode) fill(b *testing.B, domain [8]byte) {
	now := time.Now().Unix()
	vault := benchKey("vault", 0)
	n.accounts[market.ProgramID] = encoded(solana.BPFLoaderUpgradeableProgramID, nil)
	n.put(b, market.MarketAddress(), bindings.Account_Market, bindings.Market{Version: market.LayoutVersion, Domain: domain, FeeVault: vault})
	n.put(b, market.CreditsAddress(benchCustomer), bindings.Account_Credits, bindings.Credits{Version: market.LayoutVersion, Customer: benchCustomer, Balance: 1 << 40})
	for i := range benchModels {
		name := market.Text32(fmt.Sprintf("Model-%d-80GB", i))
		n.put(b, market.ModelAddress(uint16(i+1)), bindings.Account_GpuModel, bindings.GpuModel{Version: market.LayoutVersion, Id: uint16(i + 1), Name: name, ReferencePrice: 2_000_000})
	}
	for i := range benchNodes {
		x := bindings.Node{Version: market.LayoutVersion, Provider: benchKey("provider", i/10), NodeKey: benchKey("key", i), Status: uint8(market.NodeActive), Price: 1_000_000 + uint64(i*7919%3_000_000), UptimeBps: 9_900, RegisteredAt: now - int64(i)}
		x.Spec = bindings.NodeSpec{Model: uint16(i%benchModels + 1), Gpus: 8, VramMib: 81_920, Region: market.Text16([]string{"us-west-2", "us-east-1", "eu-central-1"}[i%3])}
		n.put(b, benchKey("node", i), bindings.Account_Node, x)
	}
	for i := range benchLeases {
		order := benchKey("order", i)
		n.put(b, order, bindings.Account_Order, bindings.Order{Version: market.LayoutVersion, Customer: benchCustomer, Status: uint8(market.OrderAwarded), NodesWanted: 1, NodesAwarded: 1, GpusPerNode: 8, DurationSecs: 86_400})
		n.put(b, benchKey("lease", i), bindings.Account_Lease, bindings.Lease{
			Version: market.LayoutVersion, Customer: benchCustomer, Order: order, Node: benchKey("node", i), Provider: benchKey("provider", i/10), NodeKey: benchKey("key", i),
			Status: uint8(market.LeaseRunning), Gpus: 8, Price: 2_000_000, AwardedAt: now - 600, StartedAt: now - 500, FundedUntil: now + 86_400, Reserved: 1 << 30,
		})
	}
}

// BenchmarkReads measures reads of the HTTP API at 1,000 leases of the customer and 40,000 nodes, while the server follows a
// cluster: the 50th and the 99th part of a hundred, milliseconds, with several clients at once.
func BenchmarkReads(b *testing.B) {
	node := newRPCNode(b)
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.srv.URL(), WS: node.srv.WS()}}, Commitment: chain.Confirmed, Log: zerolog.Nop()})
	require.NoError(b, err)
	b.Cleanup(c.Close)
	domain, err := c.Domain(b.Context())
	require.NoError(b, err)
	node.fill(b, [8]byte(domain))
	store, err := OpenStore(filepath.Join(b.TempDir(), "serve.db"), solana.PublicKey{2})
	require.NoError(b, err)
	token, err := store.NewToken()
	require.NoError(b, err)
	events, err := OpenEvents(filepath.Join(b.TempDir(), "events.db"), benchCustomer)
	require.NoError(b, err)
	s := New(Options{Service: service.New(c, zerolog.Nop()), Store: store, Events: events, Customer: benchCustomer, Session: solana.PublicKey{2}, Log: zerolog.Nop()})
	end, err := s.keepEvents(b.Context())
	require.NoError(b, err)
	defer func() {
		end()
		require.NoError(b, store.Close())
		require.NoError(b, events.Close())
	}()
	l := httptest.NewServer(s)
	defer l.Close()
	get := func(path string) (time.Duration, error) {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, l.URL+path, nil)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		began := time.Now()
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			raw, _ := io.ReadAll(res.Body)
			return 0, fmt.Errorf("%s: %d: %s", path, res.StatusCode, raw)
		}
		_, err = io.Copy(io.Discard, res.Body)
		return time.Since(began), err
	}
	var all Leases
	require.Eventually(b, func() bool { // the server has read the market
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/v1/leases", nil)
		r.Host = "127.0.0.1"
		r.Header.Set("Authorization", "Bearer "+token)
		s.ServeHTTP(w, r)
		_, last, _ := events.bounds()
		return w.Code == http.StatusOK && json.Unmarshal(w.Body.Bytes(), &all) == nil && len(all.Leases) == benchLeases && last >= benchLeases
	}, 5*time.Minute, 100*time.Millisecond)
	var asked atomic.Int64
	for _, x := range []struct{ name, path string }{
		{"offers-100", "/v1/offers?limit=100"},
		{"offers-1000", "/v1/offers"},
		{"search-100", "/v1/offers?q=gpu%3DModel-3+region%3Dus+price%3C2.6&limit=100"},
		{"search-new", "/v1/offers?limit=100&q=region%3Dus+price%3C3.%d"}, // no search twice
		{"leases", "/v1/leases"},
		{"lease", "/v1/leases/" + benchKey("lease", 7).String()},
		{"statistics", "/v1/statistics"},
		{"market", "/v1/market"},
		{"status", "/v1/status"},
	} {
		b.Run(x.name, func(b *testing.B) {
			measure(b, func() (time.Duration, error) {
				return get(strings.Replace(x.path, "%d", fmt.Sprint(100_000+asked.Add(1)), 1))
			})
		})
	}
}

// measure asks with several clients at once, and reports how long answers took.
func measure(b *testing.B, get func() (time.Duration, error)) {
	_, err := get()
	require.NoError(b, err)
	for b.Loop() {
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		for range benchClients {
			wg.Go(func() {
				for range benchRequests / benchClients {
					d, err := get()
					mu.Lock()
					if err != nil {
						b.Error(err)
					}
					took = append(took, d)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(took)
		ms := func(i int) float64 { return float64(took[i]) / float64(time.Millisecond) }
		b.ReportMetric(ms(len(took)/2), "p50-ms")
		b.ReportMetric(ms(len(took)*99/100), "p99-ms")
	}
}
