package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/repository"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Each of randomCustomers makes randomPurchases.
const randomCustomers, randomPurchases = 4, 5

// charge is a purchase of TestShownMoneyIsChargedMoney: what was shown of it, and what the credits lost.
type charge struct {
	lease                   market.Lease
	node                    solana.PrivateKey
	running, ended, settled service.Lease // what commands show
	reserved                market.USDC   // of the credits, before it ended
	charged                 market.USDC
}

// Twenty purchases with random prices, GPUs and times, some of them extended, some settled in parts, some of which the machine
// claims less than it could. What commands and the page show of each is what the credits lose, to the last unit. Four customers have
// a market each.
func TestShownMoneyIsChargedMoney(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for customer := range randomCustomers {
		t.Run(fmt.Sprint(customer), func(t *testing.T) {
			t.Parallel()
			purchasesAreChargedAsShown(t, rand.New(rand.NewPCG(seed, uint64(customer)))) //nolint:gosec // of a test
		})
	}
}

func purchasesAreChargedAsShown(t *testing.T, random *rand.Rand) {
	w := testmarket.New(t, testmarket.Options{Limit: 8 * time.Minute})
	params := testmarket.FastParams()
	params.StartDeadlineSecs = 20
	w.InitMarket(params)
	const deposit = 100_000 * market.OneUSDC
	keeper, provider, customer := w.Keeper(), w.Provider(20_000*market.OneGNT), w.Customer(deposit, deposit)
	me := newShell(t, w, customer)
	credits := func() (c market.Credits) {
		c, ok := w.View.CreditsOf(customer.PublicKey())
		require.True(t, ok)
		return c
	}
	shown := func() map[string]service.Lease {
		t.Helper()
		var all []service.Lease
		me.ok(&all, "leases")
		out := map[string]service.Lease{}
		for _, one := range all {
			out[one.Address] = one
		}
		require.Len(t, out, randomPurchases)
		return out
	}

	all := make([]charge, randomPurchases)
	var key solana.PrivateKey
	var node market.Node
	for i := range all {
		price := market.PricePerHour(100_000 + random.Uint64N(9_000_000))
		if i%2 == 0 { // two share a machine
			key, node = w.Node(provider, testmarket.A100, 8, price)
		}
		before := market.USDC(credits().Reserved)
		o := w.Order(customer, ix.OrderCreateArgs{
			Nonce: uint64(i + 1), MaxPrice: market.PricePerHour(node.Price) + market.PricePerHour(random.Uint64N(500_000)), Duration: 60 + random.Uint32N(86_400),
			Nodes: 1, GPUsPerNode: uint8(1 + random.UintN(4)), Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
		})
		l := w.Award(keeper, o, node)
		instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: l})
		w.Do("lease_start", []solana.PrivateKey{key}, instruction, err)
		l = w.Lease(l.Address, func(l market.Lease) bool { return l.StartedAt > 0 })
		if i%3 == 0 {
			me.ok(nil, "extend", l.Address.String(), "--seconds", fmt.Sprint(1+random.UintN(10_000)))
			until := l.FundedUntil
			l = w.Lease(l.Address, func(l market.Lease) bool { return l.FundedUntil > until })
		}
		w.Wait("the credits", func(v *view.View) bool {
			c, _ := v.CreditsOf(customer.PublicKey())
			return market.USDC(c.Reserved) == before+market.USDC(l.Lease.Reserved)
		})
		all[i] = charge{lease: l, node: key, reserved: market.USDC(l.Lease.Reserved)}
	}

	running := shown()
	for i := range all {
		b := &all[i]
		b.running = running[b.lease.Address.String()]
		before := market.USDC(credits().Balance)
		me.ok(&b.ended, "stop", b.lease.Address.String())
		l := w.Lease(b.lease.Address, func(l market.Lease) bool { return l.EndedAt > 0 })
		claims := []uint32{b.ended.Used}
		switch {
		case i%4 == 1: // in parts
			claims = []uint32{b.ended.Used / 3, b.ended.Used}
		case i%4 == 2: // less than it could
			claims = []uint32{1 + random.Uint32N(b.ended.Used)}
		}
		for n, seconds := range claims {
			receipt := market.LeaseReceipt(l, uint64(n+1), uint64(seconds))
			byNode, err := receipt.Sign(b.node)
			require.NoError(t, err)
			byCustomer, err := receipt.Sign(customer)
			require.NoError(t, err)
			ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{Lease: l, Payout: payoutOf(t, w, l), Receipt: receipt, NodeSignature: byNode, CustomerSignature: byCustomer})
			require.NoError(t, err)
			_, err = w.Try("lease_settle_receipt", []solana.PrivateKey{b.node}, ixs...)
			require.NoError(t, err)
			l = w.Lease(l.Address, func(l market.Lease) bool { return l.PaidSecs == seconds })
		}
		w.Wait("the credits", func(v *view.View) bool {
			c, _ := v.CreditsOf(customer.PublicKey())
			b.charged = before - market.USDC(c.Balance)
			return b.charged == l.ProviderTotal() // the fee leaves with the lease
		})
		b.lease = l
	}
	settled := shown()
	for i := range all {
		all[i].settled = settled[all[i].lease.Address.String()]
		before := credits()
		me.closes(w, all[i].lease.Address)
		w.Wait("the lease to be closed", func(v *view.View) bool {
			c, _ := v.CreditsOf(customer.PublicKey())
			return c.LiveLeases < before.LiveLeases
		})
		all[i].charged += market.USDC(before.Balance - credits().Balance)
	}

	var sum market.USDC
	for i := range all {
		b := &all[i]
		sum += b.charged
		require.Positive(t, b.charged, i)
		require.Equal(t, b.charged.Exact(), b.settled.Paid, "purchase %d: what is shown as paid", i)
		if i%4 != 2 { // the machine claims all that it served
			require.Equal(t, b.charged.Exact(), b.ended.Cost, "purchase %d: what was shown at its end", i)
		}
		var a service.Audit
		me.ok(&a, "audit", b.lease.Address.String())
		require.True(t, a.OK)
		require.Equal(t, b.charged.Exact(), a.Paid, "purchase %d: the audit", i)
		require.Equal(t, (b.reserved - b.charged).Exact(), a.Refunded, "purchase %d: what the audit says came back", i)
	}
	var c struct{ Balance, Reserved string }
	me.ok(&c, "credits", "show")
	require.Equal(t, (deposit - sum).String(), c.Balance)
	require.Equal(t, "0.00", c.Reserved)
	t.Run("page", func(t *testing.T) { checkThePagesMoney(t, all) })
}

// checkThePagesMoney compares what the page's own functions write of the leases.
func checkThePagesMoney(t *testing.T, all []charge) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: what the page shows needs node")
	}
	type parts struct{ Used, Paid, Served, Back, Whole string }
	page := func(of func(charge) service.Lease) (out []parts) {
		leases := make([]service.Lease, len(all))
		for i, b := range all {
			leases[i] = of(b)
		}
		raw, err := json.Marshal(leases)
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), node, filepath.Join(repository.Root(t), "web/testdata/money.mjs"))
		cmd.Stdin = bytes.NewReader(raw)
		written, err := cmd.Output()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &out))
		require.Len(t, out, len(all))
		return out
	}
	running := page(func(b charge) service.Lease { return b.running })
	ended := page(func(b charge) service.Lease { return b.ended })
	settled := page(func(b charge) service.Lease { return b.settled })
	for i, b := range all {
		used, err := market.ParseUSDC(b.running.Cost)
		require.NoError(t, err)
		require.Equal(t, parts{dollars(used), dollars(0), dollars(used), dollars(b.reserved - used), dollars(b.reserved)}, running[i], i)
		require.Equal(t, dollars(b.charged), settled[i].Paid, i)
		if i%4 != 2 { // what is not used has come back with the end
			require.Equal(t, parts{dollars(b.charged), dollars(0), dollars(b.charged), dollars(0), dollars(b.charged)}, ended[i], i)
			require.Equal(t, parts{dollars(b.charged), dollars(b.charged), dollars(0), dollars(0), dollars(b.charged)}, settled[i], i)
		}
	}
}

// dollars writes an amount as the page does.
func dollars(u market.USDC) string {
	whole, rest := u.String(), ""
	for i, c := range whole {
		if c == '.' {
			whole, rest = whole[:i], whole[i:]
			break
		}
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return "$" + whole + rest
}
