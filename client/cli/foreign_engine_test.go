package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// obeyed lists what a terminal would obey, or show as something else.
func obeyed(s string) (out []string) {
	for i, r := range s {
		if !unicode.IsPrint(r) && r != '\n' {
			out = append(out, strings.ReplaceAll(string([]rune{r})+" before "+strings.Split(s[i:], "\n")[0], "\x1b", "ESC"))
		}
	}
	return out
}

// Names on chain and the answers of a machine reach neither the terminal nor a log with anything that a terminal obeys,
// and begin no line of their own.
func TestForeignTextReachesNoTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;own\a\n✓ pd\u202e"
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 20, 20
	w.InitMarket(params)
	keeper, provider, key := w.Keeper(), w.Provider(200*market.OneGNT), testmarket.Key(t)
	w.Fund(key.PublicKey())
	instruction, err := ix.NodeRegister(ix.NodeRegisterArgs{
		Wallet: provider.PublicKey(), NodeKey: key.PublicKey(), Price: 3_600_000, Devices: [][32]byte{testmarket.DeviceID("one")},
		Spec: market.NodeSpec{
			Region: market.Text16(evil), VramMib: 40_960, CpuCores: 8, RamMib: 65_536, DiskGib: 500,
			UpMbps: 1_000, DownMbps: 1_000, Model: testmarket.A100, Gpus: 1, Simulated: 1,
		},
	})
	w.Do("node_register", []solana.PrivateKey{provider, key}, instruction, err)
	address := market.NodeAddress(market.ProviderAddress(provider.PublicKey()), key.PublicKey())
	w.Wait("node registered", func(v *view.View) bool { _, ok := v.Node(address); return ok })
	node, _ := w.View.Node(address)
	require.Contains(t, string(node.Spec.Region[:]), "\x1b]0;own\a\n", "the program takes it")

	m := &machine{w: w, keeper: keeper, key: key, output: "\x1b[1mepoch\x1b[0m 1 \x1b]52;c;cm0=\a\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}}
	m.provider, m.payout = provider, market.TokenAddress(provider.PublicKey(), w.PaymentMint)
	close(m.hold)
	m.serve(t)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	me := newShell(t, w, customer)
	for _, args := range [][]string{{"node", "show", address.String()}, {"search", "simulated"}, {"--verbose", "search", "simulated"}} {
		r := me.run(context.Background(), args...)
		require.Equal(t, cli.ExitDone, r.code, r.err)
		require.Empty(t, obeyed(r.out+r.err), "%v:\n%s", args, r.out)
		require.Contains(t, r.out, "]0;own", "%v", args)
		require.NotContains(t, r.out, "\n✓ pd", "%v", args)
	}
	var nodes []struct{ Region string }
	me.ok(&nodes, "search", "simulated")
	require.Len(t, nodes, 1)
	require.Empty(t, obeyed(nodes[0].Region), "names are safe in a document, too")

	// The output of a job is the customer's own, byte by byte, for a file; somebody's screen gets its colours only.
	o := w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	})
	lease := w.Award(keeper, o, node)
	r := me.run(context.Background(), "logs", lease.Address.String())
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Equal(t, m.output, r.out)
	screen := func(args ...string) result {
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), cli.Streams{Out: &out, Err: &errs, Screen: true}, append(append([]string{}, me.args...), args...))
		return result{code, out.String(), errs.String()}
	}
	r = screen("logs", lease.Address.String())
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Equal(t, "\x1b[1mepoch\x1b[0m 1 \\u001b]52;c;cm0=\\u0007\n", r.out)
	r = screen("logs", "--raw", lease.Address.String())
	require.Equal(t, m.output, r.out)
	var doc struct{ Output string }
	r = screen("--json", "logs", lease.Address.String())
	require.NoError(t, json.Unmarshal([]byte(r.out), &doc))
	require.Equal(t, m.output, doc.Output)

	// The same machine refuses, with its own words.
	refusing, err := p2p.New(p2p.Options{Key: key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = refusing.Close() })
	proto := p2p.Protocol{ID: messages.ReceiptOffer}
	p2p.Handle(refusing, proto, func(context.Context, solana.PublicKey, messages.LeaseRequest) (messages.Receipt, error) {
		return messages.Receipt{}, p2p.Refuse(p2p.CodeRefused, "%s", evil)
	})
	_, err = p2p.Call[messages.LeaseRequest, messages.Receipt](t.Context(), connected(t, refusing), key.PublicKey(), proto, messages.LeaseRequest{})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)
	require.Empty(t, obeyed(err.Error()))
	require.NotContains(t, err.Error(), "\n")
}

// connected is another's connection to a peer.
func connected(t *testing.T, to *p2p.Node) *p2p.Node {
	n, err := p2p.New(p2p.Options{Key: testmarket.Key(t), Client: true, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Close() })
	require.NoError(t, n.Connect(t.Context(), to.Self()))
	return n
}
