//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

// executed is what a command over HTTP has shown, by channel, and how it ended.
type executed struct {
	shown    map[byte]string
	ExitCode *int
	Problem  *struct{ Detail, NextStep string }
}

// exec runs a command in a lease's container over HTTP.
func (m *models) exec(lease string, command ...string) (s executed) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, m.url+"/v1/leases/"+lease+"/exec", &websocket.DialOptions{
		Subprotocols: []string{"gantry.exec"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + m.token}},
	})
	require.NoError(m.t, err)
	defer func() { _ = c.CloseNow() }()
	require.NoError(m.t, wsjson.Write(ctx, c, map[string]any{"command": command}))
	s.shown = map[byte]string{}
	for {
		kind, raw, err := c.Read(ctx)
		require.NoError(m.t, err)
		if kind == websocket.MessageText {
			require.NoError(m.t, json.Unmarshal(raw, &s))
			return s
		}
		s.shown[raw[0]] += string(raw[1:])
	}
}

// commandsOverHTTP runs commands in a container of an image without a shell, until its lease is over.
func commandsOverHTTP(t *testing.T, m *models, order map[string]any) {
	t.Helper()
	order["runToCompletion"], order["command"] = false, []string{"wait"}
	var bought struct{ Leases []struct{ Address string } }
	require.Eventually(t, func() bool {
		code, said := m.order("commands", order, &bought)
		require.Less(t, code, http.StatusBadRequest, said)
		return code == http.StatusCreated
	}, 2*time.Minute, 500*time.Millisecond)
	require.Len(t, bought.Leases, 1)
	lease := bought.Leases[0].Address
	exit := func(code int, command ...string) executed {
		t.Helper()
		s := m.exec(lease, command...)
		require.Nil(t, s.Problem)
		require.Equal(t, code, *s.ExitCode, "%v: %v", command, s.shown)
		return s
	}
	require.Equal(t, map[byte]string{1: "it's $HOME\n"}, exit(9, "/bin/job", "say=it's $HOME", "exit").shown, "nothing is read as a shell does")
	require.Contains(t, exit(127, "/no/such/command").shown[2], "no such file")
	require.Contains(t, exit(126, "/proc/version").shown[2], "permission denied")
	code, said := m.ask(http.MethodPost, "/v1/leases/"+lease+"/stop", nil, nil)
	require.Equal(t, http.StatusOK, code, said)
	s := m.exec(lease, "/bin/job")
	require.Nil(t, s.ExitCode)
	require.True(t, strings.HasPrefix(s.Problem.Detail, "lease "+lease+" is over"), s.Problem.Detail)
	require.NotEmpty(t, s.Problem.NextStep)
}
