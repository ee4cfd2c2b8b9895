package inference

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/tunnel"
)

const (
	benchStreams  = 2000
	benchReplicas = 4
	// benchArrival is the time in which the streams begin, and benchThink what the model server needs before the first token.
	benchArrival = 8 * time.Second
	benchThink   = 100 * time.Millisecond
)

// benchServer is a model server that streams a token, and another one each second until it is let go.
func benchServer(let <-chan struct{}) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(benchThink)
		w.Header().Set("Content-Type", "text/event-stream")
		c := http.NewResponseController(w)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			_, _ = io.WriteString(w, tokenEvent)
			_ = c.Flush()
			select {
			case <-let:
				_, _ = io.WriteString(w, "data: [DONE]\n\n")
				return
			case <-r.Context().Done():
				return
			case <-t.C:
			}
		}
	}))
}

// benchCompute has leases of model servers, reached directly or as containers are: over streams that carry many connections.
type benchCompute struct {
	servers []*httptest.Server
	tunnel  bool
	mu      sync.Mutex
	sold    int
}

func (c *benchCompute) Buy(context.Context, string, json.RawMessage) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sold++
	return fmt.Sprint(c.sold - 1), nil
}

func (c *benchCompute) Extend(ctx context.Context, _, lease string, _ time.Duration) (Lease, error) {
	return c.Lease(ctx, lease)
}
func (c *benchCompute) Abandon(context.Context, string) error { return nil }
func (c *benchCompute) Stop(context.Context, string) error    { return nil }
func (c *benchCompute) Lease(context.Context, string) (Lease, error) {
	return Lease{PerHour: market.OneUSDC, Until: time.Now().Add(time.Hour)}, nil
}

func (c *benchCompute) Connect(ctx context.Context, lease string) (Connection, error) {
	var n int
	if _, err := fmt.Sscan(lease, &n); err != nil {
		return nil, err
	}
	w := &benchWay{address: c.servers[n].Listener.Addr().String()}
	if !c.tunnel {
		return w, nil
	}
	for range 4 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_ = tunnel.Serve(ctx, conn, []uint16{8000}, func(ctx context.Context, _ uint16) (net.Conn, error) {
					var d net.Dialer
					return d.DialContext(ctx, "tcp", w.address)
				})
			}
		}()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		s, err := tunnel.NewSession(conn, tunnel.NewMemory(256<<20), tunnel.MaxWindow)
		if err != nil {
			return nil, err
		}
		w.sessions = append(w.sessions, s)
	}
	return w, nil
}

type benchWay struct {
	address  string
	sessions []*tunnel.Session
}

func (w *benchWay) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	if len(w.sessions) == 0 {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", w.address)
	}
	return slices.MinFunc(w.sessions, func(a, b *tunnel.Session) int { return a.Connections() - b.Connections() }).Dial(ctx, port)
}

func (w *benchWay) Close() error {
	for _, s := range w.sessions {
		_ = s.Close()
	}
	return nil
}

// firstBytes opens streams, all of which are open at the end, and returns the times to their first event, sorted.
func firstBytes(b *testing.B, token string, url func(i int) string, let func()) []time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: benchStreams, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	times := make([]time.Duration, benchStreams)
	var began, ended sync.WaitGroup
	began.Add(benchStreams)
	for i := range benchStreams {
		ended.Go(func() {
			time.Sleep(time.Duration(i) * benchArrival / benchStreams)
			done := sync.OnceFunc(began.Done)
			defer done()
			body := fmt.Sprintf(`{"model":"small","stream":true,"messages":[{"role":"user","content":"question %d"}]}`, i)
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url(i), strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+token)
			at := time.Now()
			res, err := client.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			defer res.Body.Close()
			from := bufio.NewReader(res.Body)
			line, err := from.ReadString('\n')
			times[i] = time.Since(at)
			if err != nil || res.StatusCode != http.StatusOK || !strings.HasPrefix(line, "data: {") {
				b.Errorf("%d %q: %v", res.StatusCode, line, err)
			}
			done()
			rest, err := io.ReadAll(from)
			if err != nil || !strings.Contains(string(rest), "[DONE]") {
				b.Errorf("stream %d is not whole: %v", i, err)
			}
		})
	}
	began.Wait()
	let()
	ended.Wait()
	slices.Sort(times)
	return times
}

// processorTime is what this process has used until now.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStreams measures the time to the first token of 2,000 streams that are open at once: of the model servers alone, and
// through the API, in the same run and process. Beside it, a plain reverse proxy of the standard library, which does nothing but
// forward.
func BenchmarkStreams(b *testing.B) {
	for _, way := range []string{"proxy", "direct", "tunnel"} {
		b.Run(way, func(b *testing.B) {
			for range b.N {
				began := processorTime(b)
				alone, through := benchRun(b, way)
				b.ReportMetric(float64((processorTime(b)-began).Microseconds())/1000/benchStreams, "cpu-ms/stream")
				p := func(t []time.Duration, q int) float64 { return float64(t[len(t)*q/100].Microseconds()) / 1000 }
				b.ReportMetric(p(alone, 50), "alone-p50-ms")
				b.ReportMetric(p(through, 50), "gateway-p50-ms")
				b.ReportMetric(p(through, 50)-p(alone, 50), "added-p50-ms")
				b.ReportMetric(p(alone, 99), "alone-p99-ms")
				b.ReportMetric(p(through, 99), "gateway-p99-ms")
			}
		})
	}
}

func benchRun(b *testing.B, way string) (alone, through []time.Duration) {
	b.Helper()
	servers := func() ([]*httptest.Server, func(), func()) {
		let := make(chan struct{})
		var all []*httptest.Server
		for range benchReplicas {
			all = append(all, benchServer(let))
		}
		return all, sync.OnceFunc(func() { close(let) }), func() {
			for _, s := range all {
				s.CloseClientConnections()
				s.Close()
			}
		}
	}
	all, let, end := servers()
	alone = firstBytes(b, "", func(i int) string { return all[i%benchReplicas].URL + "/v1/chat/completions" }, let)
	end()

	all, let, end = servers()
	if way == "proxy" {
		through = throughProxy(b, all, let)
		end()
		return alone, through
	}
	store, err := OpenStore(filepath.Join(b.TempDir(), "inference.db"), [32]byte{1})
	require.NoError(b, err)
	s, err := New(Options{Store: store, Compute: &benchCompute{servers: all, tunnel: way == "tunnel"}, Log: zerolog.Nop()})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	_, _, err = s.Create(spec("small", func(s *Spec) { s.Min, s.Max, s.Concurrency, s.Wait = benchReplicas, benchReplicas, 768, time.Minute }))
	require.NoError(b, err)
	require.Eventually(b, func() bool { st, _, _ := s.Deployment("small"); return st.Serving == benchReplicas }, time.Minute, 10*time.Millisecond)
	_, token, err := s.NewToken(Token{Name: "bench"})
	require.NoError(b, err)
	gateway := httptest.NewServer(s)
	through = firstBytes(b, token, func(int) string { return gateway.URL + Prefix + "/chat/completions" }, let)
	gateway.Close()
	cancel()
	require.NoError(b, <-done)
	end()
	require.NoError(b, store.Close())
	return alone, through
}

// throughProxy is what a reverse proxy does that flushes each piece.
func throughProxy(b *testing.B, all []*httptest.Server, let func()) []time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: benchStreams, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var next atomic.Uint64
	gateway := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1, Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", all[next.Add(1)%benchReplicas].Listener.Addr().String()
		},
	})
	defer gateway.Close()
	return firstBytes(b, "", func(int) string { return gateway.URL + "/v1/chat/completions" }, let)
}
