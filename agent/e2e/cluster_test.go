package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/driver"
	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

var listens = regexp.MustCompile(`/ip4/127\.0\.0\.1/[^\s,\]"]+`)

// foreignAgent is an agent of a cluster that is not local, with two GPUs that are not labelled as simulated, not registered.
func (w *testbed) foreignAgent() *agent {
	a := &agent{w: w, dir: filepath.Join(w.dir, "agent"), env: driver.Environment(w.t, 2), out: &syncbuf.Buffer{}}
	a.args = []string{"--inventory", "nvml", "--local-registries", "--no-lease-network", "--listen", "/ip4/127.0.0.1/udp/0/quic-v1"}
	w.t.Cleanup(func() {
		a.kill()
		if w.t.Failed() {
			w.t.Logf("agent's log:\n%s", a.out)
		}
	})
	a.command(a.flags("init", "--skip-benchmark", "--inventory", "nvml")...)
	key, err := chain.LoadKeypair(filepath.Join(a.dir, "node.json"))
	require.NoError(w.t, err)
	a.key = key.PublicKey()
	a.node = market.NodeAddress(market.ProviderAddress(w.keys.Providers[0].Address()), a.key)
	return a
}

func (a *agent) flags(command string, more ...string) []string {
	common := []string{command, "--data-dir", a.dir, "--url", a.w.at.RPC, "--ws", a.w.at.WS}
	return append(common, more...)
}

func (a *agent) register() []string {
	return a.flags("register", "--stake", "200", "--price", "1.26", "--inventory", "nvml", "--region", "us-west-2", "--keypair", a.w.keys.Providers[0].Path)
}

// On a public cluster an agent runs what it can isolate, and nothing else: a machine without a sandbox serves no such
// cluster, one with a sandbox runs images and refuses jobs without one.
func TestClustersThatAreNotLocal(t *testing.T) {
	t.Parallel()
	runsc, err := exec.LookPath("runsc")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: containers need root and runsc: run the tests as root after scripts/toolchain.sh sandbox")
	}
	w := testbedOf(t, chain.DevnetGenesis)
	a := w.foreignAgent()
	with := a.env

	// Without a sandbox: neither registered nor served.
	a.env = append(with, "PATH=/nowhere")
	out, err := a.try(a.register()...)
	require.Error(t, err)
	require.Contains(t, out, "this machine runs no images; it needs runsc")
	require.Contains(t, out, "this is devnet")
	out, err = a.try(a.flags("run", a.args...)...)
	require.Error(t, err)
	require.Contains(t, out, "there is no runsc: install gVisor")
	out, err = a.try(a.flags("run", append(a.args, "--inventory", "simulated:A100:1")...)...)
	require.Error(t, err)
	require.Contains(t, out, "simulations serve local networks only")

	// With one that does not know the driver.
	a.env = append(with, "GANTRY_TEST_DRIVER=550.1.1")
	out, err = a.try(a.register()...)
	require.Error(t, err)
	require.Contains(t, out, "the sandbox does not know this NVIDIA driver: it is 550.1.1; install one of: 550.")

	// With one, but a record that says otherwise.
	a.env = with
	require.Contains(t, a.command(a.register()...), "registered node")
	update := func(isolation string) {
		a.command(a.flags("update", "--isolation", isolation, "--keypair", w.keys.Providers[0].Path)...)
	}
	update("process")
	out, err = a.try(a.flags("run", a.args...)...)
	require.Error(t, err)
	require.Contains(t, out, "gantry-agent update --isolation sandbox")
	update("sandbox")

	// With both it serves.
	a.serve()
	require.Contains(t, a.out.String(), "the node takes jobs with an image only")
	require.Contains(t, a.out.String(), "containers get the GPUs of their lease")
	bare := job("echo on the machine itself")
	l := w.orderWith(a.node, bare, 600, true, market.Requirement{Models: market.Models(seed.A100)})
	answer := w.deploy(a, l.Address, bare)
	require.Contains(t, answer.Refused, "jobs without an image run on local networks only")
	require.Contains(t, answer.Refused, "this is devnet")

	file, err := os.ReadFile(imagetest.Program(t, "../runtime/testdata/job"))
	require.NoError(t, err)
	_, image := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{"/bin/job"}}, imagetest.Layer(t, imagetest.File("bin/job", string(file))))
	spec := messages.JobSpec{Version: messages.Version, Image: image, Command: []string{"kernel", "list=/dev", "say=for a stranger"}}
	l = w.orderWith(a.node, spec, 600, true, market.Requirement{Models: market.Models(seed.A100), MinIsolation: uint8(market.Sandbox)})
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "the job is done", ended)
	printed := w.logs(a, l.Address, false)
	require.Contains(t, printed, "gvisor")
	require.Contains(t, printed, "for a stranger")
	require.Contains(t, printed, "entry nvidiactl\n")
	require.Equal(t, 1, strings.Count(printed, "entry nvidia0\n")+strings.Count(printed, "entry nvidia1\n"), "one GPU of two: %s", printed)
	t.Logf("served by %s on a chain that says it is devnet: %s", runsc, strings.ReplaceAll(printed, "\n", "; "))
}

// ownDevices begins a command line that runs a program with a /dev of its own, where the nodes of two GPUs are: they are
// those of /dev/null.
func (a *agent) ownDevices() []string {
	script := `set -e
mount -t tmpfs -o mode=755 tmpfs /dev
for n in null:3 zero:5 random:8 urandom:9; do mknod -m 666 /dev/${n%:*} c 1 ${n#*:}; done
mknod /dev/loop-control c 10 237
for n in $(seq 0 63); do mknod /dev/loop$n b 7 $n; done
for n in nvidiactl nvidia-uvm nvidia0 nvidia1; do mknod -m 666 /dev/$n c 1 3; done
exec "$@"`
	return []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"}
}

// serve runs the agent until it serves, without a keeper: on public clusters no agent dials a machine's own addresses.
func (a *agent) serve() {
	a.w.t.Helper()
	line := append(append(a.ownDevices(), built.path), a.flags("run", append(a.args, "--log-level", "debug", "--log-format", "text")...)...)
	a.cmd = exec.Command(line[0], line[1:]...)
	a.cmd.Stdout, a.cmd.Stderr = a.out, a.out
	a.cmd.Env = append(os.Environ(), a.env...)
	require.NoError(a.w.t, a.cmd.Start())
	require.Eventually(a.w.t, func() bool { return strings.Contains(a.out.String(), " agent serves ") }, time.Minute, 20*time.Millisecond, "the agent does not serve")
	a.at = listens.FindString(a.out.String())
	require.NotEmpty(a.w.t, a.at)
}
