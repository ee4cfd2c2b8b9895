package award

import (
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

const now = 1_000_000

// unknown is for orders that are not drawn.
func unknown(*market.Order) (market.DrawSeed, bool) { return market.DrawSeed{}, false }

// addNode puts an awardable node into the view.
func addNode(v *view.Accounts, n byte, price uint64, change func(*market.Node)) solana.PublicKey {
	key := solana.PublicKey{n}
	provider := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{100, n}}}
	provider.Stake, provider.LockedStake = 100, 100
	v.Put(provider.Address, provider)
	node := &market.Node{Meta: market.Meta{Address: key}}
	node.Provider, node.Price = provider.Address, price
	node.Node.Status, node.Spec.Model, node.Spec.Gpus, node.Spec.VramMib = uint8(market.NodeActive), 1, 4, 40960
	node.UptimeBps, node.RegisteredAt, node.Tier = 10_000, now-1000, 1
	if change != nil {
		change(node)
	}
	v.Put(key, node)
	return key
}

func newView(change func(*market.Order)) (*view.Accounts, solana.PublicKey) {
	v := view.NewAccounts()
	v.Put(market.MarketAddress(), &market.Market{})
	m := &market.Model{}
	m.Id, m.TflopsX10 = 1, 3120
	v.Put(market.ModelAddress(1), m)
	o := &market.Order{Meta: market.Meta{Address: solana.PublicKey{200}}}
	o.Order.Status, o.NodesWanted, o.GpusPerNode, o.MaxPrice = uint8(market.OrderOpen), 1, 1, 1_000
	o.Requirement.Models, o.AwardDeadline = market.Models(1), now+20
	if change != nil {
		change(o)
	}
	v.Put(o.Address, o)
	return v, o.Address
}

func TestTheBestScoreWins(t *testing.T) {
	v, order := newView(nil)
	addNode(v, 1, 900, nil)
	best := addNode(v, 2, 800, nil)
	addNode(v, 3, 700, func(n *market.Node) { n.UptimeBps, n.FeesFailed = 0, 50*market.PriorFees }) // cheap and unreliable
	got, err := Choose(v, match.Of(v), order, now, unknown)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, best, got[0].Node.Address)
}

func TestWhoIsNotAwarded(t *testing.T) {
	for name, change := range map[string]func(*market.Node){
		"asleep":          func(n *market.Node) { n.Node.Status = uint8(market.NodeHibernated) },
		"draining":        func(n *market.Node) { n.Node.Status = uint8(market.NodeDraining) },
		"suspended":       func(n *market.Node) { n.Node.Status = uint8(market.NodeSuspended) },
		"too dear":        func(n *market.Node) { n.Price = 1_001 },
		"full":            func(n *market.Node) { n.GpuMask = 0b1111 },
		"simulated":       func(n *market.Node) { n.Spec.Simulated = 1 },
		"of no model":     func(n *market.Node) { n.Spec.Model = 7 },
		"of no provider":  func(n *market.Node) { n.Provider = solana.PublicKey{99} },
		"of the order":    func(n *market.Node) {},
		"without a stake": func(n *market.Node) {},
	} {
		t.Run(name, func(t *testing.T) {
			v, order := newView(nil)
			key := addNode(v, 1, 900, change)
			switch name {
			case "of the order":
				l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{150}}}
				l.Order, l.Node = order, key
				v.Put(l.Address, l)
			case "without a stake":
				n := *v.Nodes[key]
				n.RequiredStake = 1
				v.Put(n.Address, &n)
			}
			_, err := Choose(v, match.Of(v), order, now, unknown)
			require.ErrorIs(t, err, ErrNoMatch)
			addNode(v, 2, 1_000, nil)
			got, err := Choose(v, match.Of(v), order, now, unknown)
			require.NoError(t, err)
			require.Equal(t, solana.PublicKey{2}, got[0].Node.Address)
		})
	}
}

func TestOrdersThatWait(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*market.Order)
		want   error
	}{
		"awarded":      {func(o *market.Order) { o.Order.Status = uint8(market.OrderAwarded) }, ErrNotOpen},
		"sealed":       {func(o *market.Order) { o.Mode = 1 }, ErrNotOpen},
		"complete":     {func(o *market.Order) { o.NodesAwarded = 1 }, ErrNotOpen},
		"too late":     {func(o *market.Order) { o.AwardDeadline = now - 1 }, ErrTooLate},
		"wants two":    {func(o *market.Order) { o.NodesWanted = 2 }, ErrNoMatch},
		"wants region": {func(o *market.Order) { o.Requirement.Region = market.Text16("eu") }, ErrNoMatch},
	} {
		t.Run(name, func(t *testing.T) {
			v, order := newView(c.change)
			addNode(v, 1, 900, nil)
			_, err := Choose(v, match.Of(v), order, now, unknown)
			require.ErrorIs(t, err, c.want)
		})
	}
	v, order := newView(nil)
	addNode(v, 1, 900, nil)
	v.Market.Paused = market.PauseAwards
	_, err := Choose(v, match.Of(v), order, now, unknown)
	require.ErrorIs(t, err, ErrPaused)
	_, err = Choose(v, match.Of(v), solana.PublicKey{1}, now, unknown)
	require.ErrorIs(t, err, ErrNotLoaded)
}

func TestSameSite(t *testing.T) {
	at := func(site string) func(*market.Node) {
		return func(n *market.Node) { n.Spec.Site = market.Text16(site) }
	}
	v, order := newView(func(o *market.Order) { o.NodesWanted, o.Requirement.SameSite = 2, 1 })
	addNode(v, 1, 100, at("a"))
	addNode(v, 2, 900, at("a"))
	addNode(v, 3, 400, at("b"))
	addNode(v, 4, 450, at("b"))
	addNode(v, 5, 10, at(""))
	addNode(v, 6, 10, at("c"))
	got, err := Choose(v, match.Of(v), order, now, unknown)
	require.NoError(t, err)
	require.Equal(t, []solana.PublicKey{{3}, {4}}, []solana.PublicKey{got[0].Node.Address, got[1].Node.Address}, "the cheapest pair that stands together")

	v, order = newView(func(o *market.Order) {
		o.NodesWanted, o.NodesAwarded, o.Requirement.SameSite, o.Site = 2, 1, 1, market.Text16("a")
	})
	addNode(v, 1, 500, at("a"))
	addNode(v, 3, 400, at("b"))
	got, err = Choose(v, match.Of(v), order, now, unknown)
	require.NoError(t, err)
	require.Equal(t, solana.PublicKey{1}, got[0].Node.Address, "where the first one stands")
}

// Two keepers that see the same accounts choose the same nodes, in whatever order they learned of them, and nobody who
// was left out is better than one who was chosen.
func TestTheChoiceIsAFunctionOfTheAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type drawn struct {
			n      byte
			price  uint64
			uptime uint16
		}
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		nodes := make([]drawn, n)
		for i := range nodes {
			nodes[i] = drawn{byte(i + 1), rapid.Uint64Range(990, 1_002).Draw(t, "price"), rapid.SampledFrom([]uint16{0, 9_000, 10_000}).Draw(t, "uptime")}
		}
		wanted := uint8(rapid.IntRange(1, n).Draw(t, "wanted"))
		choose := func(in []drawn) ([]market.Candidate, error) {
			v, order := newView(func(o *market.Order) { o.NodesWanted = wanted })
			for _, d := range in {
				addNode(v, d.n, d.price, func(n *market.Node) { n.UptimeBps = d.uptime })
			}
			return Choose(v, match.Of(v), order, now, unknown)
		}
		a, errA := choose(nodes)
		b, errB := choose(rapid.Permutation(nodes).Draw(t, "order"))
		require.Equal(t, errA == nil, errB == nil)
		require.Equal(t, a, b)
		if errA != nil {
			return
		}
		require.Len(t, a, int(wanted))
		require.True(t, slices.IsSortedFunc(a, market.Candidate.Compare))
		for _, d := range nodes {
			left := d.price <= 1_000 && !slices.ContainsFunc(a, func(c market.Candidate) bool { return c.Node.Address == solana.PublicKey{d.n} })
			if left {
				node := &market.Node{Meta: market.Meta{Address: solana.PublicKey{d.n}}}
				node.Price, node.UptimeBps, node.RegisteredAt = d.price, d.uptime, now-1000
				c, err := market.NewCandidate(solana.PublicKey{200}, *node, now, now)
				require.NoError(t, err)
				require.Positive(t, c.Compare(a[len(a)-1]))
			}
		}
	})
}
