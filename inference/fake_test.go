package inference

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/sdk/market"
)

// modelServer is a model server over real HTTP. It answers with as many words as max_tokens says.
type modelServer struct {
	*httptest.Server
	sick      atomic.Bool
	status    atomic.Int32  // of answers, unless it is 0
	usage     bool          // it reports usage
	before    chan struct{} // a request waits for it before its first token, unless it is nil
	after     chan struct{} // a request waits for it after its first token, unless it is nil
	got       atomic.Int64
	checked   atomic.Int64
	unreached atomic.Bool // connections to it hang
	mu        sync.Mutex
	last      http.Header
	lastBody  map[string]any
	arrived   chan struct{} // one for each request
	connected sync.Map
	dead      atomic.Bool
}

func newModelServer(usage bool) *modelServer {
	m := &modelServer{usage: usage, arrived: make(chan struct{}, 10_000)}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	return m
}

// kill ends it as the end of its machine does: it takes no connections any more, and those that there are break.
func (m *modelServer) kill() {
	m.dead.Store(true)
	_ = m.Listener.Close()
	m.connected.Range(func(c, _ any) bool { _ = c.(net.Conn).Close(); return true })
}

func (m *modelServer) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" {
		m.checked.Add(1)
		if m.sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return
	}
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	m.mu.Lock()
	m.last, m.lastBody = r.Header.Clone(), body
	m.mu.Unlock()
	m.got.Add(1)
	m.arrived <- struct{}{}
	if status := m.status.Load(); status != 0 {
		w.WriteHeader(int(status))
		_, _ = io.WriteString(w, `{"error":{"message":"busy"}}`)
		return
	}
	words := 3
	if n, ok := body["max_tokens"].(float64); ok {
		words = int(n)
	}
	if body["stream"] != true {
		hold(r, m.before)
		w.Header().Set("Content-Type", "application/json")
		answer := map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant", "content": strings.Repeat("word ", words)}, "finish_reason": "stop"}}}
		if m.usage {
			answer["usage"] = map[string]any{"prompt_tokens": 5, "completion_tokens": words}
		}
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	m.stream(w, r, words)
}

func (m *modelServer) stream(w http.ResponseWriter, r *http.Request, words int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Set-Cookie", "a=b")
	c := http.NewResponseController(w)
	send := func(text string) { fmt.Fprintf(w, "data: %s\n\n", text); _ = c.Flush() }
	send(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
	hold(r, m.before)
	for i := range words {
		send(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"w%d "},"finish_reason":null}]}`, i))
		if i == 0 {
			hold(r, m.after)
		}
	}
	send(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	if m.usage {
		send(fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":%d}}`, words))
	}
	send("[DONE]")
}

func hold(r *http.Request, until chan struct{}) {
	if until == nil {
		return
	}
	select {
	case <-until:
	case <-r.Context().Done():
	}
}

// compute sells leases of model servers on this machine.
type compute struct {
	t       *testing.T
	usage   bool
	prepare func(n int, m *modelServer) // each new model server

	mu      sync.Mutex
	refuse  error
	hold    chan struct{} // purchases wait for it, unless it is nil
	asked   chan string
	bought  map[string]string // lease by name
	servers map[string]*modelServer
	over    map[string]bool
	orders  []string
	stopped []string
	// Leases are paid for so long, from their purchase.
	paid     time.Duration
	until    map[string]time.Time
	stingy   bool            // it extends nothing
	extended map[string]bool // keys
}

func newCompute(t *testing.T) *compute {
	c := &compute{t: t, asked: make(chan string, 1000), bought: map[string]string{}, servers: map[string]*modelServer{}, over: map[string]bool{}, paid: 24 * time.Hour, until: map[string]time.Time{}, extended: map[string]bool{}}
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, m := range c.servers {
			m.kill()
			m.CloseClientConnections()
		}
	})
	return c
}

func (c *compute) Buy(ctx context.Context, name string, order json.RawMessage) (string, error) {
	c.asked <- name
	c.mu.Lock()
	wait := c.hold
	c.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		return "", c.refuse
	}
	if lease, ok := c.bought[name]; ok {
		return lease, nil
	}
	lease := fmt.Sprintf("lease-%d", len(c.bought))
	m := newModelServer(c.usage)
	if c.prepare != nil {
		c.prepare(len(c.bought), m)
	}
	c.bought[name], c.servers[lease], c.until[lease] = lease, m, time.Now().Add(c.paid)
	c.orders = append(c.orders, string(order))
	return lease, nil
}

func (c *compute) Abandon(_ context.Context, name string) error {
	c.mu.Lock()
	lease, ok := c.bought[name]
	c.mu.Unlock()
	if !ok {
		return nil
	}
	return c.Stop(context.Background(), lease)
}

func (c *compute) Lease(_ context.Context, lease string) (Lease, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over[lease] {
		return Lease{}, ErrOver
	}
	return Lease{PerHour: 3600 * market.OneUSDC, Until: c.until[lease]}, nil
}

// Extend gives a key its time once, as the market does.
func (c *compute) Extend(ctx context.Context, key, lease string, by time.Duration) (Lease, error) {
	c.mu.Lock()
	stingy := c.stingy
	if !stingy && !c.extended[key] {
		c.extended[key] = true
		c.until[lease] = c.until[lease].Add(by)
	}
	c.mu.Unlock()
	if stingy {
		return Lease{}, errors.New("0.10 USDC needed, 0.00 free")
	}
	return c.Lease(ctx, lease)
}

func (c *compute) Stop(_ context.Context, lease string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over[lease] = true
	c.stopped = append(c.stopped, lease)
	c.servers[lease].kill()
	return nil
}

type way struct{ m *modelServer }

func (w *way) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	if port != 8000 {
		return nil, errors.New("nothing listens on this port")
	}
	if w.m.unreached.Load() {
		time.Sleep(2 * dialWithin) // whatever ctx says
		return nil, errors.New("the machine is not reachable")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", w.m.Listener.Addr().String())
	if err == nil {
		w.m.connected.Store(conn, true)
		if w.m.dead.Load() { // made while the machine ended: nobody else breaks it
			_ = conn.Close()
		}
	}
	return conn, err
}

func (w *way) Close() error { return nil }

func (c *compute) Connect(_ context.Context, lease string) (Connection, error) {
	return &way{c.server(lease)}, nil
}

func (c *compute) server(lease string) *modelServer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[lease]
}

func (c *compute) count() (bought, stopped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.bought), len(c.stopped)
}

// site is a service with its API over real HTTP.
type site struct {
	t *testing.T
	*Service
	store *Store
	url   string
	token string
	log   *syncbuf.Buffer
	end   func()
}

func openStore(t *testing.T, path string) *Store {
	t.Helper()
	s, err := OpenStore(path, solana.PublicKey{1})
	require.NoError(t, err)
	return s
}

// open starts a service on a file; end stops it as the end of its process does.
func open(t *testing.T, path string, c Compute) *site {
	t.Helper()
	w := &site{t: t, store: openStore(t, path), log: &syncbuf.Buffer{}}
	var err error
	w.Service, err = New(Options{
		Store: w.store, Compute: c, Log: zerolog.New(w.log), Every: 20 * time.Millisecond, HealthEvery: 30 * time.Millisecond, LeaseEvery: 50 * time.Millisecond,
		Patience: 300 * time.Millisecond, Backoff: 20 * time.Millisecond, DrainWithin: 5 * time.Second, ReadWithin: 500 * time.Millisecond,
		Admits: func(token string) (bool, error) { return token == "the server's", nil },
	})
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(w.Service)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond // as those of gantry serve, for requests that are no streams
	server.Config.IdleTimeout = 2 * time.Minute                                                        // a connection that ends just when a request is sent fails that request
	server.Start()
	w.url = server.URL + Prefix
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	_, w.token, err = w.store.NewToken(Token{Name: "test"})
	require.NoError(t, err)
	w.end = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
		server.CloseClientConnections()
		server.Close()
		require.NoError(t, w.store.Close())
	})
	t.Cleanup(w.end)
	return w
}

func start(t *testing.T, c Compute) *site {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "inference.db"), c)
}

func spec(name string, change func(*Spec)) Spec {
	s := Spec{
		Name: name, Asked: json.RawMessage(`{"template":"x"}`), Order: json.RawMessage(`{"secret":"hunter2"}`), Port: 8000, Path: "/v1", Model: "upstream/model",
		HealthPort: 8000, HealthPath: "/health", Deadline: 2 * time.Second, Min: 0, Max: 2, Concurrency: 2, Idle: time.Second, Wait: 5 * time.Second, Lease: time.Hour,
	}
	if change != nil {
		change(&s)
	}
	return s
}

func (w *site) create(s Spec) {
	w.t.Helper()
	_, fresh, err := w.Create(s)
	require.NoError(w.t, err)
	require.True(w.t, fresh)
}

// serving waits until so many replicas serve.
func (w *site) serving(name string, n int) DeploymentStatus {
	w.t.Helper()
	var st DeploymentStatus
	require.Eventually(w.t, func() bool {
		var err error
		st, _, err = w.Deployment(name)
		return err == nil && st.Serving == n && len(st.Replicas) == n
	}, 20*time.Second, 5*time.Millisecond, "%d replicas should serve", n)
	return st
}

// post sends a request; its answer's body is the caller's.
func (w *site) post(path, token string, body map[string]any) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Cookie", "session=1")
	return http.DefaultClient.Do(r)
}

// chat asks for words, and returns status and text.
func (w *site) chat(model, content string, stream bool, words int) (int, string, http.Header) {
	res, err := w.post("/chat/completions", w.token, map[string]any{
		"model": model, "stream": stream, "max_tokens": words, "messages": []any{map[string]any{"role": "user", "content": content}},
	})
	if err != nil {
		return 0, err.Error(), nil
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return res.StatusCode, string(raw), res.Header
}

// used is the usage of a deployment, added up: a test may run while an hour ends.
func (w *site) used(name string) (sum Usage) {
	all, err := w.Usage(name, 2)
	require.NoError(w.t, err)
	for _, u := range all {
		sum.Requests += u.Requests
		sum.Failed += u.Failed
		sum.Counted += u.Counted
		sum.Prompt += u.Prompt
		sum.Completion += u.Completion
		sum.Cost = u.Cost
	}
	return sum
}
