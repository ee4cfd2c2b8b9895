package market_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func model(stake market.GNT, price market.PricePerHour) *market.Model {
	m := &market.Model{}
	m.Id, m.Name, m.MinStake, m.ReferencePrice = 1, market.Text32("H100"), uint64(stake), uint64(price)
	return m
}

func broken(all []market.Relation) []string {
	var names []string
	for _, r := range all {
		if !r.Holds {
			names = append(names, r.Name)
		}
	}
	return names
}

// The parameters that a market gets if nobody says otherwise hold every relation, with the models of the local network.
// It holds finding C 7.
func TestRelationsHoldForTheProtocolsParameters(t *testing.T) {
	p := market.DefaultParams()
	require.Empty(t, broken(market.Relations(&p)))
	require.Empty(t, broken(market.ModelRelations(&p, model(200*market.OneGNT, 2_400_000))))
	require.Empty(t, broken(market.ModelRelations(&p, model(100*market.OneGNT, 1_300_000))))
	for _, r := range append(market.Relations(&p), market.ModelRelations(&p, model(200*market.OneGNT, 2_400_000))...) {
		require.NotEmpty(t, r.Name)
		require.NotEmpty(t, r.Figures, r.Name)
		require.True(t, r.Enforced || r.Assumption != "", "%s: what nobody checks says what it assumes", r.Name)
	}
}

// It holds finding C 7.
func TestEachRelationBreaksByItsParameters(t *testing.T) {
	for name, change := range map[string]func(*market.Params){
		"a finder's part is small":                                          func(p *market.Params) { p.FinderBps = 1_001 },
		"emission follows fees at a distance":                               func(p *market.Params) { p.EmissionBps = 2_001 },
		"a verdict needs more than two thirds, and a few cannot hold it up": func(p *market.Params) { p.QuorumBps = 10_000 },
		"stake stays until a fault can be applied":                          func(p *market.Params) { p.UnstakeCooldownSecs = p.ReportRetentionSecs },
		"a bond stays while an award can be contested":                      func(p *market.Params) { p.ChallengeSecs = p.KeeperExitSecs + 1 },
		"paying fees to oneself loses":                                      func(p *market.Params) { p.EmissionBps, p.KeeperBps, p.AwardBps = 2_000, 10_000, 6_000 },
	} {
		p := market.DefaultParams()
		change(&p)
		require.Equal(t, []string{name}, broken(market.Relations(&p)))
	}
	p := market.DefaultParams()
	require.Equal(t, []string{"H100: a slash covers the harm", "H100: cheating loses"}, broken(market.ModelRelations(&p, model(50*market.OneGNT, 2_400_000))))
}
