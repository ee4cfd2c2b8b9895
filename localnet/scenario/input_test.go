//go:build e2e

package scenario

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Exit codes of the client.
const (
	refusedByMarket = 1
	wrongUse        = 2
	networkTrouble  = 3
)

// market is a small market with a customer that has credits.
func newMarket(t *testing.T) (*network.Network, seed.Wallet) {
	t.Helper()
	return marketWith(t, seed.Params())
}

// marketWith is a market with these parameters.
func marketWith(t *testing.T, params bindings.Params) (*network.Network, seed.Wallet) {
	t.Helper()
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: 1, Customers: 2, Nodes: network.DefaultNodes(1), Params: &params, Log: warnings(t),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "10")
	return n, customer
}

// ok runs the client and requires that it succeeds.
func ok(t *testing.T, n *network.Network, wallet seed.Wallet, args ...string) network.Output {
	t.Helper()
	out, err := n.Gantry(t.Context(), wallet, args...)
	require.NoError(t, err)
	require.NoError(t, out.Err())
	return out
}

func deploy(maxPrice, gpu string, more ...string) []string {
	args := []string{"deploy", "--gpu", gpu, "--count", "1", "--max-price", maxPrice, "--duration", "10m", "--allow-simulated"}
	return append(append(args, more...), "--", "true")
}

// Mistakes of users: one clear message with what to do, the right exit code, and nothing lost.
func TestBadInput(t *testing.T) {
	t.Parallel()
	n, customer := newMarket(t)
	poor, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), "stranger")
	require.NoError(t, err)
	// It has tokens, and no SOL for fees.
	require.NoError(t, seed.Fund(t.Context(), n.Sender(), n.Keys, poor.Address(), 0, 5*seed.USDC, 0))
	base := []string{"--url", n.At.RPC, "--ws", n.At.WS}
	with := func(wallet seed.Wallet, args ...string) []string {
		return append(append([]string{"--yes", "--keypair", wallet.Path}, base...), args...)
	}
	mints := n.Mints()
	before, err := invariants.Take(t.Context(), n.Chain, mints)
	require.NoError(t, err)

	for name, c := range map[string]struct {
		args []string
		code int
		says []string // each is in the message
	}{
		"wrong keypair path": {
			append(append([]string{"--keypair", "/nowhere/wallet.json"}, base...), "credits", "add", "1"), wrongUse,
			[]string{"/nowhere/wallet.json", "--keypair"},
		},
		"a file that is no keypair": {
			append(append([]string{"--keypair", filepath.Join(n.Dir(), "network.json")}, base...), "credits", "add", "1"), wrongUse,
			[]string{"network.json", "64 numbers"},
		},
		"more credits than tokens":   {with(customer, "credits", "add", "100000"), refusedByMarket, []string{"100000"}},
		"order without credits":      {with(n.Keys.Customers[1], deploy("1.60", "A100")...), refusedByMarket, []string{"gantry credits add"}},
		"order beyond the credits":   {with(customer, "deploy", "--gpu", "A100", "--count", "1", "--max-price", "1.60", "--duration", "100h", "--allow-simulated", "--", "true"), refusedByMarket, []string{"gantry credits add"}},
		"wallet without SOL":         {with(poor, "credits", "add", "1"), refusedByMarket, []string{"SOL"}},
		"unknown model":              {with(customer, deploy("1.60", "B9000")...), wrongUse, []string{"B9000", "A100"}},
		"price of 0":                 {with(customer, deploy("0", "A100")...), wrongUse, []string{"price"}},
		"node price of 0":            {with(n.Keys.Providers[0], "node", "update", n.Nodes[0].Address.String(), "--price", "0"), wrongUse, []string{"price"}},
		"RPC that is down":           {append([]string{"--keypair", customer.Path, "--url", "http://127.0.0.1:9"}, "credits", "show"), networkTrouble, []string{"127.0.0.1:9", "--url"}},
		"unknown command":            {with(customer, "buy"), wrongUse, []string{"buy"}},
		"lease that is not there":    {with(customer, "stop", solana.PublicKey{7}.String()), refusedByMarket, []string{"lease"}},
		"withdraw more than is free": {with(customer, "credits", "withdraw", "11"), refusedByMarket, []string{"10.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := n.GantryRaw(t.Context(), "mistakes", c.args...)
			require.NoError(t, err)
			require.Equal(t, c.code, out.Code, "%s%s", out.Stdout, out.Stderr)
			message := strings.TrimSpace(out.Stderr)
			require.Contains(t, message, "error: ")
			require.NotContains(t, message, "panic")
			require.NotContains(t, message, "goroutine")
			// A reason, and below it what to do; nothing else.
			reason := message[strings.LastIndex(message, "error: "):]
			require.LessOrEqual(t, strings.Count(reason, "\n"), 1, message)
			for _, part := range c.says {
				require.Contains(t, message, part)
			}
		})
	}

	after, err := invariants.Take(t.Context(), n.Chain, mints)
	require.NoError(t, err)
	require.Equal(t, before.Credits, after.Credits)
	require.Equal(t, before.Tokens, after.Tokens)
	require.Empty(t, after.Orders)
	sol, err := n.Chain.Balance(t.Context(), poor.Address(), chain.Confirmed)
	require.NoError(t, err)
	require.Zero(t, sol)
}

// A paused market takes no new orders, and gives back whatever is asked back: an order that nobody took, free credits,
// and after it is opened again everything works.
func TestPausedMarketRefunds(t *testing.T) {
	t.Parallel()
	n, customer := newMarket(t)
	guardian := n.Keys.Guardian
	was, found := snapshotOf(t, n).CreditsOf(customer.Address())
	require.True(t, found)
	// Nobody can take this order: no machine is so cheap. It waits, with its money reserved.
	order, err := ix.OrderCreate(ix.OrderCreateArgs{
		Customer: customer.Address(), Nonce: 1, MaxPrice: 100_000, Duration: 600, Nodes: 1, GPUsPerNode: 1,
		Requirement: market.Requirement{Models: market.Models(seed.A100), AllowSimulated: 1},
	})
	require.NoError(t, err)
	_, err = n.Sender().Send(t.Context(), customer.Key, nil, order)
	require.NoError(t, err)
	require.Len(t, snapshotOf(t, n).Orders(), 1)
	reserved, _ := snapshotOf(t, n).CreditsOf(customer.Address())
	require.Less(t, reserved.Free(), was.Free())

	ok(t, n, guardian, "market", "pause", "orders,awards")
	refused, err := n.Gantry(t.Context(), n.Keys.Customers[0], deploy("1.60", "A100")...)
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, refused.Code, refused.Stderr)
	ok(t, n, customer, "credits", "withdraw", "1")
	// The award deadline passes, and a keeper gives the money back.
	require.Eventually(t, func() bool {
		c, _ := snapshotOf(t, n).CreditsOf(customer.Address())
		return len(snapshotOf(t, n).Orders()) == 0 && c.Reserved == 0 && c.Free() == was.Free()-market.OneUSDC
	}, 45*time.Second, 200*time.Millisecond)

	ok(t, n, guardian, "market", "pause", "none")
	ok(t, n, customer, deploy("1.60", "A100", "--run-to-completion")...)
	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}

// A market whose accounts this client does not know is left alone.
func TestMarketOfAnotherVersion(t *testing.T) {
	t.Parallel()
	if kind(t) != engine.Surfnet {
		t.Skip("SKIPPED: only surfnet can rewrite an account")
	}
	n, customer := newMarket(t)
	account, err := n.Chain.Account(t.Context(), market.MarketAddress(), chain.Confirmed)
	require.NoError(t, err)
	account.Data = append(account.Data, make([]byte, 64)...) // a later layout is longer
	account.Data[0] ^= 0xff                                  // and another type
	setAccount(t, n.Chain, account)
	for _, args := range [][]string{{"credits", "add", "1"}, {"search"}, deploy("1.60", "A100")} {
		out, err := n.Gantry(t.Context(), customer, args...)
		require.NoError(t, err)
		require.Equal(t, networkTrouble, out.Code, out.Stderr)
		require.Contains(t, out.Stderr, "update gantry")
	}
}

// setAccount rewrites an account's data with the engine's own method.
func setAccount(t *testing.T, client *chain.Client, a chain.Account) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out any
	require.NoError(t, client.Raw(ctx, &out, "surfnet_setAccount", a.Key, map[string]any{
		"lamports": uint64(a.Lamports) + uint64(chain.SOL), "owner": a.Owner.String(), "data": hex.EncodeToString(a.Data),
	}))
}

// awaitClass waits until all machines are measured to be of their class. Where models have thresholds, no order reaches them
// before.
func awaitClass(t *testing.T, n *network.Network) {
	t.Helper()
	require.Eventually(t, func() bool {
		v := snapshotOf(t, n)
		return !slices.ContainsFunc(n.Nodes, func(m *network.Machine) bool {
			node, ok := v.Node(m.Address)
			return !ok || node.ClassSince == 0
		})
	}, 3*time.Minute, 500*time.Millisecond)
}

// snapshotOf reads the market as clients do.
func snapshotOf(t *testing.T, n *network.Network) *view.View {
	t.Helper()
	v := view.New(view.Options{})
	require.NoError(t, view.Snapshot(t.Context(), n.Chain, v, chain.Confirmed, watch.Scope{}))
	return v
}
