package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/doctor"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/query"
)

// An owner sets two machines up from a computer with the wallet, which neither of them ever has; one that cannot be reached keeps
// the others from nothing. The machines are reached by a command in place of SSH: each has a data folder of its own.
func TestAFleetIsSetUpFromOneComputer(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	var accept []string
	for _, c := range doctor.Checks() {
		accept = append(accept, c.ID) // this computer is no machine of a provider
	}
	dirs := []string{filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")}
	text := fmt.Sprintf("defaults: {url: %q, ws: %q, region: us-west-2, price: %q, inventory: %q, accept: [%s]}\nmachines:\n",
		w.at.RPC, w.at.WS, "1.26", "simulated:A100:1", strings.Join(accept, ", "))
	path := filepath.Dir(built.path) + ":" + os.Getenv("PATH")
	for i, name := range []string{"one", "two"} {
		text += fmt.Sprintf("  - {name: %s, through: [env, %q, %q], site: rack-%d}\n", name, "GANTRY_DATA_DIR="+dirs[i], "PATH="+path, i)
	}
	text += "  - {name: gone, through: [\"false\"]}\n"
	file := filepath.Join(w.dir, "fleet.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	owner := &agent{w: w}
	wallet := w.keys.Providers[0]
	setup := []string{"fleet", "setup", "--file", file, "--data-dir", filepath.Join(w.dir, "owner"), "--url", w.at.RPC, "--ws", w.at.WS, "--keypair", wallet.Path}

	out, err := owner.try(setup...) // nobody agrees
	require.Error(t, err)
	require.Contains(t, out, "nothing was sent")
	nodes := func() []market.Node {
		all, err := query.Select[market.Node](t.Context(), w.chain, query.NodesOf(market.ProviderAddress(wallet.Address())), chain.Confirmed)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, nodes())

	out, err = owner.try(append(setup, "--yes")...)
	require.Error(t, err, "a machine that cannot be reached is said")
	require.Contains(t, out, "gone")
	require.Contains(t, out, "machines 2 to register")
	require.Contains(t, out, "up to 200 GNT")
	require.Contains(t, out, "1 of 3; mend what is said above")
	all := nodes()
	require.Len(t, all, 2, out)
	sites := []string{all[0].Site(), all[1].Site()}
	require.ElementsMatch(t, []string{"rack-0", "rack-1"}, sites)
	for _, dir := range dirs { // no file of a machine has the wallet's key
		require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil || !info.Mode().IsRegular() {
				return err
			}
			key, err := chain.LoadKeypair(path)
			require.False(t, err == nil && key.PublicKey() == wallet.Address(), path)
			return nil
		}))
	}

	both := append(setup, "--only", "one", "--only", "two")
	out, err = owner.try(both...) // again: there is nothing to agree to
	require.NoError(t, err, out)
	require.Equal(t, 2, strings.Count(out, "is registered and asks 1.26 USDC per GPU-hour"), out)

	out, err = owner.try("fleet", "exec", "--file", file, "--only", "two", "--", "update", "--price", "1.50")
	require.NoError(t, err, out)
	out, err = owner.try("fleet", "status", "--file", file, "--json")
	require.Error(t, err)
	var lines []struct {
		Name, Agent, Status, Ask, Error string
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(out)).Decode(&lines), out)
	require.Len(t, lines, 3)
	require.Equal(t, []string{"down", "active", "1.26"}, []string{lines[0].Agent, lines[0].Status, lines[0].Ask})
	require.Equal(t, "1.50", lines[1].Ask)
	require.Contains(t, lines[2].Error, "gone")
}
