package crank

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// evidenceFixture is a node with evidence of tier 2 and two devices, whose claims the case fills in.
func evidenceFixture(change func(n *market.Node), claims ...market.Device) *view.View {
	x := view.New(view.Options{})
	m := &market.Market{}
	m.Params.PeriodSecs = secs
	x.Put(market.MarketAddress(), m)
	n := &market.Node{Meta: market.Meta{Address: solana.PublicKey{1}}}
	n.Status, n.Tier, n.EvidenceExpiry, n.DevicesSeen = uint8(market.NodeActive), 2, now+market.EvidenceSecs, 1
	n.Spec.Gpus, n.DeviceRoot = 2, market.DeviceRoot([][32]byte{{4}, {9}})
	if change != nil {
		change(n)
	}
	x.Put(n.Address, n)
	for _, c := range claims {
		c.Address = market.DeviceAddress(c.Identity)
		x.Put(c.Address, &c)
	}
	if n.ClaimsMissing > 0 {
		x.Shown(n.Address, [][32]byte{{9}, {4}})
	}
	return x
}

func TestClaimsFollowEvidence(t *testing.T) {
	const fresh = now + market.EvidenceSecs
	own := func(id byte, tier uint8, expires int64) market.Device {
		return market.Device{Node: solana.PublicKey{1}, Identity: [32]byte{id}, Tier: tier, Expires: expires}
	}
	other := func(id byte, holder byte, tier uint8, expires int64) market.Device {
		return market.Device{Node: solana.PublicKey{holder}, Identity: [32]byte{id}, Tier: tier, Expires: expires}
	}
	missing := func(count uint8) func(*market.Node) { return func(n *market.Node) { n.ClaimsMissing = count } }
	for name, c := range map[string]struct {
		change func(*market.Node)
		claims []market.Device
		losers []solana.PublicKey
		due    bool
	}{
		"claims as they were registered": {claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}, due: true},
		"raised and fresh":               {claims: []market.Device{own(4, 2, fresh), own(9, 2, fresh)}},
		"raised, and by a later leaf":    {claims: []market.Device{own(4, 2, fresh-secs), own(9, 2, fresh-secs)}},
		"one lapses within half a day":   {claims: []market.Device{own(4, 2, fresh), own(9, 2, now+100)}, due: true},
		"one has lapsed":                 {claims: []market.Device{own(4, 3, now-10), own(9, 2, fresh)}, due: true},
		"worth more by earlier evidence": {claims: []market.Device{own(4, 3, now+100), own(9, 3, now+100)}},
		"no more evidence than there is": {
			change: func(n *market.Node) { n.EvidenceExpiry = now + 100 },
			claims: []market.Device{own(4, 2, now+100), own(9, 2, now+100)},
		},
		"not all claims are here": {claims: []market.Device{own(4, 1, 0)}},
		"taken from two nodes": {
			change: missing(2), claims: []market.Device{other(4, 8, 1, 0), other(9, 7, 0, 0)},
			losers: []solana.PublicKey{{7}, {8}}, due: true,
		},
		"taken from one node": {
			change: missing(2), claims: []market.Device{other(4, 8, 1, 0), other(9, 8, 2, now-10)},
			losers: []solana.PublicKey{{8}}, due: true,
		},
		"held by evidence that is as good": {change: missing(2), claims: []market.Device{other(4, 8, 2, fresh), other(9, 8, 3, fresh)}},
		"one of the two can be taken": {
			change: missing(1), claims: []market.Device{own(4, 2, fresh), other(9, 8, 1, 0)}, losers: []solana.PublicKey{{8}}, due: true,
		},
		"nobody has it":     {change: missing(1), claims: []market.Device{own(4, 2, fresh)}, due: true},
		"no evidence":       {change: func(n *market.Node) { n.Tier = 1 }, claims: []market.Device{own(4, 0, 0), own(9, 0, 0)}},
		"lapsed evidence":   {change: func(n *market.Node) { n.EvidenceExpiry = now - 10 }, claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}},
		"devices not seen":  {change: func(n *market.Node) { n.DevicesSeen = 0 }, claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}},
		"suspended":         {change: func(n *market.Node) { n.Status = uint8(market.NodeSuspended) }, claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}},
		"on its way out":    {change: func(n *market.Node) { n.Status = uint8(market.NodeRetired) }, claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}},
		"asleep, but there": {change: func(n *market.Node) { n.Status = uint8(market.NodeHibernated) }, claims: []market.Device{own(4, 1, 0), own(9, 1, 0)}, due: true},
	} {
		t.Run(name, func(t *testing.T) {
			evidenceFixture(c.change, c.claims...).Read(func(v *view.Accounts) {
				actions, err := Due(v, match.Of(v), self, now, nil)
				require.NoError(t, err)
				if !c.due {
					require.Empty(t, actions)
					return
				}
				require.Len(t, actions, 1)
				require.Equal(t, NodeSetEvidence, actions[0].Kind)
				accounts := actions[0].Instructions[0].Accounts()
				require.Equal(t, self, accounts[0].PublicKey)
				require.Equal(t, market.DeviceAddress([32]byte{4}), accounts[3].PublicKey, "ascending")
				require.Equal(t, market.DeviceAddress([32]byte{9}), accounts[4].PublicKey)
				var losers []solana.PublicKey
				for _, a := range accounts[5:] {
					require.True(t, a.IsWritable)
					losers = append(losers, a.PublicKey)
				}
				require.Equal(t, c.losers, losers)
			})
		})
	}
}

// A market of nodes whose evidence stands asks for nothing, period after period.
func TestEvidenceIsNotSentAgain(t *testing.T) {
	claims := []market.Device{
		{Node: solana.PublicKey{1}, Identity: [32]byte{4}, Tier: 2, Expires: now + market.EvidenceSecs},
		{Node: solana.PublicKey{1}, Identity: [32]byte{9}, Tier: 2, Expires: now + market.EvidenceSecs},
	}
	sent := 0
	for at := int64(now); at < now+2*market.EvidenceSecs; at += 3_600 {
		x := evidenceFixture(func(n *market.Node) { n.EvidenceExpiry = at + market.EvidenceSecs }, claims...)
		x.Read(func(v *view.Accounts) {
			actions, err := Due(v, match.Of(v), self, at, nil)
			require.NoError(t, err)
			if len(actions) > 0 {
				sent++
				claims[0].Expires, claims[1].Expires = at+market.EvidenceSecs, at+market.EvidenceSecs
			}
		})
	}
	require.Equal(t, 3, sent, "every half a day")
}

// Tier 3 stands for the claims of the GPUs' keys: keepers that know them claim them, before anything else, where no other
// node has one.
func TestKeysOfGPUsAreClaimed(t *testing.T) {
	keys := [][32]byte{{7}, {3}}
	const until = now + market.EvidenceSecs
	claim := func(id, holder byte, expires int64) market.Device {
		return market.Device{Node: solana.PublicKey{holder}, Identity: [32]byte{id}, Tier: 3, Expires: expires, Key: true}
	}
	for name, c := range map[string]struct {
		change func(*market.Node)
		keys   [][32]byte
		claims []market.Device
		due    bool
	}{
		"shown for the first time": {keys: keys, due: true},
		"held as long as possible": {change: func(n *market.Node) { n.KeysUntil = until }, keys: keys},
		"renewed":                  {change: func(n *market.Node) { n.KeysUntil = now + 100 }, keys: keys, claims: []market.Device{claim(3, 1, now+100), claim(7, 1, now+100)}, due: true},
		"held by another node":     {keys: keys, claims: []market.Device{claim(3, 8, until)}},
		"another's that lapsed":    {keys: keys, claims: []market.Device{claim(3, 8, now-10)}, due: true},
		"not known here":           {},
		"others are known here":    {keys: [][32]byte{{9}}},
		"tier 2":                   {change: func(n *market.Node) { n.Tier = 2 }, keys: keys},
		"lapsed":                   {change: func(n *market.Node) { n.EvidenceExpiry = now - 10 }, keys: keys},
		"suspended":                {change: func(n *market.Node) { n.Status = uint8(market.NodeSuspended) }, keys: keys},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := func(id byte) market.Device {
				return market.Device{Node: solana.PublicKey{1}, Identity: [32]byte{id}, Tier: 3, Expires: until}
			}
			x := evidenceFixture(func(n *market.Node) {
				n.Tier, n.EvidenceHash = 3, market.EvidenceHash([32]byte{1, 2, 3}, keys)
				if c.change != nil {
					c.change(n)
				}
			}, fresh(4), fresh(9))
			for _, k := range c.claims {
				x.Put(market.GPUKeyAddress(k.Identity), &k)
			}
			x.Proven(solana.PublicKey{1}, c.keys)
			x.Read(func(v *view.Accounts) {
				require.True(t, v.ClaimsKnown(v.Nodes[solana.PublicKey{1}]))
				actions, err := Due(v, match.Of(v), self, now, nil)
				require.NoError(t, err)
				if !c.due {
					require.Empty(t, actions)
					return
				}
				require.Len(t, actions, 1)
				accounts := actions[0].Instructions[0].Accounts()
				require.Len(t, accounts, 5)
				require.Equal(t, market.GPUKeyAddress([32]byte{3}), accounts[3].PublicKey, "ascending")
				require.Equal(t, market.GPUKeyAddress([32]byte{7}), accounts[4].PublicKey)
			})
		})
	}
}
