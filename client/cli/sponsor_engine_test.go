package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// A wallet with USDC and without a lamport deposits, withdraws and closes its credits: a server pays, which has a limit.
func TestSponsor(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	payer := testmarket.Key(t)
	w.Fund(payer.PublicKey())
	file := filepath.Join(t.TempDir(), "sponsor.json")
	require.NoError(t, chain.SaveKeypair(file, payer))
	owner := w.Customer(20*market.OneUSDC, 10*market.OneUSDC)
	server, session := sessionShell(t, w, owner, "5")
	for flag, says := range map[string]string{"--sponsor-day=0": "give SOL such as 0.02", "--sponsor-total=0.01": "give SOL such as 0.02", "--sponsor-day=much": "give SOL such as 0.02"} {
		require.Contains(t, server.fails(cli.ExitUsage, "--sponsor-day is", "serve", "--sponsor-key", file, flag).err, says)
	}
	same := filepath.Join(t.TempDir(), "same.json")
	require.NoError(t, chain.SaveKeypair(same, session))
	server.fails(cli.ExitUsage, "is the server's session key", "serve", "--sponsor-key", same)
	v := server.serve("--sponsor-key", file, "--sponsor-day", "0.005")

	poor := testmarket.Key(t)
	w.Give(poor.PublicKey(), w.PaymentMint, uint64(5*market.OneUSDC))
	has := func() chain.Lamports {
		n, err := w.Client.Balance(t.Context(), poor.PublicKey(), chain.Confirmed)
		require.NoError(t, err)
		return n
	}
	require.Zero(t, has())
	me := newShell(t, w, poor)
	refused := func(code int, says []string, args ...string) {
		t.Helper()
		r := me.run(t.Context(), args...)
		require.Equal(t, code, r.code, "%v: %s%s", args, r.out, r.err)
		for _, part := range says {
			require.Contains(t, r.err, part, "%v", args)
		}
	}
	refused(cli.ExitRefused, []string{"not enough SOL"}, "credits", "add", "1")
	t.Setenv("GANTRY_SPONSOR", v.url+"/sponsor")
	refused(cli.ExitRefused, []string{"rule token", "GANTRY_SPONSOR_TOKEN"}, "credits", "add", "1")
	t.Setenv("GANTRY_SPONSOR_TOKEN", v.token)
	require.Contains(t, me.run(t.Context(), "--dry-run", "credits", "add", "1").out, "would succeed")
	me.ok(nil, "credits", "add", "3")
	require.Zero(t, has(), "exactly the rent")
	me.ok(nil, "credits", "withdraw", "1")
	refused(cli.ExitRefused, []string{"rule transfer", "leave --sponsor out"}, "session", "add", testmarket.Key(t).PublicKey().String(), "--cap", "1", "--fund", "0.001")
	me.ok(nil, "credits", "close")
	home := has()
	require.Positive(t, home)
	me.ok(nil, "credits", "add", "1") // with the rent that came home
	require.Zero(t, has())
	t.Logf("the rent of the first deposit is %s", home)

	other := testmarket.Key(t)
	w.Give(other.PublicKey(), w.PaymentMint, uint64(5*market.OneUSDC))
	you := newShell(t, w, other)
	you.ok(nil, "credits", "add", "1") // an owner's token: each wallet has its own limit
	you.ok(nil, "credits", "close")
	t.Setenv("GANTRY_SPONSOR", "http://127.0.0.1:9")
	refused(cli.ExitNetwork, []string{"the sponsor does not answer", "SOL of your own"}, "credits", "withdraw", "1")
	t.Setenv("GANTRY_SPONSOR", strings.TrimPrefix(v.url, "http://"))
	refused(cli.ExitUsage, []string{"is not a URL"}, "credits", "withdraw", "1")
}
