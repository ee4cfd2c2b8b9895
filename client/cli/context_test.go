package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/completion"
)

// say runs a command and returns what it printed.
func say(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	require.Equal(t, code, Run(context.Background(), Streams{Out: &o, Err: &e}, args), "%v: %s", args, e.String())
	return o.String(), e.String()
}

// ownSettings gives a test a home of its own.
func ownSettings(t *testing.T) (file string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	for _, name := range []string{"GANTRY_CONTEXT", "GANTRY_RPC_URL", "GANTRY_WS_URL", "GANTRY_KEYPAIR", "GANTRY_SERVER", "GANTRY_GATEWAY"} {
		t.Setenv(name, "")
	}
	return filepath.Join(home, "config", "gantry", "config.yaml")
}

func TestContextsByCommand(t *testing.T) {
	file := ownSettings(t)
	out, _ := say(t, ExitDone, "context", "list")
	require.Contains(t, out, "no contexts")
	out, _ = say(t, ExitDone, "context", "set", "dead", "--rpc-url", "http://127.0.0.1:1", "--keypair", "/dead.json", "--server", "http://127.0.0.1:2")
	require.Contains(t, out, "context dead is set   ("+file+")")
	say(t, ExitDone, "context", "set", "test", "--rpc-url", "testnet")
	_, errs := say(t, ExitNetwork, "search", "--context", "dead")
	require.Contains(t, errs, "http://127.0.0.1:1 (connection refused)")
	say(t, ExitDone, "context", "use", "dead")
	_, errs = say(t, ExitNetwork, "search")
	require.Contains(t, errs, "http://127.0.0.1:1 (connection refused)")
	_, errs = say(t, ExitUsage, "credits", "show")
	require.Contains(t, errs, "/dead.json")
	_, errs = say(t, ExitNetwork, "deployments", "list", "--token", "t")
	require.Contains(t, errs, "127.0.0.1:2")
	t.Setenv("GANTRY_KEYPAIR", "/env.json")
	_, errs = say(t, ExitUsage, "credits", "show")
	require.Contains(t, errs, "/env.json")
	out, _ = say(t, ExitDone, "context", "show", "--url", "localhost", "--json")
	var shown []struct {
		Setting string
		Values  []string
		From    string
	}
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	from := map[string]string{}
	for _, s := range shown {
		from[s.Setting] = s.From
	}
	require.Equal(t, map[string]string{"context": file, "rpc-url": "flag", "ws-url": "derived", "keypair": "GANTRY_KEYPAIR", "server": "context dead", "gateway": "default", "sponsor": "default", "commitment": "default", "bucket": "default", "bucket-endpoint": "default", "bucket-price": "default"}, from)
	out, _ = say(t, ExitDone, "context", "delete", "dead")
	require.Contains(t, out, "context dead is deleted")
	_, errs = say(t, ExitUsage, "search", "--context", "dead")
	require.Contains(t, errs, `error: there is no such context: "dead"`)
	require.Contains(t, errs, "gantry context list")
	_, errs = say(t, ExitUsage, "context", "use")
	require.Contains(t, errs, "CONTEXT is missing")
	require.NoError(t, os.WriteFile(file, []byte("current: a\nkontexts:\n"), 0o600))
	for _, args := range [][]string{{"leases"}, {"context", "set", "b"}, {"context", "show"}} {
		_, errs = say(t, ExitUsage, args...)
		require.Contains(t, errs, file+": line 2: \"kontexts\" is not known", args)
	}
}

// What needs no market is completed without one; where none answers there is nothing, soon, and no error.
func TestCompletionAsksNobodyInVain(t *testing.T) {
	ownSettings(t)
	say(t, ExitDone, "context", "set", "local", "--rpc-url", "localhost")
	for _, c := range []struct {
		shell string
		args  []string
		want  string
	}{
		{"bash", []string{"comp"}, "completion\n"},
		{"zsh", []string{"comp"}, "completion:print a shell's completion script\n"},
		{"fish", []string{"comp"}, "completion\tprint a shell's completion script\n"},
		{"bash", []string{"context", "use", ""}, "local\n"},
		{"bash", []string{"--context", ""}, "local\n"},
		{"bash", []string{"completion", "f"}, "fish\n"},
		{"bash", []string{"stop", "--sess"}, "--session\n"},
		{"bash", []string{"deploy", "--template", "vll"}, "vllm\n"},
		{"bash", []string{"deploy", "--template=vll"}, "vllm\n"},
		{"bash", []string{"templates", "show", "vll"}, "vllm\n"},
		{"bash", []string{"deploy", "--", "x", ""}, ""},
		{"bash", []string{"--url", "http://127.0.0.1:1", "stop", ""}, ""},
		{"bash", []string{"--url", "nonsense", "deploy", "--gpu", ""}, ""},
		{"bash", []string{"--url", "http://127.0.0.1:1", "node", "show", ""}, ""},
		{"bash", []string{"--context", "none", "cluster", "down", ""}, ""},
		{"bash", []string{"--sign-with", "browser", "stop", ""}, ""},
		{"", []string{"stop", "--sess"}, "--session\n"},
	} {
		t.Setenv(completion.Variable, c.shell)
		begun := time.Now()
		out, errs := say(t, ExitDone, append(c.args, completion.Flag)...)
		require.Equal(t, c.want, out, "%q", c.args)
		require.Empty(t, errs, "%q", c.args)
		require.Less(t, time.Since(begun), 5*completion.Within, "%q", c.args)
	}
}

func TestTheManualPageIsOne(t *testing.T) {
	page, _ := say(t, ExitDone, "man")
	require.True(t, strings.HasPrefix(page, ".nh\n.TH gantry 1\n"), "%.40s", page)
	for _, part := range []string{".SH NAME\ngantry \\- buy", ".SH SYNOPSIS", ".SH GLOBAL OPTIONS", ".SH COMMANDS", ".SH deploy\n", "--max-price", ".SS set\n"} {
		require.Contains(t, page, part)
	}
	require.NotContains(t, page, "ssh-proxy", "hidden commands")
	man, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not installed")
	}
	file := filepath.Join(t.TempDir(), "gantry.1")
	require.NoError(t, os.WriteFile(file, []byte(page), 0o600))
	cmd := exec.CommandContext(t.Context(), man, "--warnings", "-l", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=100", "LC_ALL=C.UTF-8", "MANPAGER=cat")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	require.Contains(t, out.String(), "buy compute and run a command on it")
}
