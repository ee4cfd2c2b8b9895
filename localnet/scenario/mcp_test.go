//go:build e2e

package scenario

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/mcp"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// robot is a client of `gantry mcp` with a budget of its own: it calls a tool, and returns the tool's error.
func robot(t *testing.T, n *network.Network, customer seed.Wallet) (call func(tool string, args map[string]any, into any) string) {
	t.Helper()
	key, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), "robot")
	require.NoError(t, err)
	ok(t, n, customer, "session", "add", key.Path, "--cap", "5", "--expires", "1h", "--fund", "0.1")
	path, err := network.Binary("gantry")
	require.NoError(t, err)
	cmd := exec.Command(path, "--url", n.At.RPC, "--ws", n.At.WS, "--state-dir", filepath.Join(n.Dir(), "robot"), "mcp", "--session", key.Path, "--budget", "2")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	client, err := protocol.NewClient(&protocol.Implementation{Name: "test", Version: "1"}, nil).Connect(context.WithoutCancel(t.Context()), &protocol.CommandTransport{Command: cmd}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return func(tool string, args map[string]any, into any) string {
		t.Helper()
		r, err := client.CallTool(t.Context(), &protocol.CallToolParams{Name: tool, Arguments: args})
		require.NoError(t, err)
		if r.IsError {
			return r.Content[0].(*protocol.TextContent).Text
		}
		raw, err := json.Marshal(r.StructuredContent)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, into))
		return ""
	}
}

// A model rents a container by the tools of `gantry mcp`, runs commands in it and stops it.
func TestAModelUsesAContainer(t *testing.T) {
	t.Parallel()
	needsSandbox(t)
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.Busybox(t)...))
	n, customer := newMarket(t)
	call := robot(t, n, customer)
	asked := map[string]any{
		"idempotencyKey": "box", "gpu": "A100", "seconds": 600, "maxPricePerGpuHour": "3", "image": image, "network": "none", "allowSimulated": true,
		"command": []string{"/bin/sh", "-c", "sleep 600"},
	}
	var bought mcp.Deployed
	require.Eventually(t, func() bool { return call("deploy", asked, &bought) == "" && bought.Purchase.Phase == "bought" }, 3*time.Minute, time.Millisecond)
	lease := bought.Purchase.Leases[0].Address
	exec := func(seconds int, command ...string) (r mcp.ExecResult, why string) {
		args := map[string]any{"lease": lease, "command": command}
		if seconds > 0 {
			args["seconds"] = seconds
		}
		why = call("exec", args, &r)
		return r, why
	}
	var r mcp.ExecResult
	require.Eventually(t, func() bool {
		var why string
		r, why = exec(0, "cat", "/proc/version")
		return why == ""
	}, time.Minute, 200*time.Millisecond)
	require.Contains(t, r.Stdout, "gvisor")
	r, _ = exec(0, "sh", "-c", "echo 'a  b'; echo bad >&2; exit 7")
	require.Equal(t, mcp.ExecResult{ExitCode: 7, Stdout: "a  b\n", Stderr: "bad\n"}, r)
	r, _ = exec(0, "sh", "-c", "yes 0123456789 | head -n 100000; echo end")
	require.Len(t, r.Stdout, mcp.MaxExecOutput)
	require.EqualValues(t, 1_100_004-mcp.MaxExecOutput, r.StdoutOmitted)
	require.True(t, strings.HasSuffix(r.Stdout, "0123456789\nend\n"))
	began := time.Now()
	r, _ = exec(2, "sh", "-c", "echo began; sleep 300")
	require.True(t, r.TimedOut)
	require.Equal(t, "began\n", r.Stdout)
	require.Less(t, time.Since(began), time.Minute)

	var stopped struct{ Status string }
	require.Empty(t, call("stop", map[string]any{"lease": lease}, &stopped))
	require.Equal(t, "ended", stopped.Status)
	_, why := exec(0, "true")
	require.Contains(t, why, "is over")
	var status mcp.Status
	require.Empty(t, call("status", nil, &status))
	require.NotEqual(t, "0.00", status.Money.Spent)
}
