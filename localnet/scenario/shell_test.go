//go:build e2e

package scenario

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
)

// visit is a lease whose container is visited with OpenSSH's programs.
type visit struct {
	t      *testing.T
	n      *network.Network
	owner  seed.Wallet
	lease  string
	dir    string
	config string
	host   string
}

// command is one of OpenSSH's programs with the configuration that gantry has printed.
func (v *visit) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(v.t.Context(), name, append([]string{"-F", v.config, "-o", "BatchMode=yes"}, args...)...)
	cmd.Dir = v.dir
	return cmd
}

func (v *visit) run(name string, args ...string) string {
	v.t.Helper()
	out, err := v.command(name, args...).CombinedOutput()
	require.NoError(v.t, err, string(out))
	return string(out)
}

// gantry runs the client for people, as the customer.
func (v *visit) gantry(args ...string) network.Output {
	v.t.Helper()
	return v.as(v.owner, args...)
}

func (v *visit) as(who seed.Wallet, args ...string) network.Output {
	v.t.Helper()
	out, err := v.n.GantryRaw(v.t.Context(), who.Name, append([]string{"--yes", "--keypair", who.Path, "--url", v.n.At.RPC, "--ws", v.n.At.WS}, args...)...)
	require.NoError(v.t, err)
	return out
}

// visited rents a container and reaches it in every way, from OpenSSH's own programs, until the lease ends.
func visited(t *testing.T, n *network.Network, customer seed.Wallet) {
	for _, tool := range []string{"ssh", "scp", "sftp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is missing: scripts/toolchain.sh ssh", tool)
		}
	}
	rsync := imagetest.HostProgram(t, "rsync")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, slices.Concat(imagetest.Busybox(t), rsync)...))
	done := ok(t, n, customer, "deploy", "--gpu", "A100", "--max-price", "3", "--duration", "10m", "--allow-simulated", "--detach", "--network", "none", "--image", image,
		"--", "/bin/sh", "-c", "mkdir /www; echo the page >/www/index.html; httpd -f -p 127.0.0.1:8080 -h /www")
	var deployed struct{ Leases []struct{ Address string } }
	require.NoError(t, json.Unmarshal([]byte(done.Stdout), &deployed), done.Stdout)
	v := &visit{t: t, n: n, owner: customer, lease: deployed.Leases[0].Address, dir: t.TempDir()}
	v.config, v.host = filepath.Join(v.dir, "config"), "gantry-"+v.lease
	// The lease runs, and its container begins a moment later: the first command waits for it.
	first := v.gantry("exec", v.lease, "--", "true")
	require.Zero(t, first.Code, first.Stderr)
	require.Eventually(t, func() bool { return v.gantry("exec", v.lease, "--", "ls", "/www/index.html").Code == 0 }, time.Minute, 200*time.Millisecond)
	block := v.gantry("ssh-config", v.lease)
	require.Zero(t, block.Code, block.Stderr)
	require.NoError(t, os.WriteFile(v.config, []byte(block.Stdout), 0o600))

	v.commands()
	v.files(rsync != nil)
	v.ports()
	v.strangers()
	v.kills()
}

func (v *visit) commands() {
	t := v.t
	require.Contains(t, v.run("ssh", v.host, "cat /proc/version; echo $GANTRY_GPU_COUNT"), "gvisor")
	require.Equal(t, "1\r\n", strings.TrimPrefix(v.run("ssh", "-tt", "-q", v.host, "echo $GANTRY_GPU_COUNT"), "\x00"))
	var exit *exec.ExitError
	require.ErrorAs(t, v.command("ssh", v.host, "exit 7").Run(), &exit)
	require.Equal(t, 7, exit.ExitCode())
	typed := v.command("ssh", "-tt", "-q", v.host)
	typed.Stdin = strings.NewReader("stty cols 91\nstty size\nexit 4\n")
	out, err := typed.Output()
	require.ErrorAs(t, err, &exit, string(out))
	require.Equal(t, 4, exit.ExitCode())
	require.Contains(t, string(out), " 91\r\n")

	printed := v.gantry("exec", v.lease, "--", "printf", "%s|", "a b", "$HOME")
	require.Equal(t, "a b|$HOME|", printed.Stdout, printed.Stderr)
	require.Equal(t, 9, v.gantry("exec", v.lease, "--", "sh", "-c", "exit 9").Code)
	printed = v.gantry("ssh", v.lease, "--", "echo", "through OpenSSH; exit 3")
	require.Equal(t, 3, printed.Code, printed.Stderr)
	require.Equal(t, "through OpenSSH\n", printed.Stdout)
}

// files copies both ways by every program that people copy with.
func (v *visit) files(rsync bool) {
	t := v.t
	content := make([]byte, 5<<20)
	_, _ = rand.Read(content)
	require.NoError(t, os.WriteFile(filepath.Join(v.dir, "sent"), content, 0o600))
	same := func(name string) {
		t.Helper()
		got, err := os.ReadFile(filepath.Join(v.dir, name))
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	v.run("scp", "-q", "sent", v.host+":/by-scp")
	v.run("scp", "-q", v.host+":/by-scp", "from-scp")
	same("from-scp")
	require.NoError(t, os.WriteFile(filepath.Join(v.dir, "batch"), []byte("put sent /by-sftp\nls -l /\nget /by-sftp from-sftp\n"), 0o600))
	require.Contains(t, v.run("sftp", "-b", "batch", v.host), "by-sftp")
	same("from-sftp")
	if rsync {
		for _, pair := range [][2]string{{"sent", v.host + ":/by-rsync"}, {v.host + ":/by-rsync", "from-rsync"}} {
			cmd := exec.CommandContext(t.Context(), "rsync", "-a", "-e", "ssh -F "+v.config, pair[0], pair[1])
			cmd.Dir = v.dir
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		}
		same("from-rsync")
	}
	folder := filepath.Join(v.dir, "folder")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "inner"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "inner", "x"), content, 0o600))
	copied := v.gantry("cp", folder, v.lease+":/")
	require.Zero(t, copied.Code, copied.Stderr)
	copied = v.gantry("cp", v.lease+":/folder", filepath.Join(v.dir, "back"))
	require.Zero(t, copied.Code, copied.Stderr)
	same("back/inner/x")
}

// ports reaches the job's own server, which listens on the container's loopback interface alone.
func (v *visit) ports() {
	t := v.t
	through := v.command("ssh", "-W", "127.0.0.1:8080", v.host)
	through.Stdin = strings.NewReader("GET / HTTP/1.0\r\n\r\n")
	out, err := through.Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "the page")

	binary := filepath.Join("..", "..", "build", "bin", "gantry")
	cmd := exec.CommandContext(t.Context(), binary, "--keypair", v.owner.Path, "--url", v.n.At.RPC, "--ws", v.n.At.WS, "--state-dir", v.state(), "port", v.lease, "8080:0")
	said, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	at := strings.Fields(line[strings.Index(line, "http://"):])[0]
	for range 8 {
		page, err := http.Get(at)
		require.NoError(t, err)
		text, err := bufio.NewReader(page.Body).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "the page\n", text)
		require.NoError(t, page.Body.Close())
	}
}

// state is the customer's state folder, which the configuration names.
func (v *visit) state() string {
	raw, err := os.ReadFile(v.config)
	require.NoError(v.t, err)
	words := strings.Fields(string(raw))
	return words[slices.Index(words, "--state-dir")+1]
}

// strangers try with a key that the job does not name, and with a wallet that the lease is not of.
func (v *visit) strangers() {
	t := v.t
	other := filepath.Join(v.dir, "other")
	out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other).CombinedOutput()
	require.NoError(t, err, string(out))
	refused := v.gantry("exec", "--identity", other, v.lease, "--", "ls")
	require.Equal(t, refusedByMarket, refused.Code)
	require.Contains(t, refused.Stderr, "refuses this machine's SSH key")
	raw, err := os.ReadFile(v.config)
	require.NoError(t, err)
	var lines []string
	for _, l := range strings.Split(string(raw), "\n") {
		if strings.Contains(l, "IdentityFile ") {
			l = fmt.Sprintf("    IdentityFile %q", other)
		}
		lines = append(lines, l)
	}
	strange := *v
	strange.config = filepath.Join(v.dir, "strange")
	require.NoError(t, os.WriteFile(strange.config, []byte(strings.Join(lines, "\n")), 0o600))
	out, err = strange.command("ssh", v.host, "ls").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "Permission denied (publickey)")

	refused = v.as(v.n.Keys.Customers[1], "ssh-proxy", v.lease)
	require.Equal(t, refusedByMarket, refused.Code)
	require.Contains(t, refused.Stderr, "not to your wallet")
}

// kills ends the agent, whose container goes on and is reached again, and then the lease, with which a session ends.
func (v *visit) kills() {
	t := v.t
	v.run("ssh", v.host, "touch /before")

	require.NoError(t, v.n.Kill(network.DefaultNodes(1)[0].Name))
	require.Eventually(t, func() bool {
		out, err := v.command("ssh", v.host, "ls /before").CombinedOutput()
		return err == nil && strings.Contains(string(out), "/before")
	}, 2*time.Minute, 500*time.Millisecond)

	session := v.command("ssh", v.host, "echo here; sleep 1000")
	out, err := session.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, session.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "here\n", line)
	stopped := v.gantry("stop", v.lease)
	require.Zero(t, stopped.Code, stopped.Stderr)
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	select {
	case err := <-over:
		require.Error(t, err)
	case <-time.After(2 * time.Minute):
		t.Fatal("the session outlives its lease")
	}
	refused := v.gantry("exec", v.lease, "--", "ls")
	require.Equal(t, refusedByMarket, refused.Code)
	require.Contains(t, refused.Stderr, "is over")
}
