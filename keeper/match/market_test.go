package match_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

const drawnModels = 16

// size is how large a drawn market is.
type size struct{ nodes, providers, sites int }

var (
	// today is the largest market that there is: 320,000 GPUs.
	today = size{nodes: 40_000, providers: 2_000, sites: 600}
	// million is 25 times that.
	million = size{nodes: 1_000_000, providers: 50_000, sites: 15_000}
)

var drawnRegions = []string{
	"us-west-1", "us-west-2", "us-east-1", "us-east-2", "us-central-1", "ca-east-1", "eu-west-1", "eu-north-1", "eu-central-1",
	"ap-east-1", "ap-south-1", "ap-northeast-1", "sa-east-1", "me-central-1",
}

// drawnMarket is a market and orders for it, the same for a seed.
type drawnMarket struct {
	*accounts
	size     size
	nodeList []*market.Node // all of accounts.nodes, for a scan without a map
	orders   []match.Query
}

func wideKey(kind byte, n int) (k solana.PublicKey) {
	k[0] = kind
	binary.BigEndian.PutUint32(k[1:], uint32(n))
	return k
}

// drawMarket draws nodes as a market has them: models, regions and sites of unequal size, asks around a model's price,
// half of the GPUs busy, most of the nodes reliable.
func drawMarket(seed uint64, of size, orders int) *drawnMarket {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &drawnMarket{accounts: newAccounts(), size: of}
	for id := 1; id <= drawnModels; id++ {
		m := &market.Model{}
		m.Id, m.TflopsX10, m.MinTier = uint16(id), uint32(1_000+600*id), 1
		w.models[m.Id] = m
	}
	for p := range of.providers {
		v := &market.Provider{Meta: market.Meta{Address: wideKey(2, p)}}
		v.Stake = 1_000_000
		w.providers[v.Address] = v
	}
	for i := range of.nodes {
		w.putNode(w.drawNode(rng, wideKey(1, i)))
	}
	for i := range orders {
		w.orders = append(w.orders, drawOrder(rng, i))
	}
	return w
}

func (w *drawnMarket) putNode(n *market.Node) {
	if old, ok := w.nodes[n.Address]; ok {
		w.nodeList[slices.Index(w.nodeList, old)] = n
	} else {
		w.nodeList = append(w.nodeList, n)
	}
	w.nodes[n.Address] = n
}

// small draws from 0 to n-1, the smaller the likelier.
func small(rng *rand.Rand, n int) int { return min(rng.IntN(n), rng.IntN(n)) }

func (w *drawnMarket) drawNode(rng *rand.Rand, k solana.PublicKey) *market.Node {
	n := &market.Node{Meta: market.Meta{Address: k}}
	site := small(rng, w.size.sites)
	n.Provider = wideKey(2, site*3%w.size.providers+rng.IntN(3))
	n.Status = uint8(market.NodeActive)
	if rng.IntN(20) == 0 {
		n.Status = uint8(market.NodeHibernated)
	}
	n.Spec.Model, n.Spec.Gpus = uint16(1+(site+small(rng, 4))%drawnModels), market.MaxGPUs
	n.Price = uint64(200_000*int(n.Spec.Model)) * uint64(800+rng.IntN(700)) / 1_000
	switch rng.IntN(4) {
	case 0:
		n.GpuMask = 0xff
	case 1:
		n.GpuMask = uint16(1<<rng.IntN(8) - 1)
	}
	n.Spec.VramMib, n.Spec.Interconnect = 81_559, uint8(site%3)
	n.Tier = uint8(1 + small(rng, 3))
	n.EvidenceExpiry, n.KeysUntil = math.MaxInt64, math.MaxInt64 // SQLite has no notion of evidence that expires
	n.Spec.Region = market.Text16(drawnRegions[site%len(drawnRegions)])
	if rng.IntN(10) > 0 {
		n.Spec.Site = market.Text16(fmt.Sprintf("site-%04d", site))
	}
	n.UptimeBps = uint16(10_000 - small(rng, 1_500))
	n.FeesCompleted, n.FeesFailed = uint64(rng.IntN(500*market.PriorFees/10)), uint64(small(rng, 10)*market.PriorFees/10)
	n.RatingWeight = uint64(1 + rng.IntN(1_000_000_000))
	n.RatingSum = n.RatingWeight * uint64(300+rng.IntN(200)) / 100
	n.UpSecs, n.ChecksTotal = uint64(rng.IntN(400*86_400)), 1
	if rng.IntN(3) == 0 {
		n.GuaranteedUntil, n.GuaranteeBps = start-86_400+int64(rng.IntN(60*86_400)), uint16(9_000+rng.IntN(1_001))
	}
	return n
}

// drawOrder draws what customers ask for: mostly one node of a model, sometimes several in a region or at one site, at
// times any model with enough TFLOPS, at times something that nobody has.
func drawOrder(rng *rand.Rand, i int) match.Query {
	q := match.Query{Order: wideKey(3, i), GPUs: []uint8{1, 1, 1, 2, 4, 8, 8}[rng.IntN(7)], Nodes: 1}
	r := &q.Requirement
	model := uint16(1 + small(rng, drawnModels))
	r.Models = market.Models(model)
	q.MaxPrice = uint64(200_000*int(model)) * uint64(850+rng.IntN(700)) / 1_000
	if rng.IntN(8) == 0 {
		r.Models, r.MinTflopsX10 = market.Models(), uint32(1_000+600*rng.IntN(drawnModels))
		q.MaxPrice = 4_000_000
	}
	switch rng.IntN(4) {
	case 0:
		r.Region = market.Text16(drawnRegions[rng.IntN(len(drawnRegions))])
	case 1:
		r.Region = market.Text16([]string{"us", "eu", "ap"}[rng.IntN(3)])
	}
	r.MinInterconnect, r.MinTier = uint8(small(rng, 3)), uint8(small(rng, 4))
	if rng.IntN(3) == 0 {
		r.MinUptimeBps, r.MinReputationBps = uint16(9_000+rng.IntN(990)), uint16(7_000+rng.IntN(2_000))
	}
	if rng.IntN(10) == 0 {
		r.Guaranteed, q.End = 1, start+int64(rng.IntN(30*86_400))
	}
	switch rng.IntN(10) {
	case 0:
		q.Nodes, q.GPUs = 4, 8 // 4 × 8 in a region
	case 1:
		q.Nodes, q.GPUs, r.SameSite, r.MinInterconnect = 1+rng.IntN(8), 8, 1, 1 // 8 × NVLink at one site
	}
	return q
}

// matcher holds the market.
func (w *drawnMarket) matcher() *match.Matcher {
	m := match.New()
	for id, v := range w.models {
		m.PutModel(id, v)
	}
	for k, v := range w.providers {
		m.PutProvider(k, v)
	}
	for k, n := range w.nodes {
		m.PutNode(k, n)
	}
	return m
}

// The answers are those of a scan at full size, too.
func TestFortyThousandNodes(t *testing.T) {
	w := drawMarket(7, today, 40)
	m := w.matcher()
	found, several := 0, 0
	for _, q := range w.orders {
		want, got := w.scan(q, start), m.Best(q, start)
		require.Equal(t, len(want), len(got))
		for i := range want {
			require.Equal(t, want[i], got[i])
		}
		if len(got) == q.Nodes {
			found++
			if q.Nodes > 1 {
				several++
			}
		}
	}
	t.Logf("%d of %d orders found their nodes, %d of them several", found, len(w.orders), several)
	require.Greater(t, found, len(w.orders)/2)
	require.NotZero(t, several)
}

// removeGuarantees takes all guarantees away: SQLite's query has no notion of them.
func (w *drawnMarket) removeGuarantees() {
	for i := range w.nodes {
		w.nodes[i].GuaranteedUntil, w.nodes[i].GuaranteeBps = 0, 0
	}
	for i := range w.orders {
		w.orders[i].Requirement.Guaranteed = 0
	}
}

// Where the cheapest nodes stand alone, sites with enough of them are found all the same: an order looks at more sites than are looked
// at one after the other.
func TestASiteBehindManyThatAreTooSmall(t *testing.T) {
	w := drawMarket(8, size{nodes: 0, providers: 10, sites: 1}, 0)
	rng := rand.New(rand.NewPCG(8, 1))
	for i := range 700 {
		n := w.drawNode(rng, wideKey(1, i))
		n.Spec.Model, n.Status, n.GpuMask, n.Tier, n.Spec.Interconnect = 1, uint8(market.NodeActive), 0, 1, 1
		n.UptimeBps, n.GuaranteedUntil, n.GuaranteeBps = 9_900, 0, 0
		n.Price = uint64(100_000 + i)
		n.Spec.Site = market.Text16(fmt.Sprintf("site-%04d", i))
		if i >= 690 {
			n.Spec.Site = market.Text16(fmt.Sprintf("site-%04d", 690+i%2)) // the dearest are together
		}
		w.putNode(n)
	}
	m := w.matcher()
	for _, model := range []uint16{0, 1} {
		q := match.Query{Order: wideKey(3, 1), GPUs: 8, MaxPrice: 1_000_000, Nodes: 3}
		q.Requirement.Models, q.Requirement.SameSite = market.Models(model), 1
		want, got := w.scan(q, start), m.Best(q, start)
		require.Len(t, want, 3)
		require.Equal(t, want, got)
		q.Nodes = 6
		require.Empty(t, w.scan(q, start))
		require.Empty(t, m.Best(q, start))
	}
}
