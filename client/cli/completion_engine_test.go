package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/completion"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// completed is what a shell is told, for a line that ends in the word that is typed.
func (s shell) completed(name string, args ...string) []string {
	s.t.Helper()
	s.t.Setenv(completion.Variable, name)
	r := s.run(context.Background(), append(args, completion.Flag)...)
	require.Equal(s.t, cli.ExitDone, r.code)
	require.Empty(s.t, r.err)
	return strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
}

// TestAddressesAreCompleted: a shell is told one's own leases and orders, nodes and models, and nobody else's leases.
func TestAddressesAreCompleted(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	keeper, owner := w.Keeper(), w.Provider(1_000_000_000_000)
	_, node := w.Node(owner, testmarket.A100, 2, 1_260_000)
	me, other := w.Customer(100_000_000, 50_000_000), w.Customer(100_000_000, 50_000_000)
	args := ix.OrderCreateArgs{Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1}}
	mine := w.Award(keeper, w.Order(me, args), node)
	theirs := w.Award(keeper, w.Order(other, args), node)
	args.Nonce, args.Customer = 2, me.PublicKey()
	waits := w.Order(me, args)

	s := newShell(t, w, me)
	address := mine.Address.String()
	require.Equal(t, []string{address}, s.completed("bash", "stop", ""))
	require.Equal(t, []string{address}, s.completed("bash", "logs", "-f", address[:3]))
	require.Equal(t, []string{""}, s.completed("bash", "stop", theirs.Address.String()[:6]))
	require.Equal(t, []string{""}, s.completed("bash", "stop", address, ""), "one lease is enough")
	require.Equal(t, []string{address + ":1×A100-SXM4-40GB awarded"}, s.completed("zsh", "ssh", ""))
	require.Equal(t, []string{address + "\t1×A100-SXM4-40GB awarded"}, s.completed("fish", "gateway", "open", ""))
	require.Equal(t, address+":1×A100-SXM4-40GB awarded", s.completed("zsh", "audit", address[:4])[0])
	require.Equal(t, []string{node.Address.String()}, s.completed("bash", "node", "show", ""), "of others, as one has none")
	require.Contains(t, s.completed("bash", "deploy", "--gpu", ""), "A100-SXM4-40GB")
	require.Contains(t, s.completed("bash", "order", "cancel", ""), waits.Address.String())
	require.Subset(t, s.completed("bash", "why", ""), []string{address, waits.Address.String()})

	// The record of a purchase knows its name, also where the chain does not answer.
	root := filepath.Join(t.TempDir(), "records")
	genesis, err := w.Client.Genesis(t.Context())
	require.NoError(t, err)
	f, err := purchase.Open(root, genesis, me.PublicKey())
	require.NoError(t, err)
	h, err := f.Hold(waits.Address)
	require.NoError(t, err)
	require.NoError(t, h.Write(purchase.Purchase{Version: 1, Name: "train-1", Order: waits.Address, Args: args, Stage: purchase.Placed}))
	require.NoError(t, h.Release())
	named := shell{t: t, args: append(s.args, "--state-dir", root)}
	require.Equal(t, []string{"train-1"}, named.completed("bash", "resume", "tr"))
	silent := shell{t: t, args: []string{"--url", "http://127.0.0.1:1", "--keypair", s.args[5], "--state-dir", root}}
	require.Equal(t, []string{"train-1", waits.Address.String()}, silent.completed("bash", "cluster", "down", ""))
	require.Equal(t, []string{""}, silent.completed("bash", "stop", ""))

	// A context is enough for all of it.
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	bare := shell{t: t}
	bare.ok(nil, "context", "set", "here", "--rpc-url", w.Endpoint.RPC, "--ws-url", w.Endpoint.WS, "--keypair", s.args[5])
	require.Equal(t, []string{address}, bare.completed("bash", "--context", "here", "stop", ""))
	var leases []struct{ Address string }
	bare.ok(&leases, "leases", "--context", "here", "--state-dir", t.TempDir())
	require.Len(t, leases, 1)
}
