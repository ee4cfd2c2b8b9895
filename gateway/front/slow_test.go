package front

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trickle sends the body of a POST a byte at a time over HTTP/2, as many at once as one client may. Each has its client's
// connection in common. It returns the codes of the answers.
func (b *bed) trickle(from string, n int, pause time.Duration) <-chan int {
	codes := make(chan int, n)
	client := b.client(from)
	transport := client.Transport.(*http.Transport)
	transport.DisableKeepAlives, transport.ForceAttemptHTTP2 = false, true
	b.t.Cleanup(transport.CloseIdleConnections)
	for range n {
		r, w := io.Pipe()
		go func() {
			for b.t.Context().Err() == nil {
				if _, err := w.Write([]byte{'x'}); err != nil {
					return
				}
				time.Sleep(pause)
			}
			_ = w.Close()
		}()
		go func() {
			resp, err := client.Post("https://web.gw.test/", "text/plain", r)
			_ = r.Close()
			if err != nil {
				codes <- 0
				return
			}
			_ = resp.Body.Close()
			codes <- resp.StatusCode
		}()
	}
	return codes
}

var reads = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	page(w, r)
})

// Requests whose bodies come by the byte hold a quarter of a lease's places at most, and not for good.
func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	b := newBed(t, settings{perLease: 16, patience: 3 * time.Second}, reads)
	codes := b.trickle("127.0.0.2", 20, 100*time.Millisecond)
	require.Eventually(t, func() bool { return b.entry.Places.Taken() == 4 }, time.Minute, time.Millisecond)
	for range 16 {
		require.Equal(t, http.StatusServiceUnavailable, <-codes)
	}
	code, _ := b.get("127.0.0.3", "https://web.gw.test/")
	require.Equal(t, 200, code)
	for range 4 {
		require.Equal(t, http.StatusRequestTimeout, <-codes)
	}
	require.Equal(t, 4, b.seen["too slow"])
	require.Zero(t, b.entry.Places.Taken())
}

// The same over HTTP/1, of a body that the container does not read, too: it has answered before.
func TestASlowBodyOfHTTP1Ends(t *testing.T) {
	for name, site := range map[string]http.Handler{"read": reads, "answered before": page} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, settings{patience: time.Second}, site)
			c := tls.Client(b.dial("127.0.0.2"), &tls.Config{RootCAs: b.pool, ServerName: "web.gw.test"})
			_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: web.gw.test\r\nTransfer-Encoding: chunked\r\n\r\n")
			require.NoError(t, err)
			go func() {
				for {
					if _, err := io.WriteString(c, "1\r\nx\r\n"); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			}()
			began := time.Now()
			closed(t, c)
			require.Less(t, time.Since(began), 20*time.Second)
			b.empty()
		})
	}
}

// A body that is slow and not too slow arrives, however long it takes; so does one to a container that reads slowly.
func TestABodyMayTakeItsTime(t *testing.T) {
	b := newBed(t, settings{patience: 1500 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			time.Sleep(2500 * time.Millisecond)
		}
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	}))
	for _, h2 := range []bool{false, true} {
		client := b.client("127.0.0.2")
		client.Transport.(*http.Transport).ForceAttemptHTTP2 = h2
		r, w := io.Pipe()
		go func() {
			for range 10 {
				_, _ = w.Write(make([]byte, 1<<10))
				time.Sleep(200 * time.Millisecond)
			}
			_ = w.Close()
		}()
		resp, err := client.Post("https://web.gw.test/", "text/plain", r)
		require.NoError(t, err)
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "10240", string(got))
		resp, err = client.Post("https://web.gw.test/late", "text/plain", strings.NewReader(strings.Repeat("x", 8<<20)))
		require.NoError(t, err)
		got, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "8388608", string(got))
	}
}

// An answer may come later than the patience lasts, and a connection that was upgraded is left alone.
func TestPatienceIsForBodies(t *testing.T) {
	b := newBed(t, settings{patience: 300 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(time.Second)
			page(w, r)
			return
		}
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, c)
	}))
	resp, err := b.client("127.0.0.2").Post("https://web.gw.test/", "text/plain", strings.NewReader("body"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)

	c := tls.Client(b.dial("127.0.0.2"), &tls.Config{RootCAs: b.pool, ServerName: "web.gw.test"})
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: web.gw.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	in := bufio.NewReader(c)
	resp, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	for range 3 {
		time.Sleep(400 * time.Millisecond)
		_, err = c.Write([]byte("a"))
		require.NoError(t, err)
		got, err := in.ReadByte()
		require.NoError(t, err)
		require.Equal(t, byte('a'), got)
	}
}

// What a visitor claims about its address does not reach the container.
func TestAVisitorsClaimsDoNotPass(t *testing.T) {
	got := make(chan http.Header, 1)
	b := newBed(t, settings{}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://web.gw.test/", nil)
	require.NoError(t, err)
	claims := []string{"X-Real-IP", "True-Client-IP", "CF-Connecting-IP", "X-Forwarded-For", "Forwarded", "X-Client-IP", "Fastly-Client-IP"}
	for _, h := range claims {
		req.Header.Set(h, "1.2.3.4")
	}
	req.Header.Set("X-Mine", "stays")
	resp, err := b.client("127.0.0.2").Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	seen := <-got
	for _, h := range claims {
		require.NotContains(t, seen.Values(h), "1.2.3.4", h)
	}
	require.Equal(t, "127.0.0.2", seen.Get("X-Forwarded-For"))
	require.Equal(t, "stays", seen.Get("X-Mine"))
}

// OPTIONS * is about a server, and no lease is one: it is refused, not answered for the container.
func TestOptionsOfAWholeServer(t *testing.T) {
	b := newBed(t, settings{}, page)
	c := tls.Client(b.dial("127.0.0.2"), &tls.Config{RootCAs: b.pool, ServerName: "web.gw.test"})
	_, err := io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: web.gw.test\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Zero(t, b.dialed.Load())
}
