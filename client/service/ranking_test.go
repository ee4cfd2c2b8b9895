package service

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// nodesView is a view of so many nodes of two models in three regions, at different prices.
func nodesView(count int) *view.View {
	v := view.New(view.Options{})
	for id := range uint16(2) {
		m := &market.Model{Meta: market.Meta{Address: market.ModelAddress(id + 1)}}
		m.Id, m.Name = id+1, market.Text32([]string{"A100-SXM4-40GB", "H100-SXM5-80GB"}[id])
		v.Put(m.Address, m)
	}
	for i := range count {
		n := &market.Node{Meta: market.Meta{Address: solana.PublicKey(sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i))))}}
		n.Status, n.Price, n.UptimeBps, n.ChecksTotal = uint8(market.NodeActive), 1_000_000+uint64(i*7919%3_000_000), 9_900, 1
		n.Spec = market.NodeSpec{Model: uint16(i%2 + 1), Gpus: 8, VramMib: 81_920, Region: market.Text16([]string{"us-west-2", "us-east-1", "eu-central-1"}[i%3])}
		v.Put(n.Address, n)
	}
	return v
}

// A search for spot finds the nodes that take interruptible work, by their spot prices, in any order that is asked for.
func TestASearchForSpotHasSpotPrices(t *testing.T) {
	v := nodesView(6)
	for i, n := range v.Nodes() {
		n.SpotBps = uint16(i%3) * 2_500 // none, a quarter and half of the price
		v.Put(n.Address, &n)
	}
	r := rank(v, 1000)
	q, err := ParseTerms("spot")
	require.NoError(t, err)
	for _, by := range []SortBy{SortAward, SortTOPSPrice} {
		found := r.search(&q, by, 10)
		require.Equal(t, 4, found.Fit)
		for i, o := range found.Offers {
			n, _ := v.Node(solana.MustPublicKeyFromBase58(o.Address))
			require.Equal(t, n.SpotAsk().String(), o.Price)
			require.Equal(t, o.Price, o.Spot)
			if i > 0 {
				before, _ := market.ParsePrice(found.Offers[i-1].Price)
				require.LessOrEqual(t, before, n.SpotAsk())
			}
		}
	}
	all := r.search(&Terms{Count: 1}, SortAward, 10)
	require.Equal(t, 6, all.Fit, "the ranking of other orders is as before")
}

// The best offers are those of a full search, in the order of awards, and the others are counted all the same.
func TestBestOffersAreTheFirstOfAll(t *testing.T) {
	v := nodesView(300)
	r := rank(v, 1000)
	q, err := ParseTerms("gpu=h100 region=us price<2.5")
	require.NoError(t, err)
	all := r.search(&q, SortAward, 1<<30)
	require.NotEmpty(t, all.Offers)
	require.Len(t, all.Offers, all.Fit)
	best := r.answer("gpu=h100 region=us price<2.5", &q, SortAward, 5)
	require.Equal(t, all.Offers[:5], best.Offers)
	require.Equal(t, all.Fit, best.Fit)
	require.Equal(t, all.Unfit, best.Unfit)
	require.Equal(t, 150, best.Unfit["other model"])
	total := best.Fit
	for _, n := range best.Unfit {
		total += n
	}
	require.Equal(t, 300, total)
	require.Equal(t, best, r.answer("gpu=h100 region=us price<2.5", &q, SortAward, 5))

	var want []market.Candidate
	for _, n := range v.Nodes() {
		m, _ := v.Model(n.Spec.Model)
		if q.matches(&n, &m, 1000) == "" {
			c, err := market.NewCandidate(solana.PublicKey{}, n, 1000, 1000)
			require.NoError(t, err)
			want = append(want, c)
		}
	}
	require.Len(t, want, len(all.Offers))
	for i, o := range all.Offers {
		before := 0
		for _, c := range want {
			if c.Node.Address.String() == o.Address {
				for _, other := range want {
					if other.Compare(c) < 0 {
						before++
					}
				}
			}
		}
		require.Equal(t, i, before, o.Address)
	}
}

// Figures of a market are those of its nodes; what is leased of a node that takes no orders counts.
func TestStatistics(t *testing.T) {
	v := nodesView(4)
	nodes := v.Nodes()
	changed := func(i int, change func(*market.Node)) {
		n := nodes[i]
		change(&n)
		v.Put(n.Address, &n)
	}
	for i := range nodes {
		changed(i, func(n *market.Node) { n.Price, n.UptimeBps = uint64(i+1)*1_000_000, uint16(9_000+i); n.Spec.Model = 1 })
	}
	changed(0, func(n *market.Node) { n.GpuMask, n.Price, n.Spec.Model = 0xff, 1_000_000, 1 })
	changed(3, func(n *market.Node) { n.GpuMask, n.Status, n.Spec.Model = 1, uint8(market.NodeDraining), 1 })
	s := rank(v, 1000).stats
	require.Equal(t, NodeStatistics{Nodes: 4, Active: 3, GPUs: 25, Leased: 9, Utilisation: "36.00", Uptime: "90.02"}, s.Total)
	require.Len(t, s.Models, 1)
	require.Equal(t, "2.00", s.Models[0].Lowest, "the cheapest has no free GPU")
	require.Equal(t, "2.00", s.Models[0].Median)
	changed(1, func(n *market.Node) { n.UptimeBps, n.ChecksTotal = 10_000, 0 })
	require.Equal(t, "90.02", rank(v, 1000).stats.Total.Uptime, "a node without checks has no uptime")
	require.Equal(t, "0.00", rank(view.New(view.Options{}), 1000).stats.Total.Utilisation)
}

func BenchmarkSearch(b *testing.B) {
	r := rank(nodesView(40_000), 1000)
	q, err := ParseTerms("region=us price<3")
	require.NoError(b, err)
	for b.Loop() {
		r.search(&q, SortAward, 100)
	}
}
