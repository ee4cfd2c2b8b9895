package award

import (
	"fmt"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// drawnBy is the draw by the hash of a block.
func drawnBy(block byte) Draw {
	return func(o *market.Order) (market.DrawSeed, bool) {
		return market.NewDrawSeed(records.Domain{1}, o.Address, [32]byte{block}), true
	}
}

func redundant(o *market.Order) { o.NodesWanted, o.Redundant = 3, 1 }

func addOwned(v *view.Accounts, n byte, price uint64, provider byte) solana.PublicKey {
	owner := &market.Provider{Meta: market.Meta{Address: solana.PublicKey{100, provider}}}
	v.Put(owner.Address, owner)
	return addNode(v, n, price, func(m *market.Node) { m.Provider = owner.Address })
}

// The machines of a redundant job belong to different providers, also when one of them has the best.
func TestRedundantJobsAreSpread(t *testing.T) {
	v, order := newView(redundant)
	for n, provider := range []byte{1, 1, 1, 4, 4} {
		addOwned(v, byte(n+1), 500, provider)
	}
	_, err := Choose(v, match.Of(v), order, now, drawnBy(1))
	require.ErrorIs(t, err, ErrNoMatch, "five machines of two owners are not three")
	third := addOwned(v, 6, 900, 6)
	got, err := Choose(v, match.Of(v), order, now, drawnBy(1))
	require.NoError(t, err)
	owners := map[solana.PublicKey]bool{}
	for _, c := range got {
		owners[c.Node.Provider] = true
	}
	require.Len(t, owners, 3)

	// One is awarded already: what is left comes from others.
	o := *v.Orders[order]
	o.NodesAwarded = 1
	v.Put(order, &o)
	l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{77}}}
	l.Order, l.Lease.Node, l.Lease.Provider = order, third, v.Nodes[third].Provider
	v.Put(l.Address, l)
	got, err = Choose(v, match.Of(v), order, now, drawnBy(1))
	require.NoError(t, err)
	require.Len(t, got, 2)
	for _, c := range got {
		require.NotEqual(t, v.Nodes[third].Provider, c.Node.Provider)
	}
}

// Who asks least is no likelier to get a redundant order than who asks most: all that suit take part in the draw, each
// draw of which is another one.
func TestNodesOfRedundantOrdersAreDrawn(t *testing.T) {
	const nodes, draws = 12, 2_000
	v, order := newView(redundant)
	for n := range byte(nodes) {
		addNode(v, n+1, 500+uint64(n), nil)
	}
	for name, change := range map[string]func(*market.Node){
		"too dear": func(n *market.Node) { n.Price = 1_001 },
		"full":     func(n *market.Node) { n.GpuMask = 0b1111 },
		"asleep":   func(n *market.Node) { n.Node.Status = uint8(market.NodeHibernated) },
		"small":    func(n *market.Node) { n.Spec.Model = 7 },
	} {
		addNode(v, 50+name[0]%100, 1, change)
	}
	m := match.Of(v)
	_, err := Choose(v, m, order, now, unknown)
	require.ErrorIs(t, err, ErrNotDrawn)
	times := map[solana.PublicKey]int{}
	for i := range draws {
		got, err := Choose(v, m, order, now, func(o *market.Order) (market.DrawSeed, bool) {
			return market.NewDrawSeed(records.Domain{1}, o.Address, [32]byte{byte(i), byte(i >> 8)}), true
		})
		require.NoError(t, err)
		require.Len(t, got, 3)
		for _, c := range got {
			times[c.Node.Address]++
		}
	}
	require.Len(t, times, nodes)
	for node, n := range times {
		require.InDelta(t, draws*3/nodes, n, draws*3/nodes/4, fmt.Sprint(node))
	}
}

// Two keepers that see the same accounts and the same block choose the same nodes; whoever was passed over comes later in
// the draw or is of a provider that has a node of the order.
func TestTheDrawIsAFunctionOfAccountsAndBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		providers := rapid.SliceOfN(rapid.ByteRange(1, 6), 3, 12).Draw(t, "providers")
		block := rapid.Byte().Draw(t, "block")
		choose := func(order []int) (*view.Accounts, []market.Candidate, error) {
			v, at := newView(redundant)
			for _, i := range order {
				addOwned(v, byte(i+1), 500, providers[i])
			}
			got, err := Choose(v, match.Of(v), at, now, drawnBy(block))
			return v, got, err
		}
		all := make([]int, len(providers))
		for i := range all {
			all[i] = i
		}
		v, a, errA := choose(all)
		_, b, errB := choose(rapid.Permutation(all).Draw(t, "order"))
		require.Equal(t, errA == nil, errB == nil)
		require.Equal(t, a, b)
		if errA != nil {
			return
		}
		seed, _ := drawnBy(block)(v.Orders[solana.PublicKey{200}])
		last := a[len(a)-1].Node.Address
		for address, n := range v.Nodes {
			has := false
			for _, c := range a {
				has = has || c.Node.Provider == n.Provider && !seed.Before(address, c.Node.Address)
			}
			require.True(t, has || seed.Before(last, address))
		}
	})
}

// Nodes that have to stand together are drawn at one site.
func TestRedundantJobsAtOneSite(t *testing.T) {
	v, order := newView(func(o *market.Order) { redundant(o); o.Requirement.SameSite = 1 })
	for n := range byte(8) {
		addNode(v, n+1, 500, func(m *market.Node) {
			m.Spec.Site = market.Text16([]string{"a", "b", "b", "", "b", "a", "", ""}[n])
		})
	}
	for block := range byte(50) {
		got, err := Choose(v, match.Of(v), order, now, drawnBy(block))
		require.NoError(t, err)
		for _, c := range got {
			require.Equal(t, market.Text16("b"), c.Node.Spec.Site)
		}
	}
}

// The same customer's same job goes to machines of others as long as an earlier run of it is on chain.
func TestARerunIsOnMachinesOfOthers(t *testing.T) {
	v, order := newView(func(o *market.Order) { redundant(o); o.CreatedAt, o.ImageDigest = 100, [32]byte{1} })
	for n := range byte(6) {
		addNode(v, n+1, 500, nil)
	}
	first := &market.Order{Meta: market.Meta{Address: solana.PublicKey{201}}}
	redundant(first)
	first.CreatedAt, first.ImageDigest = 50, [32]byte{1}
	v.Put(first.Address, first)
	used := map[solana.PublicKey]bool{}
	for n := range byte(3) {
		node := v.Nodes[solana.PublicKey{n + 1}]
		used[node.Address] = true
		l := &market.Lease{Meta: market.Meta{Address: solana.PublicKey{77, n}}}
		l.Order, l.Lease.Node, l.Lease.Provider = first.Address, node.Address, node.Provider
		v.Put(l.Address, l)
	}
	choose := func(block byte) []market.Candidate {
		got, err := Choose(v, match.Of(v), order, now, drawnBy(block))
		require.NoError(t, err)
		return got
	}
	for block := range byte(20) {
		for _, c := range choose(block) {
			require.False(t, used[c.Node.Address])
		}
	}
	for name, change := range map[string]func(*market.Order){
		"another job": func(o *market.Order) { o.ImageDigest = [32]byte{2} }, "another customer": func(o *market.Order) { o.Customer = solana.PublicKey{8} },
		"a later order": func(o *market.Order) { o.CreatedAt = 101 },
	} {
		other := *first
		change(&other)
		v.Put(first.Address, &other)
		again := false
		for block := range byte(20) {
			for _, c := range choose(block) {
				again = again || used[c.Node.Address]
			}
		}
		require.True(t, again, name)
	}
}
