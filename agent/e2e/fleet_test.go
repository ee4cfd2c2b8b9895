package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// fleet is an owner's computer: it has the wallet and the file of the owner's machines.
type fleet struct {
	*agent // runs commands, and has no machine
	wallet seed.Wallet
	file   string
}

// newFleet writes the file, with what its defaults have besides and a line a machine. All checks are accepted: this computer is
// no machine of a provider.
func (w *testbed) newFleet(defaults string, machines ...string) *fleet {
	w.t.Helper()
	text := fmt.Sprintf("defaults: {url: %q, ws: %q, region: us-west-2, price: %q, accept: [%s], %s}\nmachines:\n",
		w.at.RPC, w.at.WS, "1.26", strings.Join(everyCheck(), ", "), defaults)
	for _, m := range machines {
		text += "  - {" + m + "}\n"
	}
	f := &fleet{agent: &agent{w: w}, wallet: w.keys.Providers[0], file: filepath.Join(w.dir, "fleet.yaml")}
	require.NoError(w.t, os.WriteFile(f.file, []byte(text), 0o600))
	return f
}

// everyCheck are the names of doctor's checks.
func everyCheck() (all []string) {
	for _, c := range doctor.Checks() {
		all = append(all, c.ID)
	}
	return all
}

func (f *fleet) setup(more ...string) (string, error) {
	args := []string{"fleet", "setup", "--file", f.file, "--data-dir", filepath.Join(f.w.dir, "owner"), "--url", f.w.at.RPC, "--ws", f.w.at.WS, "--keypair", f.wallet.Path}
	return f.try(append(args, more...)...)
}

// nodes are those that the wallet has registered.
func (f *fleet) nodes() []market.Node {
	f.w.t.Helper()
	all, err := query.Select[market.Node](f.w.t.Context(), f.w.chain, query.NodesOf(market.ProviderAddress(f.wallet.Address())), chain.Confirmed)
	require.NoError(f.w.t, err)
	return all
}

// fleetLine is a machine in a fleet's status.
type fleetLine struct {
	Name, Agent, Status, Ask, Error string
}

// status has machines that fail, which the command's own status tells.
func (f *fleet) status() (lines []fleetLine) {
	f.w.t.Helper()
	cmd := exec.CommandContext(f.w.t.Context(), built.path, "fleet", "status", "--file", f.file, "--json")
	cmd.Env = append(os.Environ(), f.env...)
	raw, err := cmd.Output()
	require.Error(f.w.t, err)
	require.NoError(f.w.t, json.Unmarshal(raw, &lines), string(raw))
	return lines
}

// An owner sets two machines up from a computer with the wallet, which neither of them ever has; one that cannot be reached keeps
// the others from nothing. The machines are reached by a command in place of SSH: each has a data folder of its own.
func TestAFleetIsSetUpFromOneComputer(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	dirs := []string{filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")}
	path := filepath.Dir(built.path) + ":" + os.Getenv("PATH")
	var machines []string
	for i, name := range []string{"one", "two"} {
		machines = append(machines, fmt.Sprintf("name: %s, through: [env, %q, %q], site: rack-%d", name, "GANTRY_DATA_DIR="+dirs[i], "PATH="+path, i))
	}
	f := w.newFleet(`inventory: "simulated:A100:1"`, append(machines, `name: gone, through: ["false"]`)...)

	out, err := f.setup() // no answer
	require.Error(t, err)
	require.Contains(t, out, "nothing was sent")
	require.Empty(t, f.nodes())

	out, err = f.setup("--yes")
	require.Error(t, err, "a machine that cannot be reached is said")
	require.Contains(t, out, "gone")
	require.Contains(t, out, "machines 2 to register")
	require.Contains(t, out, "up to 200 GNT")
	require.Contains(t, out, "1 of 3; mend what is said above")
	all := f.nodes()
	require.Len(t, all, 2, out)
	sites := []string{all[0].Site(), all[1].Site()}
	require.ElementsMatch(t, []string{"rack-0", "rack-1"}, sites)
	for _, dir := range dirs { // no file of a machine has the wallet's key
		require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			key, err := chain.LoadKeypair(path)
			require.False(t, err == nil && key.PublicKey() == f.wallet.Address(), path)
			return nil
		}))
	}

	out, err = f.setup("--only", "one", "--only", "two") // again: there is nothing to agree to
	require.NoError(t, err, out)
	require.Equal(t, 2, strings.Count(out, "is registered and asks 1.26 USDC per GPU-hour"), out)

	out, err = f.try("fleet", "exec", "--file", f.file, "--only", "two", "--", "update", "--price", "1.50")
	require.NoError(t, err, out)
	lines := f.status()
	require.Len(t, lines, 3)
	require.Equal(t, []string{"down", "active", "1.26"}, []string{lines[0].Agent, lines[0].Status, lines[0].Ask})
	require.Equal(t, "1.50", lines[1].Ask)
	require.Contains(t, lines[2].Error, "gone")
}
