package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testbundle"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// step is a command line of somebody.
type step struct {
	by   shell
	args []string
}

// says is a step.
func (s shell) says(args ...string) step { return step{s, args} }

// runs runs command lines one after the other; each succeeds.
func runs(t *testing.T, all ...step) {
	t.Helper()
	for _, s := range all {
		r := s.by.run(context.Background(), s.args...)
		require.Equal(t, cli.ExitDone, r.code, "%v: %s", s.args, r.err)
	}
}

// Commands that need no market.
func TestScreensWithoutAMarket(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(at(name), []byte(text), 0o600)) }
	write("passphrase", "correct horse battery\n")
	t.Setenv(chain.PassphraseVariable, at("passphrase"))
	me := shell{t: t}
	policy := me.run(context.Background(), "evidence", "policy")
	require.Equal(t, cli.ExitDone, policy.code, policy.err)
	write("policy.json", policy.out)
	write("bundle", evidenceOf(t))
	runs(
		t,
		me.says("key", "new", at("a.json")), me.says("key", "address", at("a.json")), me.says("key", "encrypt", at("a.json"), at("a.age")), me.says("key", "decrypt", at("a.age"), at("b.json")),
		me.says("context", "set", "dev", "--rpc-url", "devnet", "--keypair", at("a.json"), "--server", "http://127.0.0.1:8484"), me.says("context", "set", "local", "--rpc-url", "localhost"),
		me.says("context", "use", "dev"), me.says("context", "list"), me.says("context", "show"), me.says("context", "delete", "local"),
		me.says("templates"), me.says("templates", "show", "vllm"), me.says("models", "--does", "speech"), me.says("models", "show", "llama-3.1-8b"), me.says("market", "classes"), me.says("evidence", "policy", "--check", at("policy.json")),
		me.says("evidence", "verify", at("bundle")),
	)
	me.fails(cli.ExitRefused, "the evidence is worth nothing any more: it was until 20", "evidence", "verify", at("bundle"), "--ear", at("a.json"))
	for _, args := range [][]string{{"completion", "tcsh"}, {"mcp"}, {"evidence", "verify", at("bundle"), "--ear", at("policy.json")}} {
		require.Equal(t, cli.ExitUsage, me.run(context.Background(), args...).code, args)
	}
	raw, err := os.ReadFile(at("b.json"))
	require.NoError(t, err)
	args := []string{"key", "import", at("c.json")}
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitDone, cli.Run(t.Context(), cli.Streams{In: bytes.NewReader(raw), Out: &out, Err: &errs, Results: resultsOf(t).of(args)}, args), errs.String())
}

// evidenceOf is the bundle of an honest machine of tier 1.
func evidenceOf(t *testing.T) string {
	raw, err := testbundle.Honest(t).Encode()
	require.NoError(t, err)
	return string(raw)
}

// A customer, an owner of a machine, a keeper and a team look at a market with a lease.
func TestScreensOfAMarket(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	me, s, customer := stall(t, w)
	s.stays = true
	defer serving(t, s, customer)()
	keeper, owner, admin := newShell(t, w, s.m.keeper), newShell(t, w, s.m.provider), newShell(t, w, w.Authority)
	key := filepath.Join(t.TempDir(), "robot.json")
	require.NoError(t, chain.SaveKeypair(key, testmarket.Key(t)))
	runs(
		t,
		owner.says("node", "update", s.node.String(), "--price", "0.36"), owner.says("node", "list"), owner.says("node", "show", s.node.String()), owner.says("provider", "show"),
		owner.says("provider", "payout", s.m.payout.String()), owner.says("payouts", "list"),
		keeper.says("keeper", "list"), keeper.says("keeper", "show"), keeper.says("rewards", "show"), admin.says("market", "show"), admin.says("market", "program"),
		me.says("search"), me.says("gpus"), me.says("credits", "show"), me.says("credits", "add", "5"), me.says("credits", "withdraw", "5"), me.says("leases"), me.says("resume"),
		me.says("session", "list"), me.says("session", "add", key, "--cap", "25"), me.says("session", "list"),
		me.says("team", "budget", "add", "research", "--session", key), me.says("team", "member", "set", "rita", "--role", "deployer", "--budget", "research", "--session", key),
		me.says("team", "token", "add", "rita", "notebook", "--role", "viewer", "--session", key), me.says("team", "show", "--session", key), me.says("team", "log", "--session", key),
		me.says("team", "token", "revoke", "notebook", "--session", key), me.says("team", "member", "remove", "rita", "--session", key), me.says("session", "remove", key),
	)
	sealed := sealedOrder(t, w)
	runs(t, me.says("auction", "show", sealed), me.says("auction", "replay", sealed))
	var out struct{ Leases []struct{ Address string } }
	me.ok(&out, "deploy", "--gpu", "A100", "--hours", "1", "--max-price", "4", "--detach", "--allow-simulated", "--", "true")
	lease := out.Leases[0].Address
	l := w.Lease(solana.MustPublicKeyFromBase58(lease), func(l market.Lease) bool { return l.StartedAt > 0 })
	w.Until(l.StartedAt + 3) // it has cost something, and less than a cent
	runs(
		t,
		me.says("leases"), me.says("why", lease), me.says("top", lease, "--once"), me.says("ssh-config", lease), me.says("extend", lease, "--minutes", "10"),
		me.says("audit", lease), me.says("stop", lease),
	)
	w.Lease(l.Address, func(l market.Lease) bool { return l.EndedAt > 0 })
	for _, args := range [][]string{
		{"exec", lease, "--", "true"}, {"ssh", lease}, {"cp", lease + ":/results", "."}, {"port", lease, "8080"}, {"suspend", lease}, {"verify", lease}, {"attest", lease}, {"vpn", lease},
	} {
		require.NotEqual(t, cli.ExitDone, me.run(t.Context(), args...).code, "%v", args)
	}
	runs(t, me.says("rate", lease, "5"))
	me.closes(w, l.Address)
}

// sealedOrder is an order whose auction has begun.
func sealedOrder(t *testing.T, w *testmarket.Testbed) string {
	t.Helper()
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	a := ix.OrderCreateArgs{
		Customer: customer.PublicKey(), Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1, Sealed: true,
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	}
	order, err := ix.OrderCreate(a)
	require.NoError(t, err)
	at := market.OrderAddress(a.Customer, a.Nonce)
	auction, err := ix.AuctionOpen(ix.AuctionOpenArgs{Customer: a.Customer, Order: at, Auction: 60, Reveal: 60})
	require.NoError(t, err)
	_, err = w.Try("order_create", []solana.PrivateKey{customer}, order, auction)
	require.NoError(t, err)
	return at.String()
}

// A dispute becomes a fault. It is applied, compensates the customer, and closes.
func TestScreensOfAFault(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AppealSecs, params.ReportRetentionSecs, params.StartDeadlineSecs = 8, 8, 20
	key, customer, lease := started(w, params)
	me, keeper := newShell(t, w, customer), newShell(t, w, key)
	file := filepath.Join(t.TempDir(), "complaint.txt")
	require.NoError(t, os.WriteFile(file, []byte("nothing runs there"), 0o600))
	at := lease.Address.String()
	runs(t, me.says("dispute", "open", at, "--kind", "not-delivered", "--complaint", file), keeper.says("keeper", "vote-dispute", at, "--uphold"))
	w.Wait("the vote", func(v *view.View) bool { x, ok := v.DisputeOf(lease.Address); return ok && x.UpheldWeight > 0 })
	x, _ := w.View.DisputeOf(lease.Address)
	lease, _ = w.View.Lease(lease.Address)
	instruction, err := ix.DisputeUphold(ix.DisputeUpholdArgs{Payer: key.PublicKey(), Dispute: x, Lease: lease, Model: testmarket.A100})
	w.Do("dispute_uphold", []solana.PrivateKey{key}, instruction, err)
	var faults []struct {
		Address                   string
		ApplicableAt, ClaimsUntil int64
	}
	me.ok(&faults, "fault", "list")
	fault := faults[0].Address
	w.Until(faults[0].ApplicableAt + 1)
	runs(t, keeper.says("fault", "apply", fault), keeper.says("fault", "compensate", fault, at), keeper.says("audit", "slash", fault))
	me.ok(&faults, "fault", "list")
	var payouts []struct {
		Beneficiary string
		PayableAt   int64
	}
	me.ok(&payouts, "payouts", "list")
	w.Until(max(faults[0].ClaimsUntil, payouts[0].PayableAt) + 1)
	runs(t, keeper.says("fault", "close", fault), keeper.says("payouts", "claim", "--wallet", payouts[0].Beneficiary))
}
