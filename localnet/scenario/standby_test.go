//go:build e2e

package scenario

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/records"
)

// daemon is a gantry-keeper that a test starts and kills by hand.
type daemon struct {
	name string
	log  string // file
	data string // folder; of a keeper
	args []string
	cmd  *exec.Cmd
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	path, err := network.Binary("gantry-keeper")
	require.NoError(t, err)
	out, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer out.Close()
	d.cmd = exec.Command(path, d.args...)
	d.cmd.Stdout, d.cmd.Stderr = out, out
	require.NoError(t, d.cmd.Start())
}

func (d *daemon) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait() // it says that it was killed
}

// times counts a message in the daemon's log.
func (d *daemon) times(t *testing.T, message string) int {
	raw, err := os.ReadFile(d.log)
	require.NoError(t, err)
	return strings.Count(string(raw), message)
}

// url is where the keeper shows something of itself.
func (d *daemon) url(what string) (string, error) {
	addr, err := os.ReadFile(filepath.Join(d.data, "http.addr"))
	return "http://" + strings.TrimSpace(string(addr)) + "/" + what, err
}

// asked is what the keeper answers about its health.
func (d *daemon) asked(t *testing.T, what string) (code int, said string) {
	t.Helper()
	at, err := d.url(what)
	require.NoError(t, err)
	resp, err := http.Get(at)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

// takeovers is how often the keeper that works is killed.
const takeovers = 4

// Two processes are one keeper by one signer. Whenever the one that works is killed, the other does its work within two
// periods, and the signer is killed as well now and then. Nothing is signed twice, and the signer's store knows all that
// the network heard.
func TestAStandbyKeeperTakesOver(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 4, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	genesis, err := n.Chain.Genesis(t.Context())
	require.NoError(t, err)
	domain := records.DomainOf(genesis)
	wallet, observer := n.Keys.Keepers[0], n.Keys.Keepers[3]
	require.NoError(t, n.Stop(t.Context(), observer.Name))
	received := listen(t, n, observer, domain)

	// The keeper's own folder becomes the signer's, with all that it has signed.
	require.NoError(t, n.Stop(t.Context(), wallet.Name))
	folder := filepath.Join(n.Dir(), "keepers", wallet.Name)
	socket := filepath.Join(t.TempDir(), "signer.sock")
	init := &daemon{log: filepath.Join(t.TempDir(), "init"), args: []string{"signer", "init", "--url", n.At.RPC, "--ws", n.At.WS, "--keypair", wallet.Path, "--data", folder}}
	init.start(t)
	err = init.cmd.Wait()
	said, _ := os.ReadFile(init.log)
	require.NoError(t, err, string(said))
	signer := &daemon{name: "signer", log: filepath.Join(t.TempDir(), "signer"), args: []string{
		"signer", "run", "--keypair", wallet.Path, "--data", folder, "--socket", socket, "--hold", "2s", "--log-json",
	}}
	signer.start(t)
	defer func() { signer.kill() }()
	keepers := []*daemon{standby(t, n, "one", socket), standby(t, n, "two", socket)}
	for _, k := range keepers {
		k.start(t)
		defer func() { k.kill() }()
	}
	period := time.Duration(n.Params().PeriodSecs) * time.Second
	works := func() int {
		for i, k := range keepers {
			if k.times(t, "keeper works") > 0 {
				return i
			}
		}
		return -1
	}
	require.Eventually(t, func() bool { return works() >= 0 }, time.Minute, 50*time.Millisecond)
	first := works()
	code, answer := keepers[1-first].asked(t, "healthz")
	require.Equal(t, http.StatusOK, code, answer)
	code, answer = keepers[1-first].asked(t, "readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, answer, "keeper stands by: another keeper has the signer's hold")
	var took []string
	for range takeovers {
		active, other := keepers[first], keepers[1-first]
		require.NoError(t, pause(t.Context(), 2*period)) // it works, and the other one stands by
		require.Zero(t, other.times(t, "keeper works"))
		killed := time.Now()
		active.kill()
		if len(took)%2 == 1 {
			signer.kill()
			signer.start(t)
		}
		require.Eventually(t, func() bool { return signedAfter(received, wallet, killed) }, time.Minute, 20*time.Millisecond, "nobody took over")
		after := time.Since(killed)
		took = append(took, after.Round(time.Millisecond).String())
		require.Less(t, after, 2*period, "from the kill until the keeper's next statement")
		require.Equal(t, 1, other.times(t, "keeper works"), "the other one works")
		require.NoError(t, os.Rename(active.log, fmt.Sprintf("%s.%d", active.log, len(took))))
		active.start(t) // and stands by now
		first = 1 - first
	}
	// The signer is killed and the keeper stays: it signs again when the signer is back. Both keepers' alert fires meanwhile.
	before := keepers[first].times(t, "keeper works")
	r := record(t, func(name string) (string, error) {
		for _, k := range keepers {
			if k.name == name {
				return k.url("metrics")
			}
		}
		return "", fmt.Errorf("no keeper %s", name)
	}, map[string]string{"one": "gantry-keeper", "two": "gantry-keeper"})
	for i, k := range keepers {
		r.shown(t, k.name, "gantry_keeper_signer_answers", equals(1))
		r.shown(t, k.name, "gantry_keeper_standby", func(v float64) bool { return v == 1 == (i != first) })
	}
	from := r.now() - 1
	signer.kill()
	for _, k := range keepers {
		r.shown(t, k.name, "gantry_keeper_signer_answers", equals(0))
	}
	away := r.now()
	require.Eventually(t, func() bool { return r.now() > away+7 }, time.Minute, tick)
	signer.start(t)
	restarted := time.Now()
	require.Eventually(t, func() bool { return signedAfter(received, wallet, restarted) }, time.Minute, 20*time.Millisecond)
	require.Equal(t, before, keepers[first].times(t, "keeper works"), "it has not started again")
	require.Zero(t, keepers[1-first].times(t, "keeper works"), "the other one stands by")
	if _, err := exec.LookPath("promtool"); err == nil {
		for _, k := range keepers {
			r.judge(t, alert{daemon: "keeper", name: "GantryKeeperSignerAway", instance: k.name, step: 15 * time.Second, quiet: from, fires: away + 6})
		}
	}

	statements, manifests, wrong := received.count()
	require.Empty(t, wrong)
	t.Logf("from a kill until the next statement: %s; %d statements and %d manifests heard", took, statements, manifests)

	for _, d := range append(keepers, signer) {
		d.kill()
	}
	knowsAll(t, received, folder, wallet, domain)

	// The signer's machine is lost with its store. Another one is made of the wallet's file: it signs from a later period on, and
	// nothing that was signed before is contradicted.
	another := filepath.Join(t.TempDir(), "another")
	init = &daemon{log: init.log, args: append(init.args[:len(init.args)-1:len(init.args)-1], another)}
	init.start(t)
	require.NoError(t, init.cmd.Wait())
	signer = &daemon{name: "signer", log: signer.log, args: []string{
		"signer", "run", "--keypair", wallet.Path, "--data", another, "--socket", socket, "--hold", "2s", "--log-json",
	}}
	lost := time.Now()
	signer.start(t)
	keepers[0].start(t)
	require.Eventually(t, func() bool { return signedAfter(received, wallet, lost) }, time.Minute, 50*time.Millisecond)
	t.Logf("a new signer: %s until the next statement", time.Since(lost).Round(time.Millisecond))
	require.NoError(t, pause(t.Context(), 2*period)) // manifests of whole periods
	_, _, wrong = received.count()
	require.Empty(t, wrong)
	keepers[0].kill()
	signer.kill()
}

// knowsAll checks that all that the network heard of a keeper is in its signer's store.
func knowsAll(t *testing.T, received *listener, folder string, wallet seed.Wallet, domain records.Domain) {
	t.Helper()
	s, err := store.Open(filepath.Join(folder, "keeper.db"), store.Options{Keeper: wallet.Address(), Domain: domain})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	received.mu.Lock()
	defer received.mu.Unlock()
	for k, st := range received.signed {
		if k.Keeper == wallet.Address() {
			known, err := s.Knows(st)
			require.NoError(t, err)
			require.True(t, known, "the keeper has signed what is not in the signer's store")
		}
	}
}

// standby is one of several processes that are the same keeper.
func standby(t *testing.T, n *network.Network, name, socket string) *daemon {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	return &daemon{name: name, log: filepath.Join(dir, "log"), data: data, args: []string{
		"run", "--url", n.At.RPC, "--ws", n.At.WS, "--signer", "unix:" + socket, "--data-dir", data, "--log-json",
		"--listen", "/ip4/127.0.0.1/tcp/0", "--localnet",
	}}
}

// signedAfter reports whether the network has heard a statement that the keeper made after a moment.
func signedAfter(l *listener, wallet seed.Wallet, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.signed {
		if k.Keeper == wallet.Address() && k.CheckedAt > at.Unix()+1 {
			return true
		}
	}
	return false
}
