//go:build e2e

package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// Channels of v5.channel.k8s.io. A message on the last one closes the channel that it names.
const (
	kubeStdin  = 0
	kubeStdout = 1
	kubeStderr = 2
	kubeStatus = 3
	kubeCloses = 255
)

// kubeCommand is a command in a pod's container, as kubectl exec runs it.
type kubeCommand struct {
	k    *kubeNode
	conn *websocket.Conn
}

// exec begins a command; with input it waits for input.
func (k *kubeNode) exec(ctx context.Context, p kubePod, input bool, command ...string) kubeCommand {
	k.t.Helper()
	query := url.Values{"container": {"main"}, "command": command, "stdin": {strconv.FormatBool(input)}, "stdout": {"true"}, "stderr": {"true"}}
	conn, _, err := websocket.Dial(ctx, k.url+"/api/v1/namespaces/default/pods/"+p.Metadata.Name+"/exec?"+query.Encode(), &websocket.DialOptions{
		HTTPClient: k.client, Subprotocols: []string{"v5.channel.k8s.io"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + k.admin}},
	})
	require.NoError(k.t, err)
	conn.SetReadLimit(1 << 20)
	return kubeCommand{k, conn}
}

// give gives the whole input.
func (c kubeCommand) give(ctx context.Context, input string) {
	c.k.t.Helper()
	require.NoError(c.k.t, c.conn.Write(ctx, websocket.MessageBinary, append([]byte{kubeStdin}, input...)))
	require.NoError(c.k.t, c.conn.Write(ctx, websocket.MessageBinary, []byte{kubeCloses, kubeStdin}))
}

// ended is what a command has shown when it is over, by channel, and its exit code.
func (c kubeCommand) ended(ctx context.Context) (shown map[byte]string, code int) {
	c.k.t.Helper()
	defer func() { _ = c.conn.CloseNow() }()
	shown = map[byte]string{}
	for {
		_, raw, err := c.conn.Read(ctx)
		require.NoError(c.k.t, err, "%v", shown)
		if len(raw) < 2 {
			continue
		}
		if raw[0] != kubeStatus {
			shown[raw[0]] += string(raw[1:])
			continue
		}
		var status struct {
			Status, Reason, Message string
			Details                 struct{ Causes []struct{ Message string } }
		}
		require.NoError(c.k.t, json.Unmarshal(raw[1:], &status))
		if status.Status == "Success" {
			return shown, 0
		}
		require.Equal(c.k.t, "NonZeroExitCode", status.Reason, status.Message)
		require.Len(c.k.t, status.Details.Causes, 1)
		code, err = strconv.Atoi(status.Details.Causes[0].Message)
		require.NoError(c.k.t, err)
		return shown, code
	}
}

// commands run in a pod's container, with outputs, input and exit code, also when they are silent for longer than an idle connection is kept. They end with their client.
func (k *kubeNode) commands(p kubePod) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), 4*time.Minute)
	defer cancel()
	shown, code := k.exec(ctx, p, false, "sh", "-c", "echo out; echo err >&2; exit 3").ended(ctx)
	require.Equal(k.t, map[byte]string{kubeStdout: "out\n", kubeStderr: "err\n"}, shown)
	require.Equal(k.t, 3, code)
	shown, code = k.exec(ctx, p, false, "no-such-command", "it's").ended(ctx)
	require.Contains(k.t, shown[kubeStderr], "no-such-command")
	require.Equal(k.t, 127, code)
	c := k.exec(ctx, p, true, "cat")
	c.give(ctx, "given\n")
	shown, code = c.ended(ctx)
	require.Equal(k.t, map[byte]string{kubeStdout: "given\n"}, shown)
	require.Zero(k.t, code)

	gone := k.exec(ctx, p, false, "sh", "-c", "echo begun; sleep 54321")
	for shown := ""; shown != "begun\n"; {
		_, raw, err := gone.conn.Read(ctx)
		require.NoError(k.t, err)
		shown += string(raw[1:])
	}
	runs := []string{"sh", "-c", "grep -l 5432[1] /proc/[0-9]*/cmdline"}
	_, code = k.exec(ctx, p, false, runs...).ended(ctx)
	require.Zero(k.t, code)
	require.NoError(k.t, gone.conn.CloseNow())
	k.await("the command ends with its client", func() bool {
		_, code := k.exec(ctx, p, false, runs...).ended(ctx)
		return code == 1
	})

	shown, code = k.exec(ctx, p, false, "sh", "-c", "sleep 35; echo late").ended(ctx)
	require.Equal(k.t, map[byte]string{kubeStdout: "late\n"}, shown)
	require.Zero(k.t, code)
	k.kubectl(ctx, p)
}

// kubectl runs commands with the program that people use, where it is installed.
func (k *kubeNode) kubectl(ctx context.Context, p kubePod) {
	k.t.Helper()
	program, err := exec.LookPath("kubectl")
	if err != nil {
		k.t.Log("kubectl is not installed: the test's own client has run the commands alone")
		return
	}
	config := k.kubeconfig("admin", k.admin)
	run := func(input string, args ...string) (out, errs string, code int) {
		cmd := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", config}, args...)...)
		var o, e bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &o, &e
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			require.NoError(k.t, err)
		}
		return o.String(), e.String(), cmd.ProcessState.ExitCode()
	}
	out, errs, code := run("", "exec", p.Metadata.Name, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
	require.Equal(k.t, "out\n", out)
	require.Equal(k.t, "err\ncommand terminated with exit code 3\n", errs)
	require.Equal(k.t, 3, code)
	large := strings.Repeat("0123456789abcde\n", 64<<10)
	out, errs, code = run(large, "exec", "-i", p.Metadata.Name, "--", "cat")
	require.Equal(k.t, len(large), len(out), errs)
	require.Equal(k.t, large, out)
	require.Zero(k.t, code, errs)
	// It runs tar in the container.
	file := k.path("copied")
	require.NoError(k.t, os.WriteFile(file, []byte(large), 0o600))
	_, errs, code = run("", "cp", file, p.Metadata.Name+":/copied")
	require.Zero(k.t, code, errs)
	_, errs, code = run("", "cp", p.Metadata.Name+":/copied", file+"-back")
	require.Zero(k.t, code, errs)
	back, err := os.ReadFile(file + "-back")
	require.NoError(k.t, err)
	require.Equal(k.t, large, string(back))
}
