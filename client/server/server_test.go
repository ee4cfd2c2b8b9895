package server

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/container"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/internal/testkit/systemd"
	"github.com/gantry-market/gantry/sdk/chain"
)

// owner is the caller that changes teams in these tests.
var owner = team.Caller{Member: "ann", Token: "laptop", Role: team.Owner}

// account is one on a node that knows nothing of a market.
func account(t *testing.T) *Account {
	t.Helper()
	node := fakerpc.New(t)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	a, err := New(t.Context(), Options{
		Client: client, Service: service.New(client, zerolog.Nop()), Key: solana.NewWallet().PrivateKey, Customer: solana.NewWallet().PublicKey(),
		Root: t.TempDir(), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// budgetsOf opens an account's budgets, of which there is one named ops.
func budgetsOf(t *testing.T, a *Account) *budgets {
	t.Helper()
	own, end, err := a.extender(t.Context())
	require.NoError(t, err)
	t.Cleanup(end)
	b, err := openBudgets(t.Context(), a, own)
	require.NoError(t, err)
	t.Cleanup(b.close)
	_, err = b.team.AddBudget(owner, "ops")
	require.NoError(t, err)
	return b
}

// hold stores a purchase of an order.
func hold(t *testing.T, f *purchase.Folder, p purchase.Purchase) {
	t.Helper()
	held, err := f.Hold(p.Order)
	require.NoError(t, err)
	require.NoError(t, held.Write(p))
	require.NoError(t, held.Release())
}

// Each budget acts with its own key, for the same customer, in a folder of its own; an order is found with the budget that has
// bought it.
func TestBudgetsActWithKeysOfTheirOwn(t *testing.T) {
	a := account(t)
	b := budgetsOf(t, a)
	actor, err := b.Actor("ops")
	require.NoError(t, err)
	require.NotEqual(t, a.Key.PublicKey(), actor.Session)
	ops, err := b.of("ops")
	require.NoError(t, err)
	require.Equal(t, actor.Session, ops.Key.PublicKey())
	require.Equal(t, a.Customer, ops.Customer)
	require.NotEqual(t, a.folder.Dir(), ops.folder.Dir())
	for _, main := range []string{"", team.MainBudget} {
		x, err := b.of(main)
		require.NoError(t, err)
		require.Equal(t, a.Key.PublicKey(), x.Key.PublicKey())
	}
	again, err := b.of("ops")
	require.NoError(t, err)
	require.Same(t, ops, again, "one membership of the network a key")

	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{1}})
	hold(t, ops.folder, purchase.Purchase{Order: solana.PublicKey{2}})
	for order, want := range map[solana.PublicKey]string{{1}: team.MainBudget, {2}: "ops", {3}: ""} {
		name, err := b.Bought(order)
		require.NoError(t, err)
		require.Equal(t, want, name)
	}
	_, err = b.Actor("nobody")
	require.ErrorIs(t, err, team.ErrUnknown)
}

// A budget whose key is another than the team's, or damaged, acts for nobody; the others go on.
func TestABudgetWithAnotherKeyDoesNotAct(t *testing.T) {
	b := budgetsOf(t, account(t))
	_, err := b.team.AddBudget(owner, "research")
	require.NoError(t, err)
	other, err := os.ReadFile(b.team.KeyFile("research"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.team.KeyFile("ops"), other, 0o600))
	_, err = b.Actor("ops")
	require.ErrorContains(t, err, b.team.KeyFile("ops"))
	require.NoError(t, os.WriteFile(b.team.KeyFile("ops"), []byte("{"), 0o600))
	_, err = b.Actor("ops")
	require.ErrorContains(t, err, `"ops"`)
	all, err := b.all()
	require.Error(t, err)
	require.Len(t, all, 2, "main and research")
}

// A language model sees what it has bought, and none of the other purchases of the same key.
func TestPurchasesOfLanguageModelsAreApart(t *testing.T) {
	a := account(t)
	by, err := a.acting(t.Context(), mcpPurchases)
	require.NoError(t, err)
	m := &modelBuyer{*by}
	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{1}, Name: mcpPurchases + "run", Stage: purchase.Over})
	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{2}, Name: mcpPurchases + "bought", Stage: purchase.Over, Bought: true})
	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{3}, Name: mcpPurchases + "placed", Stage: purchase.Placed})
	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{4}, Name: httpPurchases + "run", Stage: purchase.Placed})
	hold(t, a.folder, purchase.Purchase{Order: solana.PublicKey{5}, Name: mcpPurchases})
	for order, want := range map[solana.PublicKey]bool{{1}: true, {2}: true, {3}: true, {4}: false, {5}: false, {6}: false} {
		is, err := m.Bought(order)
		require.NoError(t, err)
		require.Equal(t, want, is, order)
	}
	// An order that bought nothing may be given again; of one that is not stored nothing was sent.
	for name, want := range map[string]bool{"run": true, "bought": false, "placed": false, "unknown": true} {
		nothing, err := m.Nothing(name)
		require.NoError(t, err)
		require.Equal(t, want, nothing, name)
	}
	require.True(t, m.ours(mcpPurchases+"run"))
	require.False(t, m.ours(httpPurchases+"run"))
	web, err := a.acting(t.Context(), httpPurchases)
	require.NoError(t, err)
	require.True(t, web.ours(httpPurchases+"run"))
	require.True(t, web.ours("run"), "what a command has bought")
	require.False(t, web.ours(mcpPurchases+"run"))
}

// Of long output its end is kept, whatever the size of the pieces in which it comes.
func TestTheEndOfOutputIsKept(t *testing.T) {
	all := strings.Repeat("0123456789", 100) + "é\xff"
	for _, piece := range []int{1, 7, len(all)} {
		w := &tail{most: 16}
		for rest := all; rest != ""; {
			n := min(piece, len(rest))
			wrote, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, wrote)
			rest = rest[n:]
			require.LessOrEqual(t, len(w.kept), w.most)
		}
		text, omitted := w.text()
		require.Equal(t, all[len(all)-16:len(all)-1]+"\uFFFD", text)
		require.Equal(t, uint64(len(all)-16), omitted)
	}
}

// A server says that it serves and that it ends.
func TestAServerTellsSystemd(t *testing.T) {
	said := make(chan string, 10)
	t.Setenv("NOTIFY_SOCKET", systemd.Socket(t, func(message string) { said <- message }))
	ctx, end := context.WithCancel(t.Context())
	done, err := tellSystemd(ctx, zerolog.Nop())
	require.NoError(t, err)
	defer done()
	says := func(want string) {
		select {
		case got := <-said:
			require.Equal(t, want, got)
		case <-time.After(10 * time.Second):
			require.Fail(t, "nothing was said", want)
		}
	}
	says("READY=1")
	end()
	says("STOPPING=1")
}

// A server logs in to the containers of what it buys. A measured guest has no shell, and its order no key.
func TestAnOrderOfAGuestHasNoKeyOfTheServer(t *testing.T) {
	a := account(t)
	by, err := a.acting(t.Context(), httpPurchases)
	require.NoError(t, err)
	p := policy.Default()
	p.Roots.TPM = []string{strings.Repeat("ab", 32)}
	p.TPM.PCRs = []policy.PCR{{Index: 11, Values: []string{strings.Repeat("cd", 32)}}}
	raw, err := attestation.Document{Policy: p}.Encode()
	require.NoError(t, err)
	order := serve.OrderRequest{GPU: "A100", Seconds: 60, Image: "debian:12", Guest: true, Attest: string(raw)}
	_, err = by.Buy(t.Context(), "guest", order)
	require.Error(t, err, "there is no market")
	require.NotEqual(t, service.CodeUsage, service.Classify(err).Code, "nothing is wrong with the order: %v", err)
	own, err := a.keys.Own()
	require.NoError(t, err)
	order.SSHKeys = []string{container.Line(own.PublicKey())}
	_, err = by.Buy(t.Context(), "shell", order)
	require.Equal(t, service.CodeUsage, service.Classify(err).Code)
	require.ErrorContains(t, err, "an SSH key")
}
