//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// hotKey makes a keypair file of a key with a few SOL.
func hotKey(t *testing.T, n *network.Network, name string) (path string, key solana.PublicKey) {
	private, err := solana.NewRandomPrivateKey()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name+".json")
	require.NoError(t, chain.SaveKeypair(path, private))
	require.NoError(t, n.Sender().Airdrop(t.Context(), private.PublicKey(), 10*chain.SOL))
	return path, private.PublicKey()
}

// keeperSays runs a gantry-keeper command of the wallet, which must succeed.
func keeperSays(t *testing.T, n *network.Network, keypair, data, command string, more ...string) string {
	path, err := network.Binary("gantry-keeper")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := append([]string{command, "--url", n.At.RPC, "--ws", n.At.WS, "--keypair", keypair, "--data-dir", data}, more...)
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// Three keepers whose wallets are offline run a market: their signers vote for reports and award a lease. One changes its key while it
// runs: its process ends, is started with the new key, and neither misses a report nor contradicts itself.
func TestKeepersWhoseWalletsAreOffline(t *testing.T) {
	t.Parallel()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(2), Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	run := func(name, keypair, data string) *daemon {
		d := &daemon{name: name, log: filepath.Join(t.TempDir(), "log"), args: []string{
			"run", "--url", n.At.RPC, "--ws", n.At.WS, "--keypair", keypair, "--data-dir", data, "--log-json",
			"--listen", "/ip4/127.0.0.1/tcp/0", "--localnet",
		}}
		d.start(t)
		return d
	}
	keepers := make([]*daemon, 3)
	signers := make([]solana.PublicKey, 3)
	data := make([]string, 3)
	for i, wallet := range n.Keys.Keepers {
		var path string
		path, signers[i] = hotKey(t, n, wallet.Name)
		data[i] = t.TempDir()
		keeperSays(t, n, wallet.Path, t.TempDir(), "register", "--bond", market.GNT(n.Params().MinBond).String(), "--announce", "/ip4/127.0.0.1/tcp/1", "--signer", path)
		keepers[i] = run(wallet.Name, path, data[i])
		defer func() { keepers[i].kill() }()
	}
	keeper := func(i int) market.Keeper {
		k, found := snapshotOf(t, n).Keeper(market.KeeperAddress(n.Keys.Keepers[i].Address()))
		require.True(t, found, "keeper %d is gone", i)
		return k
	}
	require.Eventually(t, func() bool { return len(snapshotOf(t, n).ActiveKeepers()) == 3 }, time.Minute, 200*time.Millisecond, "the signers let their weight count")
	require.NoError(t, n.LaunchAgents(t.Context()))
	for i := range keepers {
		require.Equal(t, signers[i], keeper(i).Signer)
	}
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	ok(t, n, customer, deploy("1.60", "A100", "--detach")...)
	leases := snapshotOf(t, n).Leases()
	require.Len(t, leases, 1)
	by := slices.IndexFunc(n.Keys.Keepers, func(w seed.Wallet) bool { return w.Address() == leases[0].Lease.Keeper })
	require.GreaterOrEqual(t, by, 0, "the lease names a wallet")
	require.Equal(t, signers[by], leases[0].Lease.RentPayer, "its signer has paid the rent")
	finals := func(from uint64) (count int) {
		for _, r := range snapshotOf(t, n).Reports() {
			if r.Period >= from && r.State() == market.ReportFinal {
				count++
			}
		}
		return count
	}
	require.Eventually(t, func() bool { return finals(0) >= 3 }, time.Minute, 200*time.Millisecond, "reports become final by the signers' votes")

	// The wallet names another key; what runs with the former one ends by itself.
	before := keeper(0)
	path, next := hotKey(t, n, "next")
	wallet := n.Keys.Keepers[0]
	said := keeperSays(t, n, wallet.Path, t.TempDir(), "set-signer", "--signer", path)
	require.Contains(t, said, next.String())
	ended := make(chan error, 1)
	former := keepers[0]
	go func() { ended <- former.cmd.Wait() }()
	select {
	case err := <-ended:
		require.Error(t, err)
		require.Equal(t, 1, former.times(t, "another key signs for this keeper"), "it says why")
	case <-time.After(30 * time.Second):
		t.Fatal("the keeper goes on with a key that signs no more")
	}
	keepers[0] = run(wallet.Name, path, data[0])
	from := keeper(0).LastVotePeriod + 1
	require.Eventually(t, func() bool { return finals(from) >= 4 }, 2*time.Minute, 200*time.Millisecond, "and the others need its votes")
	after := keeper(0)
	require.Equal(t, []solana.PublicKey{next, signers[0]}, []solana.PublicKey{after.Signer, after.FormerSigner})
	require.Equal(t, before.Misses, after.Misses, "no report was missed")
	require.GreaterOrEqual(t, after.LastVotePeriod, before.LastVotePeriod+4)
	for i := range keepers {
		k := keeper(i)
		require.Equal(t, market.KeeperActive, k.State())
		require.Equal(t, before.Bond, k.Bond, "nobody contradicted itself")
	}
	require.Contains(t, keeperSays(t, n, path, t.TempDir(), "status"), fmt.Sprintf("former      %s", signers[0]), "status by the signer's file shows both keys")

	// No third key while the former one is liable.
	third, _ := hotKey(t, n, "third")
	out, failed := output(t, 30*time.Second, []string{"set-signer", "--url", n.At.RPC, "--ws", n.At.WS, "--keypair", wallet.Path, "--data-dir", t.TempDir(), "--signer", third})
	require.True(t, failed)
	require.Contains(t, out, "no third key signs before that")
}
