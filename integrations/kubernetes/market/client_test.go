package market

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// serverOf is a client of a server that answers as a test says.
func serverOf(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	c, err := New(s.URL+"/", "token", nil)
	require.NoError(t, err)
	return c
}

// An order carries its key and the token; what the server refuses is an error that says what to do.
func TestOrders(t *testing.T) {
	c := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		var o OrderRequest
		if r.URL.Path != "/v1/orders" || r.Header.Get("Idempotency-Key") != "k" || r.Header.Get("Authorization") != "Bearer token" || json.NewDecoder(r.Body).Decode(&o) != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if o.GPU == "none" {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"detail": "no machine fits", "nextStep": "ask for less", "errors": [{"message": "is none", "location": "body.gpu"}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"phase": "bought", "leases": [{"address": "L", "status": "running"}]}`))
	})
	o, err := c.Buy(t.Context(), "k", &OrderRequest{GPU: "A100"})
	require.NoError(t, err)
	require.True(t, o.Bought())
	require.False(t, o.Leases[0].Over())
	_, err = c.Buy(t.Context(), "k", &OrderRequest{GPU: "none"})
	require.EqualError(t, err, "no machine fits; body.gpu is none: ask for less")
	require.True(t, Certain(err))
	require.False(t, Wrong(err))
	_, err = c.Buy(t.Context(), "other", &OrderRequest{})
	require.ErrorContains(t, err, "418")
	require.False(t, Certain(err))
}

// What was not answered may have happened, also where an answer is not a document.
func TestNoAnswerIsNotCertain(t *testing.T) {
	c := serverOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	_, err := c.Lease(t.Context(), "L")
	require.ErrorIs(t, err, ErrUnreachable)
	require.False(t, Certain(err))
	gone, err := New("http://127.0.0.1:1", "token", nil)
	require.NoError(t, err)
	require.ErrorIs(t, gone.Health(t.Context()), ErrUnreachable)
	for _, base := range []string{"127.0.0.1:8484", "ftp://x", ""} {
		_, err := New(base, "token", nil)
		require.Error(t, err, base)
	}
	_, err = New("http://x", "", nil)
	require.ErrorContains(t, err, "--token-file")
}

// Output is followed until its end, which a broken stream is not.
func TestFollow(t *testing.T) {
	for stream, want := range map[string]string{
		"event: output\ndata: {\"text\": \"a\\n\"}\n\n: beat\n\nevent: end\ndata: {}\n\n":                              "",
		"event: output\ndata: {\"text\": \"a\\n\"}\n\n":                                                                "broke off",
		"event: output\ndata: {\"text\": \"a\\n\"}\n\nevent: problem\ndata: {\"detail\": \"the machine is gone\"}\n\n": "the machine is gone",
	} {
		c := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "5", r.URL.Query().Get("offset"))
			_, _ = w.Write([]byte(stream))
		})
		var out strings.Builder
		err := c.Follow(t.Context(), "L", 5, &out)
		require.Equal(t, "a\n", out.String())
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// A terminal says its size first, passes on what is typed, and ends with the shell or with what the server says.
func TestTerminal(t *testing.T) {
	end := `{"ended": true}`
	c := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page/leases/L/terminal" || !strings.Contains(r.Header.Get("Sec-WebSocket-Protocol"), "gantry.bearer.token") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"gantry.terminal"}})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx := context.WithoutCancel(r.Context())
		_, size, err := conn.Read(ctx)
		if err != nil {
			return
		}
		_, typed, err := conn.Read(ctx)
		if err != nil {
			return
		}
		_ = conn.Write(ctx, websocket.MessageBinary, append(size, typed...))
		_ = conn.Write(ctx, websocket.MessageText, []byte(end))
	})
	for _, problem := range []bool{false, true} {
		if problem {
			end = `{"ended": true, "problem": {"detail": "no such lease"}}`
		}
		term, err := c.OpenTerminal(t.Context(), "L", Size{Columns: 80, Rows: 24})
		require.NoError(t, err)
		require.NoError(t, term.Type(t.Context(), []byte("ls")))
		var out bytes.Buffer
		err = term.Show(t.Context(), &out)
		require.Equal(t, `{"columns":80,"rows":24}ls`, out.String())
		require.Equal(t, problem, err != nil, "%v", err)
		term.Close()
	}
	_, err := c.OpenTerminal(t.Context(), "other", Size{Columns: 80, Rows: 24})
	require.ErrorContains(t, err, "gantry serve does not open the container: 401")
}

// A command is named first, then comes its input in pieces; outputs are apart, and its end is a code or what the server says.
func TestExec(t *testing.T) {
	end := `{"ended": true, "exitCode": 3}`
	c := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/leases/L/exec" || !strings.Contains(r.Header.Get("Sec-WebSocket-Protocol"), "gantry.bearer.token") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"detail": "vic is a viewer", "nextStep": "ask an owner"}`))
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"gantry.exec"}})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx := context.WithoutCancel(r.Context())
		_, said, err := conn.Read(ctx)
		if err != nil {
			return
		}
		_ = conn.Write(ctx, websocket.MessageBinary, append([]byte{2}, said...))
		for strings.Contains(string(said), `"stdin":true`) {
			kind, raw, err := conn.Read(ctx)
			if err != nil || kind == websocket.MessageText {
				break
			}
			_ = conn.Write(ctx, websocket.MessageBinary, append([]byte{1}, raw[len(raw)-8:]...))
		}
		_ = conn.Write(ctx, websocket.MessageText, []byte(end))
	})
	var out, errs bytes.Buffer
	code, err := c.Exec(t.Context(), "L", Command{Args: []string{"cat"}, In: strings.NewReader(strings.Repeat("x", maxInput) + "the end!"), Out: &out, Err: &errs})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "xxxxxxxxthe end!", out.String())
	require.JSONEq(t, `{"command": ["cat"], "stdin": true}`, errs.String())

	end = `{"ended": true, "problem": {"detail": "lease L is over"}}`
	_, err = c.Exec(t.Context(), "L", Command{Args: []string{"cat"}}) // nobody wants the outputs
	require.ErrorContains(t, err, "lease L is over")
	end = `{"ended": true}`
	_, err = c.Exec(t.Context(), "L", Command{Args: []string{"cat"}})
	require.ErrorContains(t, err, "no exit code")
	_, err = c.Exec(t.Context(), "other", Command{Args: []string{"cat"}})
	require.ErrorContains(t, err, "vic is a viewer: ask an owner")
}

// What a lease uses is the server's newest sample, or what the machine says next where that is too old.
func TestUse(t *testing.T) {
	past := func(age time.Duration) string {
		return fmt.Sprintf("event: past\ndata: {\"samples\": [{\"cpuSeconds\": 1}, {\"cpuSeconds\": 2, \"memoryBytes\": 7, \"measuredAt\": %q}]}\n\n", time.Now().Add(-age).Format(time.RFC3339Nano))
	}
	const now = "event: use\ndata: {\"cpuSeconds\": 3.5, \"memoryBytes\": 9, \"measuredAt\": \"2026-12-03T08:00:00Z\"}\n\n"
	for stream, want := range map[string]float64{
		past(time.Second) + now:                          2,
		past(time.Hour) + now:                            3.5,
		"event: past\ndata: {\"samples\": []}\n\n" + now: 3.5,
	} {
		c := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "/page/leases/L/use", r.URL.Path)
			_, _ = w.Write([]byte(stream))
		})
		u, err := c.Use(t.Context(), "L", time.Minute)
		require.NoError(t, err)
		require.InDelta(t, want, u.CPUSeconds, 0)
		require.NotZero(t, u.MemoryBytes)
		require.False(t, u.MeasuredAt.IsZero())
	}
	for stream, want := range map[string]string{
		past(time.Hour): "says nothing of what it uses",
		past(time.Hour) + "event: problem\ndata: {\"detail\": \"the machine is gone\"}\n\n": "the machine is gone",
		"event: use\ndata: [\n\n": "use",
	} {
		c := serverOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(stream)) })
		_, err := c.Use(t.Context(), "L", time.Minute)
		require.ErrorContains(t, err, want)
	}
}
