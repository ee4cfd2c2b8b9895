package consensus

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/records"
)

// A restart makes the same set again, to the byte, and signs the same manifest.
func TestAManifestSurvivesARestart(t *testing.T) {
	c := newCluster(t, 3)
	p := c.participants[0]
	p.observe(100, 4)
	p.observe(101, 3)
	require.NoError(t, p.store.Seal(c.period))
	r, _, ok := p.engine.chain(c.period)
	require.True(t, ok)
	var seen []statement.Manifest
	for range 3 {
		p.restart()
		s := newPeriodState()
		require.NoError(t, p.engine.announce(t.Context(), r, s))
		seen = append(seen, *s.own)
	}
	require.Equal(t, seen[0], seen[1])
	require.Equal(t, seen[0], seen[2])
	_, refused, err := p.store.Sign([]records.CheckStatement{{
		Domain: domain, Node: solana.PublicKey{102}, Period: c.period, Kind: records.CheckLiveness, CheckedAt: int64(c.period) * secs,
	}}, func(s records.CheckStatement) (solana.Signature, error) { return s.Sign(p.key) })
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.ErrorIs(t, refused[0].Err, store.ErrSealed, "nothing is added to what a manifest was signed for")
}

// An honest keeper whose statements have changed, or are lost, signs no second manifest, and logs it.
func TestNoSecondManifest(t *testing.T) {
	for name, tc := range map[string]struct {
		corrupt  func(p *participant)
		withheld bool
	}{
		"announced with other statements": {func(p *participant) {
			require.NoError(p.cluster.t, p.store.PutManifest(p.cluster.period, store.SetRef{Count: 9}))
		}, true},
		"received with other statements, signed with our key": {func(p *participant) {
			f := statement.Frame{Domain: domain, Period: p.cluster.period, Secs: secs}
			m, err := statement.NewManifest(f, []byte("other"), 1, p.key)
			require.NoError(p.cluster.t, err)
			p.engine.HandleManifest(p.cluster.t.Context(), m.Message())
		}, true},
		"pruned": {func(p *participant) {
			_, err := p.store.Prune(p.cluster.period + 1)
			require.NoError(p.cluster.t, err)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2)
			p, o := c.participants[0], c.participants[1]
			p.observe(100, 4)
			require.NoError(t, p.store.Seal(c.period))
			tc.corrupt(p)
			r, _, ok := p.engine.chain(c.period)
			require.True(t, ok)
			s := newPeriodState()
			received := len(p.engine.cache.manifests(c.period))
			duplicates := 0
			p.engine.o.DuplicateSigner = func(statement.Manifest) { duplicates++ }
			for range 2 {
				require.NoError(t, p.engine.announce(t.Context(), r, s))
				p.engine.wg.Wait()
			}
			require.Nil(t, s.own)
			require.Equal(t, tc.withheld, s.withheld)
			require.Equal(t, received, duplicates)
			require.Len(t, p.engine.cache.manifests(c.period), received)
			require.Empty(t, o.engine.cache.manifests(c.period))
		})
	}
}
