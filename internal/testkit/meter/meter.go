// Package meter counts what a client asks of a Solana node, and how many bytes go to and fro.
package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Meter stands between a client and a node.
type Meter struct {
	node     chain.Endpoint
	rpc, ws  *httptest.Server
	relaying sync.WaitGroup

	mu    sync.Mutex
	calls map[string]int
	bytes int
	claim string // the genesis hash that the node is said to have; empty for its own
	conns map[*websocket.Conn]bool
}

// New starts a meter in front of a node; it ends with the test.
func New(t testing.TB, node chain.Endpoint) *Meter {
	m := &Meter{node: node, calls: map[string]int{}, conns: map[*websocket.Conn]bool{}}
	m.rpc, m.ws = httptest.NewServer(http.HandlerFunc(m.serveRPC)), httptest.NewServer(http.HandlerFunc(m.serveWS))
	t.Cleanup(func() {
		m.mu.Lock()
		for c := range m.conns {
			_ = c.CloseNow()
		}
		m.mu.Unlock()
		m.relaying.Wait()
		m.ws.Close()
		m.rpc.Close()
	})
	return m
}

// Endpoint is where clients reach the node through the meter.
func (m *Meter) Endpoint() chain.Endpoint {
	return chain.Endpoint{RPC: m.rpc.URL, WS: strings.Replace(m.ws.URL, "http", "ws", 1)}
}

// Reset forgets what was counted.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls, m.bytes = map[string]int{}, 0
}

// Bytes are those of all requests, answers and notifications, without their headers.
func (m *Meter) Bytes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// Calls are the requests by method, subscriptions among them.
func (m *Meter) Calls() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.calls)
}

// Claim makes the node say that it is of the cluster with a genesis hash.
func (m *Meter) Claim(genesis string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claim = genesis
}

// claimed answers a request for the genesis hash in the node's place.
func (m *Meter) claimed(asked []byte) (answer []byte, ok bool) {
	m.mu.Lock()
	claim := m.claim
	m.mu.Unlock()
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if claim == "" || json.Unmarshal(asked, &r) != nil || r.Method != "getGenesisHash" {
		return nil, false
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": claim})
	return answer, err == nil
}

// count counts a message; of a request also the method.
func (m *Meter) count(message []byte, request bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += len(message)
	var r struct {
		Method string `json:"method"`
	}
	if request && json.Unmarshal(message, &r) == nil {
		m.calls[r.Method]++
	}
}

func (m *Meter) serveRPC(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.count(asked, true)
	if answer, ok := m.claimed(asked); ok {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, m.node.RPC, bytes.NewReader(asked))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	m.count(body, false)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body)
}

func (m *Meter) serveWS(w http.ResponseWriter, r *http.Request) {
	client, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx := context.WithoutCancel(r.Context()) // the request's ends with the upgrade
	node, _, err := websocket.Dial(ctx, m.node.WS, nil)
	if err != nil {
		_ = client.CloseNow()
		return
	}
	client.SetReadLimit(-1) // the ends have limits of their own
	node.SetReadLimit(-1)
	m.mu.Lock()
	m.conns[client], m.conns[node] = true, true
	m.mu.Unlock()
	m.relaying.Go(func() { m.relay(ctx, client, node, true) })
	m.relaying.Go(func() { m.relay(ctx, node, client, false) })
}

// relay moves messages until one side ends, and ends the other.
func (m *Meter) relay(ctx context.Context, from, to *websocket.Conn, request bool) {
	defer func() { _ = to.CloseNow() }()
	for {
		kind, message, err := from.Read(ctx)
		if err != nil {
			return
		}
		m.count(message, request)
		if err := to.Write(ctx, kind, message); err != nil {
			return
		}
	}
}
