//go:build e2e

package scenario

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// unjust is the client's exit code for a replay that proves a violation.
const unjust = 6

// bidders are machines of one model, each with a provider of its own, the cheapest first.
func bidders(prices ...market.PricePerHour) []network.NodeSpec {
	var out []network.NodeSpec
	for i, p := range prices {
		out = append(out, network.NodeSpec{Name: "node-" + strconv.Itoa(i+1), Provider: i, GPU: "A100", Region: "us-west-2", Price: p})
	}
	return out
}

func sealedMarket(t *testing.T, cfg network.Config) (*network.Network, seed.Wallet) {
	t.Helper()
	cfg.Engine, cfg.Dir, cfg.Keepers, cfg.Customers, cfg.Log = kind(t), stateDir(t), 3, 1, warnings(t)
	n, err := network.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	customer := n.Keys.Customers[0]
	ok(t, n, customer, "credits", "add", "50")
	return n, customer
}

// deployed is what deploy prints.
type deployed struct {
	Order  string
	Leases []struct {
		Address, Node string
		Price         string `json:"pricePerGpuHour"`
	}
}

// sealedOrder places a sealed order and waits until it runs. Jobs end at once, so that machines are free again.
func sealedOrder(t *testing.T, n *network.Network, customer seed.Wallet, more ...string) (d deployed) {
	t.Helper()
	args := append([]string{
		"deploy", "--sealed", "--auction-secs", "5", "--reveal-secs", "6", "--gpu", "A100", "--max-price", "2", "--duration", "5m",
		"--allow-simulated", "--run-to-completion",
	}, more...)
	out := ok(t, n, customer, append(args, "--", "true")...)
	require.NoError(t, out.Decode(&d))
	return d
}

// replayed is what auction replay prints.
type replayed struct {
	OK         bool
	Keeper     string
	Bids       []struct{ Node, Price, Outcome string }
	Violations []struct{ Who, What string }
	Doubts     []string
}

func replay(t *testing.T, n *network.Network, customer seed.Wallet, code int, args ...string) (r replayed) {
	t.Helper()
	out, err := n.Gantry(t.Context(), customer, append([]string{"auction", "replay"}, args...)...)
	require.NoError(t, err)
	require.Equal(t, code, out.Code, "%s%s", out.Stdout, out.Stderr)
	require.NoError(t, out.Decode(&r))
	return r
}

// evidence is a machine's record of its last bid, once it is decided.
func evidence(t *testing.T, n *network.Network, name, order string) (e sealedbid.BidHistory, path string) {
	t.Helper()
	m, err := n.Machine(name)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name+".json")
	require.Eventually(t, func() bool {
		out, err := n.Bids(t.Context(), m)
		if err != nil || out.Code != 0 {
			return false
		}
		var all []sealedbid.BidHistory
		if out.Decode(&all) != nil {
			return false
		}
		for _, x := range all {
			if x.Order == order && x.Over {
				e = x
				return os.WriteFile(path, []byte(out.Stdout), 0o600) == nil
			}
		}
		return false
	}, 60*time.Second, 200*time.Millisecond, "what became of the bid of %s", name)
	return e, path
}

// Sealed orders from bid to replay: the lowest bid wins and is paid the second price, losers learn why, a keeper that
// is killed in the middle changes nothing, and everything can be replayed when all accounts are closed.
func TestSealedOrders(t *testing.T) {
	t.Parallel()
	n, customer := sealedMarket(t, network.Config{Nodes: bidders(1_200_000, 1_300_000, 1_400_000)})

	d := sealedOrder(t, n, customer)
	require.Len(t, d.Leases, 1)
	require.Equal(t, n.Nodes[0].Address.String(), d.Leases[0].Node)
	price, err := market.ParsePrice(d.Leases[0].Price)
	require.NoError(t, err)
	require.InDelta(t, 1_300_000, float64(price), 30_000, "the second price; reputations may differ a little")
	won, _ := evidence(t, n, "node-1", d.Order)
	require.Equal(t, "won", won.Outcome.Reason)
	lost, _ := evidence(t, n, "node-3", d.Order)
	require.Equal(t, "outbid", lost.Outcome.Reason)
	require.InDelta(t, 1_200_000, float64(lost.Outcome.Price), 30_000, "what would have won")

	// Two machines, and a keeper that is killed while bids come in.
	killed := make(chan error, 1)
	go func() {
		time.Sleep(3 * time.Second)
		killed <- n.Kill("keeper-1")
	}()
	two := sealedOrder(t, n, customer, "--nodes", "2")
	require.NoError(t, <-killed)
	require.Len(t, two.Leases, 2)
	for _, l := range two.Leases {
		require.NotEqual(t, n.Nodes[2].Address.String(), l.Node)
		price, err := market.ParsePrice(l.Price)
		require.NoError(t, err)
		require.InDelta(t, 1_400_000, float64(price), 40_000, "both are paid by the best bid that lost")
	}

	file := filepath.Join(t.TempDir(), "bids")
	for _, order := range []string{d.Order, two.Order} {
		r := replay(t, n, customer, 0, order, "--save", file)
		require.True(t, r.OK)
		require.Len(t, r.Bids, 3)
		require.Empty(t, r.Violations)
	}
	// Until the accounts are gone.
	require.Eventually(t, func() bool {
		out, err := n.Gantry(t.Context(), customer, "auction", "show", two.Order)
		return err == nil && out.Code == refusedByMarket
	}, 90*time.Second, 500*time.Millisecond, "the auction is closed")
	require.True(t, replay(t, n, customer, 0, two.Order).OK)
	require.True(t, replay(t, n, customer, 0, two.Order, "--bids", file).OK, "from the file alone")
	out := ok(t, n, customer, "audit", d.Leases[0].Address)
	require.Contains(t, out.Stdout, "gantry auction replay "+d.Order)
}

// All keepers conspire against a machine: they acknowledge its bid and leave it out. What they publish looks just; the
// machine's own record shows what they did, and costs the keeper that awarded a fifth of its bond.
func TestOmittedBid(t *testing.T) {
	t.Parallel()
	params := seed.Params()
	params.ChallengeSecs, params.KeeperExitSecs = 60, 60
	params.PeriodSecs = 3600 // no report changes a machine's record
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	n, customer := sealedMarket(t, network.Config{Nodes: bidders(1_200_000, 1_300_000, 1_400_000), OmitBidsOf: "node-1", Params: &params})
	// The machine must have been as it is for longer than keepers may need to learn of it.
	require.NoError(t, pause(t.Context(), (market.AwardViewSecs+3)*time.Second))
	d := sealedOrder(t, n, customer)
	require.Equal(t, n.Nodes[1].Address.String(), d.Leases[0].Node, "the cheapest was passed over")
	require.True(t, replay(t, n, customer, 0, d.Order).OK, "nobody who was not there can see it")
	m := n.Nodes[0]
	var path string
	require.Eventually(t, func() bool {
		out, err := n.Bids(t.Context(), m)
		if err != nil || out.Code != 0 {
			return false
		}
		path = filepath.Join(t.TempDir(), "bids.json")
		return os.WriteFile(path, []byte(out.Stdout), 0o600) == nil
	}, time.Minute, 200*time.Millisecond)
	r := replay(t, n, customer, unjust, d.Order, "--acks", path)
	require.False(t, r.OK)
	require.Len(t, r.Violations, 1)
	require.Equal(t, "keeper "+r.Keeper, r.Violations[0].Who)
	require.Contains(t, r.Violations[0].What, "left out the bid of node "+m.Address.String())

	bond := func() uint64 {
		for _, k := range n.Keys.Keepers {
			if k.Address().String() == r.Keeper {
				account, found := snapshotOf(t, n).KeeperOf(k.Address())
				require.True(t, found)
				return account.Bond
			}
		}
		return 0
	}
	require.EqualValues(t, seed.Bond, bond())
	out, err := n.Gantry(t.Context(), m.Owner, "auction", "replay", d.Order, "--acks", path, "--prove")
	require.NoError(t, err)
	require.Equal(t, unjust, out.Code, "%s%s", out.Stdout, out.Stderr)
	require.Contains(t, out.Stdout, "prove_omitted_bid")
	require.EqualValues(t, seed.Bond*8/10, bond(), "proven on chain")
	out, err = n.Gantry(t.Context(), m.Owner, "auction", "replay", d.Order, "--acks", path, "--prove")
	require.NoError(t, err)
	require.Equal(t, refusedByMarket, out.Code, "one proof for an award")
}
