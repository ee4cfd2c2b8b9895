package serve

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
	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
)

// runner is a machine whose container is this machine. It tells how each command's context ended.
type runner struct {
	Machines
	ended chan error
}

func (m runner) Exec(ctx context.Context, lease solana.PublicKey, c Command) (int, error) {
	if lease.IsZero() {
		return 0, service.Refused("lease x is over", "look at the list")
	}
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
	m.ended <- ctx.Err()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func runners(t *testing.T, teams *team.Store) (url, token string, ended chan error) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	ended = make(chan error, 16)
	s := New(Options{Store: store, Machines: runner{ended: ended}, Team: teams, Log: zerolog.Nop()})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(s.streams.end)
	return web.URL, token, ended
}

func dialExec(t *testing.T, url string, lease solana.PublicKey, origin string, header http.Header, protocols ...string) (*websocket.Conn, int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Origin", origin)
	c, res, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http")+apiLeasesPath+lease.String()+execSuffix, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, status, err
}

// begin begins a command.
func begin(t *testing.T, url, token string, first any) *websocket.Conn {
	t.Helper()
	c, _, err := dialExec(t, url, solana.PublicKey{1}, url, nil, execProtocol, bearerProtocol+token)
	require.NoError(t, err)
	require.Equal(t, execProtocol, c.Subprotocol(), "the token is not said again")
	require.NoError(t, wsjson.Write(t.Context(), c, first))
	return c
}

// result is what a command has shown when it is over, by channel, and how it ended.
func result(t *testing.T, c *websocket.Conn) (shown map[byte]string, e ending) {
	t.Helper()
	shown = map[byte]string{}
	for {
		kind, text := next(t, c)
		if kind == websocket.MessageText {
			require.NoError(t, json.Unmarshal([]byte(text), &e))
			require.True(t, e.Ended)
			_, _, err := c.Read(t.Context())
			require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
			return shown, e
		}
		shown[text[0]] += text[1:]
	}
}

// A command has its outputs apart, its input, and its exit code.
func TestExec(t *testing.T) {
	url, token, _ := runners(t, nil)
	shown, e := result(t, begin(t, url, token, execRequest{Command: []string{"sh", "-c", "cat; echo out; echo err >&2; exit 3"}}))
	require.Equal(t, map[byte]string{channelStdout: "out\n", channelStderr: "err\n"}, shown, "the input is empty")
	require.Equal(t, 3, *e.ExitCode)
	require.Nil(t, e.Problem)

	c := begin(t, url, token, execRequest{Command: []string{"sh", "-c", "cat; echo ended"}, Stdin: true})
	long := strings.Repeat("0123456789abcdef", 4<<10)
	for range 4 {
		require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte(long)))
	}
	require.NoError(t, wsjson.Write(t.Context(), c, execInput{EOF: true}))
	shown, e = result(t, c)
	require.Equal(t, strings.Repeat(long, 4)+"ended\n", shown[channelStdout])
	require.Zero(t, *e.ExitCode)

	// A command that ends before its input does.
	c = begin(t, url, token, execRequest{Command: []string{"sh", "-c", "exit 0"}, Stdin: true})
	go func() {
		for c.Write(context.Background(), websocket.MessageBinary, []byte(long)) == nil {
		}
	}()
	_, e = result(t, c)
	require.Zero(t, *e.ExitCode)
}

// A client that goes away ends its command.
func TestExecEndsWithItsClient(t *testing.T) {
	url, token, ended := runners(t, nil)
	for _, stdin := range []bool{false, true} {
		c := begin(t, url, token, execRequest{Command: []string{"sh", "-c", "echo begun; exec sleep 300"}, Stdin: stdin})
		_, text := next(t, c)
		require.Equal(t, "\x01begun\n", text)
		require.NoError(t, c.CloseNow())
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(time.Minute):
			require.Fail(t, "the command runs on")
		}
	}
}

// What is no command is refused with what to do.
func TestExecRefuses(t *testing.T) {
	url, token, _ := runners(t, nil)
	for name, try := range map[string]struct {
		first  any
		status int
		detail string
	}{
		"no command":    {execRequest{}, http.StatusBadRequest, "names no command"},
		"unknown field": {map[string]any{"command": []string{"true"}, "tty": true}, http.StatusBadRequest, "names no command"},
		"byte 0":        {execRequest{Command: []string{"echo", "a\x00b"}}, http.StatusBadRequest, "byte 0"},
		"too large":     {execRequest{Command: []string{"echo", strings.Repeat("'", maxLine/2)}}, http.StatusRequestEntityTooLarge, "as a line of a shell"},
	} {
		_, e := result(t, begin(t, url, token, try.first))
		require.NotNil(t, e.Problem, name)
		require.Nil(t, e.ExitCode, name)
		require.Equal(t, try.status, e.Problem.Status, name)
		require.Contains(t, e.Problem.Detail, try.detail, name)
		require.NotEmpty(t, e.Problem.NextStep, name)
	}
	c, _, err := dialExec(t, url, solana.PublicKey{}, url, nil, execProtocol, bearerProtocol+token)
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), c, execRequest{Command: []string{"true"}}))
	_, e := result(t, c)
	require.Equal(t, "lease x is over", e.Problem.Detail)
	require.Equal(t, http.StatusConflict, e.Problem.Status)

	c = begin(t, url, token, execRequest{Command: []string{"sleep", "300"}})
	require.NoError(t, c.Write(t.Context(), websocket.MessageBinary, []byte("input")))
	_, _, err = c.Read(t.Context())
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err), "%v", err)
	require.ErrorContains(t, err, "the command has no input")

	r, err := http.NewRequest(http.MethodGet, url+apiLeasesPath+solana.PublicKey{1}.String()+execSuffix, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUpgradeRequired, res.StatusCode)
}

// Without a token, from another page or as a viewer nobody runs a command. A program gives its token in a header, too.
func TestExecIsGuarded(t *testing.T) {
	teams, err := team.Open(t.TempDir())
	require.NoError(t, err)
	by := team.Caller{Member: team.MemberServer, Token: team.TokenCommand, Role: team.Owner}
	tokens := map[team.Role]string{}
	for role, budget := range map[team.Role]string{team.Viewer: "", team.Deployer: team.MainBudget} {
		require.NoError(t, teams.PutMember(by, team.Member{Name: string(role), Role: role, Budget: budget}))
		_, tokens[role], err = teams.AddToken(by, team.MemberToken{Name: string(role), Member: string(role)}, time.Hour)
		require.NoError(t, err)
	}
	url, token, _ := runners(t, teams)
	for name, try := range map[string]struct {
		origin    string
		protocols []string
		want      int
	}{
		"no token":     {url, []string{execProtocol}, http.StatusUnauthorized},
		"wrong token":  {url, []string{execProtocol, bearerProtocol + "gantry_wrong"}, http.StatusUnauthorized},
		"another page": {"http://evil.example", []string{execProtocol, bearerProtocol + token}, http.StatusForbidden},
		"a viewer":     {url, []string{execProtocol, bearerProtocol + tokens[team.Viewer]}, http.StatusForbidden},
	} {
		_, status, err := dialExec(t, url, solana.PublicKey{1}, try.origin, nil, try.protocols...)
		require.Error(t, err, name)
		require.Equal(t, try.want, status, name)
	}
	c, _, err := dialExec(t, url, solana.PublicKey{1}, url, http.Header{"Authorization": {"Bearer " + tokens[team.Deployer]}}, execProtocol)
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), c, execRequest{Command: []string{"sh", "-c", "echo $0", "secret-argument"}}))
	_, e := result(t, c)
	require.Zero(t, *e.ExitCode)
	var lines []team.Line
	require.Eventually(t, func() bool { // the log has its end a moment later
		lines, _, err = teams.Lines(0, true, 2)
		require.NoError(t, err)
		return len(lines) == 2 && lines[1].Result != ""
	}, time.Minute, time.Millisecond)
	raw, err := json.Marshal(lines)
	require.NoError(t, err)
	require.Contains(t, string(raw), "GET "+apiLeasesPath+solana.PublicKey{1}.String()+execSuffix, "the log of changes has it")
	require.NotContains(t, string(raw), "secret-argument")
}

// A client of which nothing is heard is gone, but not while its input waits for the command; one that has closed its end is gone.
func TestSilenceOfASocket(t *testing.T) {
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
			s := &socket{conn: conn}
			s.hear()
			s.busy.Store(try.busy)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			s.ping(ctx, 5*time.Millisecond, 50*time.Millisecond) // nobody reads the answers
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
