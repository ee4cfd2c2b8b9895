package match_test

import (
	"math"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

// start is a moment at which drawn nodes are from new to fully aged.
const start = 2_000_000_000

func key(kind, n int) solana.PublicKey { return solana.PublicKey{byte(kind), byte(n), byte(n >> 8)} }

// drawNode draws from few values, so that equal scores, equal classes and shared sites are common.
func drawNode(t *rapid.T, k solana.PublicKey) *market.Node {
	n := &market.Node{Meta: market.Meta{Address: k}}
	pick := func(name string, values ...uint64) uint64 { return rapid.SampledFrom(values).Draw(t, name) }
	n.Provider = key(2, int(pick("provider", 0, 1, 2, 3)))
	n.Price = pick("price", 0, 900, 1_000, 1_001, 1_100, 2_000_000, math.MaxUint64)
	n.SpotBps = uint16(pick("spot", 0, 1, 5_000, 9_999, 10_000))
	n.Status = uint8(pick("status", uint64(market.NodeActive), uint64(market.NodeActive), uint64(market.NodeActive), uint64(market.NodeDraining)))
	n.Spec.Model = uint16(pick("model", 1, 1, 2, 3, 9))
	n.Spec.Gpus = uint8(pick("gpus", 1, 4, 8, 16))
	n.GpuMask = uint16(pick("mask", 0, 0, 1, 0b1111, 0xffff))
	n.Spec.VramMib = uint32(pick("vram", 40_960, 81_559))
	n.Spec.Interconnect = uint8(pick("interconnect", 0, 1, 2))
	n.Spec.Simulated = uint8(pick("simulated", 0, 0, 0, 1))
	n.Spec.Isolation = uint8(pick("isolation", 0, 1))
	n.Tier = uint8(pick("tier", 0, 1, 3))
	n.EvidenceExpiry = start + rapid.SampledFrom([]int64{-1, 0, 1, 100, 86_400, math.MaxInt64 - start}).Draw(t, "evidence")
	n.KeysUntil = start + rapid.SampledFrom([]int64{-1, 0, 1, 100, 86_400, math.MaxInt64 - start}).Draw(t, "keys")
	n.ClaimsMissing = uint8(pick("missing", 0, 0, 0, 0, 1))
	n.Spec.Region = market.Text16(rapid.SampledFrom([]string{"", "us-west-1", "us-west-2", "us-east-1", "eu"}).Draw(t, "region"))
	n.Spec.Site = market.Text16(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "site"))
	n.Operations, n.Bandwidth = uint32(pick("operations", 0, 500, 1_000)), uint32(pick("bandwidth", 0, 50, 100))
	n.DownMbps, n.UpMbps = uint32(pick("down", 0, 10)), uint32(pick("up", 0, 10))
	n.Spec.CpuCores, n.Spec.RamMib, n.Spec.DiskGib = uint32(pick("cores", 8, 64)), uint32(pick("ram", 8, 64)), uint32(pick("disk", 8, 64))
	n.Spec.Cuda = uint16(pick("cuda", 0, 1_204, 1_208))
	n.RegisteredAt = int64(pick("registered", 0, start-6, start-5, start-4))
	n.ClassSince = int64(pick("class since", 0, start-5))
	n.UptimeBps = uint16(pick("uptime", 0, 9_000, 9_999, 10_000))
	n.FeesFailed = uint64(pick("failed", 0, 0, 3)) * market.PriorFees
	n.UpSecs, n.ChecksTotal = pick("up", 0, 86_400, 180*86_400, math.MaxUint64), pick("checks", 0, 1, 1, 1)
	n.DisputeBps = uint16(pick("disputed", 0, 0, 0, 2_000, 10_000))
	n.DisputeLostAt = start - rapid.SampledFrom([]int64{0, 1, 100_000, market.FullAgeSecs, -5_000, start + math.MaxInt64/2, -math.MaxInt64 / 4}).Draw(t, "lost at")
	if n.GuaranteeBps = uint16(pick("guarantee", 0, 0, 9_000, 10_000)); n.GuaranteeBps > 0 {
		n.GuaranteedUntil = start + rapid.SampledFrom([]int64{-1, 0, 1, 2_000, 100_000, math.MaxInt64 - start}).Draw(t, "guaranteed")
	}
	return n
}

func drawQuery(t *rapid.T, order int) match.Query {
	pick := func(name string, values ...uint64) uint64 { return rapid.SampledFrom(values).Draw(t, name) }
	q := match.Query{
		Order: key(3, order), GPUs: uint8(pick("wanted gpus", 0, 1, 4, 8, 17)), MaxPrice: pick("max", 0, 999, 1_001, 3_000_000, math.MaxUint64),
		Nodes: rapid.IntRange(1, 5).Draw(t, "nodes"),
	}
	q.Interruptible = pick("interruptible", 0, 0, 1) == 1
	if pick("several", 0, 1) == 1 {
		q.RegisteredBefore, q.AskedAt = start-5, start-5
	}
	r := &q.Requirement
	r.Region = market.Text16(rapid.SampledFrom([]string{"", "", "us-", "us-west-2", "eu", "asia", "\x00s"}).Draw(t, "wanted region"))
	r.MinVramMib = uint32(pick("min vram", 0, 0, 80_000))
	r.MinTflopsX10 = uint32(pick("min tflops", 0, 0, 5_000))
	for range pick("wanted models", 0, 0, 1, 1, 2, 4) {
		r.Models = market.Models(append(market.NamedModels(r), uint16(pick("wanted model", 1, 2, 3, 4)))...)
	}
	r.MinOperations, r.MinBandwidth = uint32(pick("min operations", 0, 0, 0, 500, 501)), uint32(pick("min bandwidth", 0, 0, 0, 100))
	r.MinDownMbps, r.MinUpMbps = uint32(pick("min down", 0, 0, 0, 10)), uint32(pick("min up", 0, 0, 0, 10))
	r.MinCpuCores, r.MinRamMib, r.MinDiskGib = uint32(pick("min cores", 0, 0, 0, 8)), uint32(pick("min ram", 0, 0, 0, 9)), uint32(pick("min disk", 0, 0, 0, 64))
	r.MinCuda = uint16(pick("min cuda", 0, 0, 0, 1_204, 1_205))
	r.MinUptimeBps = uint16(pick("min uptime", 0, 0, 9_500))
	r.MinReputationBps = uint16(pick("min reputation", 0, 0, 8_999, 9_000))
	r.MinInterconnect = uint8(pick("min interconnect", 0, 0, 1, 2))
	r.MinTier = uint8(pick("min tier", 0, 0, 1, 2))
	r.AllowSimulated = uint8(pick("allow simulated", 0, 1))
	r.MinIsolation = uint8(pick("min isolation", 0, 0, 1))
	r.Guaranteed = uint8(pick("wanted guaranteed", 0, 0, 0, 1))
	// Not before the award deadline, which a search does not know.
	q.End = math.MaxInt64 - int64(pick("end", 0, 1, math.MaxInt64-start-100_000, math.MaxInt64-start-99_999))
	if rapid.Bool().Draw(t, "same site") {
		r.SameSite = 1
		if rapid.Bool().Draw(t, "standing") {
			site := market.Text16(rapid.SampledFrom([]string{"", "a", "b", "z"}).Draw(t, "at"))
			q.Site = &site
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "excepted") {
		q.Except = append(q.Except, key(1, rapid.IntRange(0, 40).Draw(t, "except")))
	}
	return q
}

// oneProvider is a matcher that knows one provider and one model, and no node yet.
func oneProvider() *match.Matcher {
	m := match.New()
	model := &market.Model{}
	model.Id = 1
	m.PutModel(1, model)
	m.PutProvider(key(2, 0), &market.Provider{})
	return m
}

// After any changes, at any time, forwards or backwards, the answer is that of a scan.
func TestTheAnswerIsThatOfAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, m := newAccounts(), match.New()
		now := int64(start)
		putNode := func(t *rapid.T) {
			k := key(1, rapid.IntRange(0, 40).Draw(t, "node"))
			b.nodes[k] = drawNode(t, k)
			m.PutNode(k, b.nodes[k])
		}
		for p := range 3 {
			b.providers[key(2, p)] = &market.Provider{}
			m.PutProvider(key(2, p), b.providers[key(2, p)])
		}
		for id := range 3 {
			model := &market.Model{}
			model.Id, model.TflopsX10, model.MinOperations = uint16(id+1), uint32(3_000*(id+1)), uint32(id%2)
			b.models[model.Id] = model
			m.PutModel(model.Id, model)
		}
		for range rapid.IntRange(0, 60).Draw(t, "filled with") {
			putNode(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"put node": putNode,
			"edit node": func(t *rapid.T) {
				k := key(1, rapid.IntRange(0, 40).Draw(t, "node"))
				if old := b.nodes[k]; old != nil {
					n := *old
					n.Price, n.GpuMask = rapid.SampledFrom([]uint64{900, 1_000}).Draw(t, "price"), uint16(rapid.IntRange(0, 15).Draw(t, "mask"))
					m.RemoveNode(k)
					m.PutNode(k, &n)
					b.nodes[k] = &n
				}
			},
			"remove node": func(t *rapid.T) {
				k := key(1, rapid.IntRange(0, 40).Draw(t, "node"))
				delete(b.nodes, k)
				m.RemoveNode(k)
			},
			"put provider": func(t *rapid.T) {
				k := key(2, rapid.IntRange(0, 3).Draw(t, "provider"))
				p := &market.Provider{}
				b.providers[k] = p
				m.RemoveProvider(k)
				m.PutProvider(k, p)
			},
			"remove provider": func(t *rapid.T) {
				k := key(2, rapid.IntRange(0, 3).Draw(t, "provider"))
				delete(b.providers, k)
				m.RemoveProvider(k)
			},
			"put model": func(t *rapid.T) {
				model := &market.Model{}
				model.Id = uint16(rapid.IntRange(1, 4).Draw(t, "model"))
				model.TflopsX10, model.MinTier = uint32(rapid.IntRange(0, 9_000).Draw(t, "tflops")), uint8(rapid.IntRange(0, 2).Draw(t, "tier"))
				b.models[model.Id] = model
				m.PutModel(model.Id, model)
			},
			"remove model": func(t *rapid.T) {
				id := uint16(rapid.IntRange(1, 4).Draw(t, "model"))
				delete(b.models, id)
				m.RemoveModel(id)
			},
			"wait": func(t *rapid.T) {
				now += rapid.SampledFrom([]int64{0, 1, 100, 15_552, 40_000, 10_000_000, -1, -100, -10_000_000}).Draw(t, "seconds")
			},
			"": func(t *rapid.T) {
				q := drawQuery(t, rapid.IntRange(0, 5).Draw(t, "order"))
				want, got := b.scan(q, now), m.Best(q, now)
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.Equal(t, want[i], got[i])
				}
				all := q
				all.Nodes = math.MaxInt
				if q.Requirement.SameSite != 0 && q.Site == nil { // the reference would choose a site
					all.Requirement.SameSite = 0
				}
				var suited, listed []solana.PublicKey
				for _, c := range b.scan(all, now) {
					if q.Requirement.SameSite == 0 || c.Node.Spec.Site != [16]uint8{} {
						suited = append(suited, c.Node.Address)
					}
				}
				for _, n := range m.Suitable(q, now) {
					listed = append(listed, n.Address)
				}
				require.ElementsMatch(t, suited, listed)
			},
		})
	})
}

// A reputation that grows as a dispute wears off is right at each second, also at the one at which it changes.
func TestReputationsChangeOnTheirSecond(t *testing.T) {
	b, m := newAccounts(), match.New()
	model := &market.Model{}
	model.Id = 1
	b.models[1] = model
	m.PutModel(1, model)
	b.providers[key(2, 0)] = &market.Provider{}
	m.PutProvider(key(2, 0), b.providers[key(2, 0)])
	for i := range 3 {
		n := &market.Node{Meta: market.Meta{Address: key(1, i)}}
		n.Provider, n.Status, n.Price, n.Spec.Model, n.Spec.Gpus = key(2, 0), uint8(market.NodeActive), 1_000_000, 1, 8
		n.UptimeBps, n.DisputeBps, n.DisputeLostAt = 5_000, 2_000, start+int64(5_000*i)
		b.nodes[n.Address] = n
		m.PutNode(n.Address, n)
	}
	q := match.Query{GPUs: 1, MaxPrice: math.MaxUint64, Nodes: 3}
	changes, before := 0, []market.Candidate(nil)
	for now := int64(start); now < start+40_000; now++ {
		got := m.Best(q, now)
		if before == nil || got[0].Reputation != before[0].Reputation {
			changes++
		}
		before = got
		for _, c := range got {
			require.Equal(t, c.Node.Reputation(now), c.Reputation, "at %d", now-start)
		}
	}
	require.Greater(t, changes, 2)
}

// A price that overflows a score without reputation is comparable once there is some: found by random changes.
func TestAPriceBecomesComparableWithReputation(t *testing.T) {
	m := oneProvider()
	n := &market.Node{Meta: market.Meta{Address: key(1, 0)}}
	n.Provider, n.Status, n.Price, n.Spec.Model, n.Spec.Gpus = key(2, 0), uint8(market.NodeActive), math.MaxUint64, 1, 1
	n.UpSecs, n.UptimeBps, n.GuaranteedUntil, n.GuaranteeBps = market.FullAgeSecs, 10_000, math.MaxInt64, 10_000
	n.DisputeBps, n.DisputeLostAt = 2_000, start
	q := match.Query{GPUs: 1, MaxPrice: math.MaxUint64, Nodes: 1}
	_, err := n.Score(start, start)
	require.Error(t, err)
	_, err = n.Score(start+market.FullAgeSecs, start+market.FullAgeSecs)
	require.NoError(t, err)
	m.PutNode(n.Address, n)
	require.Empty(t, m.Best(q, start))
	require.Len(t, m.Best(q, start+market.FullAgeSecs), 1)
	require.Empty(t, m.Best(q, start), "and the clock back")
	m.RemoveNode(n.Address)
	m.RemoveProvider(key(2, 0))
	require.Empty(t, m.Best(q, start))
	require.Zero(t, m.Size())
}

// A guarantee that is over does not count, however early the order would end.
func TestAGuaranteeThatIsOverIsNone(t *testing.T) {
	m := oneProvider()
	n := &market.Node{Meta: market.Meta{Address: key(1, 0)}}
	n.Provider, n.Status, n.Price, n.Spec.Model, n.Spec.Gpus = key(2, 0), uint8(market.NodeActive), 1, 1, 1
	n.GuaranteedUntil, n.GuaranteeBps = start+100, 9_000
	m.PutNode(n.Address, n)
	q := match.Query{GPUs: 1, MaxPrice: 1, Nodes: 1, End: start + 100}
	q.Requirement.Guaranteed = 1
	require.Len(t, m.Best(q, start+100), 1)
	require.Empty(t, m.Best(q, start+101))
}

// A node whose guarantee ends before the work competes without it, behind one that is cheaper then.
func TestAGuaranteeThatEndsBeforeTheWorkCountsForNothing(t *testing.T) {
	m := oneProvider()
	for i, price := range []uint64{2_050_000, 2_000_000} {
		n := &market.Node{Meta: market.Meta{Address: key(1, i)}}
		n.Provider, n.Status, n.Price, n.Spec.Model, n.Spec.Gpus = key(2, 0), uint8(market.NodeActive), price, 1, 1
		if i == 0 {
			n.GuaranteedUntil, n.GuaranteeBps = start+100, 10_000
		}
		m.PutNode(n.Address, n)
	}
	q := match.Query{GPUs: 1, MaxPrice: 3_000_000, Nodes: 1, End: start + 100}
	require.Equal(t, key(1, 0), m.Best(q, start)[0].Node.Address)
	q.End++
	best := m.Best(q, start)
	require.Equal(t, key(1, 1), best[0].Node.Address)
	q.Nodes = 2
	both := m.Best(q, start)
	require.Len(t, both, 2)
	for _, c := range both {
		score, err := c.Node.Score(start, q.End)
		require.NoError(t, err)
		require.Equal(t, score, c.Score, "what the program computes")
	}
}

// With everything gone the matcher holds nothing.
func TestNothingIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := match.New()
		model := &market.Model{}
		model.Id = 1
		m.PutModel(1, model)
		keys := map[solana.PublicKey]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "nodes") {
			k := key(1, rapid.IntRange(0, 20).Draw(t, "node"))
			n := drawNode(t, k)
			m.PutProvider(n.Provider, &market.Provider{})
			m.PutNode(k, n)
			keys[k] = true
			if rapid.Bool().Draw(t, "look") {
				m.Best(drawQuery(t, 1), start)
			}
		}
		for k := range keys {
			m.RemoveNode(k)
		}
		for p := range 4 {
			m.RemoveProvider(key(2, p))
		}
		require.Empty(t, m.Best(match.Query{Nodes: 9, MaxPrice: math.MaxUint64}, start))
		require.Zero(t, m.Size())
	})
}

func TestAPlanOfFourNodesInOneRegion(t *testing.T) {
	m := oneProvider()
	for i := range 40 {
		n := &market.Node{Meta: market.Meta{Address: key(1, i)}}
		n.Provider, n.Status, n.Price = key(2, 0), uint8(market.NodeActive), uint64(2_000_000+i)
		n.Spec.Model, n.Spec.Gpus, n.Spec.Interconnect = 1, 8, 2
		n.Spec.Region = market.Text16([]string{"us-west-2", "eu-north-1"}[i%2])
		n.Spec.Site = market.Text16([]string{"hall-1", "hall-2", "hall-3", "hall-4"}[i%4])
		if i < 8 {
			n.GpuMask = 1 // no longer whole
		}
		m.PutNode(n.Address, n)
	}
	q := match.Query{GPUs: 8, MaxPrice: 3_000_000, Nodes: 4}
	q.Requirement.Models, q.Requirement.MinInterconnect, q.Requirement.Region = market.Models(1), 1, market.Text16("eu-north-1")
	addresses := func() (out []solana.PublicKey) {
		for _, c := range m.Best(q, start) {
			out = append(out, c.Node.Address)
		}
		return out
	}
	require.Equal(t, []solana.PublicKey{key(1, 9), key(1, 11), key(1, 13), key(1, 15)}, addresses(), "four whole nodes of the region")
	q.Requirement.SameSite = 1
	require.Equal(t, []solana.PublicKey{key(1, 9), key(1, 13), key(1, 17), key(1, 21)}, addresses(), "that stand together")
	q.Nodes = 9
	require.Empty(t, addresses(), "no site has nine")
	q.Requirement.SameSite = 0
	require.Len(t, addresses(), 9)
}
