package socket

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

// last is the last message of the tests' server.
type last struct {
	Code  int
	Error string
}

// here runs a command on this machine.
func here(ctx context.Context, c Command) (int, error) {
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdout, cmd.Stderr = c.Out, c.Err
	if c.In != nil {
		in, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		go func() { _, _ = io.Copy(in, c.In); _ = in.Close() }() // ends with the command
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// server runs commands, and tells how each one's context ended.
func server(t *testing.T) (url string, ended chan error) {
	t.Helper()
	ended = make(chan error, 16)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		s := New(conn, time.Minute)
		Exec(context.WithoutCancel(r.Context()), s, func(ctx context.Context, c Command) (int, error) {
			defer func() { ended <- ctx.Err() }()
			return here(ctx, c)
		}, func(code int, err error) {
			l := last{Code: code}
			if err != nil {
				l.Error = err.Error()
			}
			raw, _ := json.Marshal(l)
			_ = s.Send(websocket.MessageText, raw)
			_ = s.Close(websocket.StatusNormalClosure, "")
		})
	}))
	t.Cleanup(web.Close)
	return web.URL, ended
}

// begin sends the first message.
func begin(t *testing.T, url string, first any) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.CloseNow() })
	require.NoError(t, wsjson.Write(t.Context(), c, first))
	return c
}

// result is what a command has shown when it is over, by output, and how it ended.
func result(t *testing.T, c *websocket.Conn) (shown map[byte]string, l last) {
	t.Helper()
	shown = map[byte]string{}
	for {
		kind, raw, err := c.Read(t.Context())
		require.NoError(t, err)
		if kind == websocket.MessageText {
			require.NoError(t, json.Unmarshal(raw, &l))
			_, _, err = c.Read(t.Context())
			require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
			return shown, l
		}
		shown[raw[0]] += string(raw[1:])
	}
}

// A command has its outputs apart, its input, and its exit code.
func TestExec(t *testing.T) {
	url, _ := server(t)
	shown, l := result(t, begin(t, url, Request{Command: []string{"sh", "-c", "cat; echo out; echo err >&2; exit 3"}}))
	require.Equal(t, map[byte]string{Stdout: "out\n", Stderr: "err\n"}, shown, "the input is empty")
	require.Equal(t, last{Code: 3}, l)

	c := begin(t, url, Request{Command: []string{"sh", "-c", "cat; echo ended"}, Stdin: true})
	long := strings.Repeat("0123456789abcdef", 4<<10)
	for range 4 {
		require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte(long)))
	}
	require.NoError(t, wsjson.Write(t.Context(), c, map[string]bool{"eof": true}))
	shown, l = result(t, c)
	require.Equal(t, strings.Repeat(long, 4)+"ended\n", shown[Stdout])
	require.Zero(t, l)

	// A command that ends before its input does.
	c = begin(t, url, Request{Command: []string{"sh", "-c", "exit 0"}, Stdin: true})
	go func() {
		for c.Write(context.Background(), websocket.MessageBinary, []byte(long)) == nil {
		}
	}()
	_, l = result(t, c)
	require.Zero(t, l)
}

// A client that goes away ends its command.
func TestExecEndsWithItsClient(t *testing.T) {
	url, ended := server(t)
	for _, stdin := range []bool{false, true} {
		c := begin(t, url, Request{Command: []string{"sh", "-c", "echo begun; exec sleep 300"}, Stdin: stdin})
		_, raw, err := c.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, "\x01begun\n", string(raw))
		require.NoError(t, c.CloseNow())
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(time.Minute):
			require.Fail(t, "the command runs on")
		}
	}
}

// What names no command is refused, and so is input that was not announced.
func TestExecRefuses(t *testing.T) {
	url, _ := server(t)
	for _, first := range []any{Request{}, map[string]any{"command": []string{"true"}, "tty": true}, "true"} {
		_, l := result(t, begin(t, url, first))
		require.Equal(t, ErrNoCommand.Error(), l.Error)
	}
	c := begin(t, url, Request{Command: []string{"sleep", "300"}})
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("input")))
	_, _, err := c.Read(t.Context())
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
	require.ErrorContains(t, err, "the command has no input")
}

// A client of which nothing is heard is gone, but not while its input waits for the command; one that has closed its end is gone.
func TestAttend(t *testing.T) {
	for _, try := range []struct{ busy, closes, gone bool }{{false, false, true}, {true, false, false}, {true, true, true}} {
		var gone bool
		done := make(chan struct{})
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				return
			}
			defer func() { _ = conn.CloseNow() }()
			s := New(conn, time.Minute)
			s.busy.Store(try.busy)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			s.attend(ctx, 5*time.Millisecond, 50*time.Millisecond) // nobody reads the answers
			gone = ctx.Err() == nil
		}))
		c, _, err := websocket.Dial(t.Context(), web.URL, nil)
		require.NoError(t, err)
		if try.closes {
			require.NoError(t, c.CloseNow())
		}
		<-done
		require.Equal(t, try.gone, gone, "%+v", try)
		_ = c.CloseNow()
		web.Close()
	}
}
