package cli_test

import (
	"encoding/base64"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// acted is what the stock client of Solana Actions has seen and done.
type acted struct {
	Title, Description, Message, Link, Signature string

	Buttons, Signers []string
	Instructions     []struct {
		Program  string
		Accounts []string
		Data     string
	}
}

// stockAct presses a button of an action with the stock client in Node, as a wallet with a key.
func stockAct(t *testing.T, w *testmarket.Testbed, p *tlsProxy, path string, key solana.PrivateKey, button ...string) (out acted, err error) {
	t.Helper()
	err = stock(t, w, p, "actions", key, &out, append([]string{p.URL + path}, button...)...)
	return out, err
}

// Any wallet adds credits for itself by an action of a public server, with the stock client: the transaction is the one deposit that the button says,
// signed by that wallet alone. An audit has a verdict and leads to the page; it gives nothing to sign.
func TestActions(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 600, 60
	w.InitMarket(params)
	one, other := w.Customer(50*market.OneUSDC, 0), w.Customer(50*market.OneUSDC, 20*market.OneUSDC)
	keeper := w.Keeper()
	_, node := w.Node(w.Provider(100*market.OneGNT), testmarket.A100, 1, 3_600_000)
	lease := w.Award(keeper, w.Order(other, ix.OrderCreateArgs{
		Nonce: 1, GPUsPerNode: 1, Nodes: 1, Duration: 600, MaxPrice: 4_000_000, JobDigest: [32]byte{1},
		Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	}), node).Address.String()
	proxy := newProxy(t)
	v := newShell(t, w, one).serve("--public", "--public-url", proxy.URL)
	proxy.leadTo(t, v.url)

	for _, c := range []struct {
		key    solana.PrivateKey
		button []string
		amount market.USDC
		rent   bool // of an account that the transaction opens
	}{
		{one, []string{"Add 10 USDC"}, 10 * market.OneUSDC, true},
		{other, []string{"Add USDC", "2.5"}, 2_500_000, false},
	} {
		me := c.key.PublicKey()
		before := creditsOf(t, w, me)
		out, err := stockAct(t, w, proxy, "/actions/credits", c.key, c.button...)
		require.NoError(t, err)
		require.Equal(t, "Gantry credits", out.Title)
		require.Equal(t, []string{"Add 10 USDC", "Add 50 USDC", "Add 100 USDC", "Add USDC"}, out.Buttons)
		require.Contains(t, out.Message, "Moves "+c.amount.String()+" USDC from the wallet into its credits.")
		if c.rent {
			require.Contains(t, out.Message, "Opens the credits account")
		} else {
			require.NotContains(t, out.Message, "Opens the credits account")
		}
		require.Equal(t, []string{me.String()}, out.Signers)
		require.Equal(t, before+c.amount, creditsOf(t, w, me))

		// The deposit is all that it does.
		want, err := ix.CreditsDeposit(ix.CreditsArgs{Customer: me, PaymentMint: w.PaymentMint, Amount: c.amount})
		require.NoError(t, err)
		data, err := want.Data()
		require.NoError(t, err)
		var accounts []string
		for _, a := range want.Accounts() {
			accounts = append(accounts, a.PublicKey.String())
		}
		deposits := 0
		for _, i := range out.Instructions {
			if i.Program == solana.ComputeBudget.String() { // the limit and the price of its units
				continue
			}
			deposits++
			require.Equal(t, market.ProgramID.String(), i.Program)
			require.Equal(t, accounts, i.Accounts)
			require.Equal(t, base64.StdEncoding.EncodeToString(data), i.Data)
		}
		require.Equal(t, 1, deposits)
	}
	_, err := stockAct(t, w, proxy, "/actions/credits", one, "Add 100 USDC")
	require.ErrorContains(t, err, "the wallet "+one.PublicKey().String()+" holds 40.00")
	require.Equal(t, 10*market.OneUSDC, creditsOf(t, w, one.PublicKey()))

	out, err := stockAct(t, w, proxy, "/actions/audit/"+lease, one, "Open the audit")
	require.NoError(t, err)
	require.Contains(t, out.Title, lease)
	require.Contains(t, out.Description, "Everything adds up. Rebuilt from ")
	require.Contains(t, out.Description, "The lease is not closed yet.")
	require.Equal(t, proxy.URL+"/#/audit/"+lease, out.Link)
	require.Empty(t, out.Signature)
	out, err = stockAct(t, w, proxy, "/actions/audit", one, "Audit the lease", lease)
	require.NoError(t, err)
	require.Equal(t, proxy.URL+"/#/audit/"+lease, out.Link)
	_, err = stockAct(t, w, proxy, "/actions/audit/"+node.Address.String(), one, "Open the audit")
	require.ErrorContains(t, err, "404: "+node.Address.String()+" is not and was never a lease")
}
