package consensus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/records"
)

// A proposal waits while the committees' seed is not known, also one that leaves out a keeper whose statements are
// here; then it is checked.
func TestProposalWaitsForTheSeed(t *testing.T) {
	c := newCluster(t, 7) // more than a committee
	for i, p := range c.participants {
		p.observe(100, uint32(i%4+1))
		require.NoError(t, p.store.Seal(c.period))
	}
	c.began = time.Now()
	p, proposer, leftOut := c.participants[0], c.participants[1], c.participants[6]
	known := false
	p.engine.o.Seeds = func(records.Period) (committee.Seed, bool) { return committee.Seed{}, known }
	for _, o := range c.participants[1:] {
		raw, m := c.setOf(o)
		require.True(t, p.engine.addManifest(m))
		p.engine.cache.putSet(m, raw, c.now().Add(-time.Minute))
	}
	m := c.proposalOf(proposer, leftOut)
	p.engine.consider(t.Context(), m)
	s := p.engine.state(c.period)
	require.Contains(t, s.proposals.waiting, records.Hash(m.Root))
	require.Equal(t, unchecked, s.proposals.of(m.Root).standing)

	known = true
	p.engine.considerAll(t.Context(), s.proposals.takeWaiting())
	require.Empty(t, s.proposals.waiting)
	require.Equal(t, omitting, s.proposals.of(m.Root).standing)
	require.NotNil(t, p.engine.Set(c.period, m.Root))
	p.engine.wg.Wait()
}
