package market

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatMovesInSteps(t *testing.T) {
	old := DefaultParams()
	for _, c := range []struct {
		name   string
		change func(*Params)
		want   []string
	}{
		{"nothing", func(*Params) {}, nil},
		{"a parameter without steps", func(p *Params) { p.FeeBps = 1500 }, nil},
		{"half and twice", func(p *Params) { p.StakePrice /= 2; p.MinBond *= 2 }, nil},
		{"less than half", func(p *Params) { p.StakePrice = p.StakePrice/2 - 1 }, []string{"stake_price"}},
		{"more than twice", func(p *Params) { p.EmissionCap = 2*p.EmissionCap + 1 }, []string{"emission_cap"}},
		{"two of them", func(p *Params) { p.WeightCap = math.MaxUint64; p.SlashOfflineBps = 0 }, []string{"weight_cap", "slash_offline_bps"}},
	} {
		p := old
		c.change(&p)
		require.Equal(t, c.want, TooFar(&p, &old), c.name)
	}
	zero := old
	zero.EmissionCap = 0
	require.Equal(t, []string{"emission_cap"}, TooFar(&old, &zero), "what is 0 stays 0")
}

func TestWhichProposalIsAStep(t *testing.T) {
	var m Market
	m.Params = DefaultParams()
	step, other := m.Params, m.Params
	step.StakePrice *= 2
	other.FeeBps = 1500
	require.True(t, m.Steps(&step))
	require.False(t, m.Steps(&other))
	m.Params.AllowSimulated = 1
	require.False(t, m.Steps(&step), "a simulated market does not wait")
}
