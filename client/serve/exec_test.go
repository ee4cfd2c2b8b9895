package serve

import (
	"context"
	"encoding/json"
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
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/internal/socket"
)

// runner is a machine whose commands say what they were given, and end with 3.
type runner struct{ Machines }

func (runner) Exec(_ context.Context, lease solana.PublicKey, c socket.Command) (int, error) {
	if lease.IsZero() {
		return 0, service.Refused("lease x is over", "look at the list")
	}
	if c.In != nil {
		if _, err := io.Copy(c.Out, c.In); err != nil {
			return 0, err
		}
	}
	_, err := io.WriteString(c.Err, strings.Join(c.Args, " "))
	return 3, err
}

func runners(t *testing.T, teams *team.Store) (url, token string) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	s := New(Options{Store: store, Machines: runner{}, Team: teams, Log: zerolog.Nop()})
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(s.streams.end)
	return web.URL, token
}

func dialExec(t *testing.T, url string, lease solana.PublicKey, origin, bearer string, protocols ...string) (*websocket.Conn, int, error) {
	t.Helper()
	header := http.Header{"Origin": {origin}}
	if bearer != "" {
		header.Set("Authorization", "Bearer "+bearer)
	}
	c, res, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+apiLeasesPath+lease.String()+execSuffix, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	status := 0
	if res != nil {
		status = res.StatusCode
	}
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, status, err
}

// execResult is what a command has shown when it is over, by output, and how it ended.
func execResult(t *testing.T, c *websocket.Conn, first any) (shown map[byte]string, e ending) {
	t.Helper()
	require.NoError(t, wsjson.Write(t.Context(), c, first))
	shown = map[byte]string{}
	for {
		kind, text := next(t, c)
		if kind == websocket.MessageText {
			require.NoError(t, json.Unmarshal([]byte(text), &e))
			require.True(t, e.Ended)
			return shown, e
		}
		shown[text[0]] += text[1:]
	}
}

// A command is refused with what to do, and ends with its exit code otherwise.
func TestExec(t *testing.T) {
	url, token := runners(t, nil)
	one := solana.PublicKey{1}
	for name, try := range map[string]struct {
		lease   solana.PublicKey
		command []string
		status  int
		detail  string
	}{
		"no command": {one, nil, http.StatusBadRequest, "names no command"},
		"byte 0":     {one, []string{"echo", "a\x00b"}, http.StatusBadRequest, "byte 0"},
		"too large":  {one, []string{"echo", strings.Repeat("'", maxLine/2)}, http.StatusRequestEntityTooLarge, "as a line of a shell"},
		"over":       {solana.PublicKey{}, []string{"true"}, http.StatusConflict, "lease x is over"},
	} {
		c, _, err := dialExec(t, url, try.lease, url, "", execProtocol, bearerProtocol+token)
		require.NoError(t, err)
		_, e := execResult(t, c, socket.Request{Command: try.command})
		require.NotNil(t, e.Problem, name)
		require.Nil(t, e.ExitCode, name)
		require.Equal(t, try.status, e.Problem.Status, name)
		require.Contains(t, e.Problem.Detail, try.detail, name)
		require.NotEmpty(t, e.Problem.NextStep, name)
	}
	c, _, err := dialExec(t, url, one, url, "", execProtocol, bearerProtocol+token)
	require.NoError(t, err)
	require.Equal(t, execProtocol, c.Subprotocol(), "the token is not said again")
	shown, e := execResult(t, c, socket.Request{Command: []string{"a", "b c"}})
	require.Equal(t, map[byte]string{socket.Stderr: "a b c"}, shown)
	require.Equal(t, 3, *e.ExitCode)
	require.Nil(t, e.Problem)

	r, err := http.NewRequest(http.MethodGet, url+apiLeasesPath+one.String()+execSuffix, nil)
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
	url, token := runners(t, teams)
	lease := solana.PublicKey{1}
	for name, try := range map[string]struct {
		origin, token string
		want          int
	}{
		"no token":     {url, "", http.StatusUnauthorized},
		"wrong token":  {url, "gantry_wrong", http.StatusUnauthorized},
		"another page": {"http://evil.example", token, http.StatusForbidden},
		"a viewer":     {url, tokens[team.Viewer], http.StatusForbidden},
	} {
		for _, protocols := range [][]string{{execProtocol, bearerProtocol + try.token}, {execProtocol}} {
			bearer := ""
			if len(protocols) == 1 {
				bearer = try.token
			}
			_, status, err := dialExec(t, url, lease, try.origin, bearer, protocols...)
			require.Error(t, err, name)
			require.Equal(t, try.want, status, name)
		}
	}
	c, _, err := dialExec(t, url, lease, url, tokens[team.Deployer], execProtocol)
	require.NoError(t, err)
	_, e := execResult(t, c, socket.Request{Command: []string{"secret-argument"}})
	require.Equal(t, 3, *e.ExitCode)
	var lines []team.Line
	require.Eventually(t, func() bool { // the log has its end a moment later
		lines, _, err = teams.Lines(0, true, 2)
		require.NoError(t, err)
		return len(lines) == 2 && lines[1].Result != ""
	}, time.Minute, time.Millisecond)
	raw, err := json.Marshal(lines)
	require.NoError(t, err)
	require.Contains(t, string(raw), "GET "+apiLeasesPath+lease.String()+execSuffix, "the log of changes has it")
	require.NotContains(t, string(raw), "secret-argument")
}
