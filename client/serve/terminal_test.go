package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/socket"
)

// echoes is a machine whose shell says its size and repeats lines, until one is "exit".
type echoes struct{ Machines }

func (echoes) Terminal(ctx context.Context, lease solana.PublicKey, t socket.Screen) error {
	if lease.IsZero() {
		return service.Refused("no such lease", "look at the list")
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(t.In); in.Scan(); {
			lines <- in.Text()
		}
	}()
	fmt.Fprintf(t.Out, "%dx%d\n", t.Size.Columns, t.Size.Rows)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s := <-t.Resized:
			fmt.Fprintf(t.Out, "%dx%d\n", s.Columns, s.Rows)
		case line, more := <-lines:
			if !more || line == "exit" {
				return nil
			}
			fmt.Fprintln(t.Out, line)
		}
	}
}

func (echoes) Use(ctx context.Context, _ solana.PublicKey, _ time.Duration, take func(service.Use) error) error {
	if err := take(service.Use{CPUs: 1.5}); err != nil {
		return err
	}
	return service.Refused("the machine is gone", "look at the list")
}

func (echoes) Complain(_ context.Context, lease solana.PublicKey, text []byte) (reached, all int, err error) {
	if lease != (solana.PublicKey{1}) || string(text) != "it is wrong" {
		return 0, 0, service.Refused("another lease or text", "")
	}
	return 1, 2, nil
}

// machines is a server with a machine, and its token.
func machines(t *testing.T) (url, token string) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Machines: echoes{}, Log: zerolog.Nop()})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(s.streams.end)
	return web.URL, token
}

func dialTerminal(t *testing.T, url string, lease solana.PublicKey, origin string, protocols ...string) (*websocket.Conn, int, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+leasesPath+lease.String()+"/terminal",
		&websocket.DialOptions{Subprotocols: protocols, HTTPHeader: http.Header{"Origin": {origin}}})
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	return c, status, err
}

func next(t *testing.T, c *websocket.Conn) (kind websocket.MessageType, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	kind, raw, err := c.Read(ctx)
	require.NoError(t, err)
	return kind, string(raw)
}

// A terminal takes what is typed and sizes, shows what the shell says, and tells how it has ended.
func TestTerminal(t *testing.T) {
	url, token := machines(t)
	c, _, err := dialTerminal(t, url, solana.PublicKey{1}, url, terminalProtocol, bearerProtocol+token)
	require.NoError(t, err)
	defer c.CloseNow()
	require.Equal(t, terminalProtocol, c.Subprotocol(), "the token is not said again")
	require.NoError(t, wsjson.Write(t.Context(), c, socket.Size{Columns: 80, Rows: 24}))
	_, text := next(t, c)
	require.Equal(t, "80x24\n", text)
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("hel")))
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("lo\n")))
	kind, text := next(t, c)
	require.Equal(t, websocket.MessageBinary, kind)
	require.Equal(t, "hello\n", text)
	require.NoError(t, wsjson.Write(t.Context(), c, socket.Size{Columns: 0, Rows: 24})) // no size
	require.NoError(t, wsjson.Write(t.Context(), c, socket.Size{Columns: 100, Rows: 30}))
	_, text = next(t, c)
	require.Equal(t, "100x30\n", text)
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("exit\n")))
	kind, text = next(t, c)
	require.Equal(t, websocket.MessageText, kind)
	require.JSONEq(t, `{"ended": true}`, text)
	_, _, err = c.Read(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)

	// A lease that is not there, and a page that does not say its size.
	c, _, err = dialTerminal(t, url, solana.PublicKey{}, url, terminalProtocol, bearerProtocol+token)
	require.NoError(t, err)
	defer c.CloseNow()
	require.NoError(t, wsjson.Write(t.Context(), c, socket.Size{Columns: 80, Rows: 24}))
	_, text = next(t, c)
	var e ending
	require.NoError(t, json.Unmarshal([]byte(text), &e))
	require.Equal(t, "no such lease", e.Problem.Detail)
	c, _, err = dialTerminal(t, url, solana.PublicKey{1}, url, terminalProtocol, bearerProtocol+token)
	require.NoError(t, err)
	defer c.CloseNow()
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("x")))
	_, text = next(t, c)
	require.Contains(t, text, "begins with the size")
}

// Without the token, or from another page, none opens; and the name of a protocol is a token for terminals only.
func TestTerminalIsGuarded(t *testing.T) {
	url, token := machines(t)
	for name, try := range map[string]struct {
		origin    string
		protocols []string
		want      int
	}{
		"no token":     {url, []string{terminalProtocol}, http.StatusUnauthorized},
		"wrong token":  {url, []string{terminalProtocol, bearerProtocol + "gantry_wrong"}, http.StatusUnauthorized},
		"another page": {"http://evil.example", []string{terminalProtocol, bearerProtocol + token}, http.StatusForbidden},
	} {
		_, status, err := dialTerminal(t, url, solana.PublicKey{1}, try.origin, try.protocols...)
		require.Error(t, err, name)
		require.Equal(t, try.want, status, name)
	}
	r, err := http.NewRequest(http.MethodGet, url+"/v1/leases", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-WebSocket-Protocol", bearerProtocol+token)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}

// What a lease uses is a stream that ends with what went wrong.
func TestUseIsStreamed(t *testing.T) {
	url, token := machines(t)
	_, raw := fetch(t, url+leasesPath+solana.PublicKey{1}.String()+"/use", token)
	require.Contains(t, string(raw), "event: use\ndata: {")
	require.Contains(t, string(raw), `"cpus":1.5`)
	require.Contains(t, string(raw), "event: problem\n")
	require.Contains(t, string(raw), "the machine is gone")
}

// The text of a dispute reaches the keepers with the lease that it is about.
func TestComplaintIsPassedOn(t *testing.T) {
	url, token := machines(t)
	r, err := http.NewRequest(http.MethodPost, url+leasesPath+solana.PublicKey{1}.String()+"/complaint", strings.NewReader(`{"text": "it is wrong"}`))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"reached": 1, "keepers": 2}`, string(raw))
}
