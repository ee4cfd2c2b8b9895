//go:build linux && (amd64 || arm64)

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/attest/measure/internal/fakecuda"
)

// Trees of lanes of any number of walks are those that package measure makes of the same walks, and lanes that are made
// again end where they did.
func TestTreesOfLanes(t *testing.T) {
	l := fakecuda.Build(t)
	d, err := Open(t.Context(), Options{Driver: l.Path, BLAS: "none"})
	require.NoError(t, err)
	m := &measurement{d: d, p: measure.Profile{Order: 1024, Rows: 1024, Resident: 1, Lanes: 4}, seed: measure.Hash{7}}
	require.NoError(t, d.do(t.Context(), func() (err error) {
		m.memory, err = d.alloc(m.p.Memory())
		return err
	}))
	for walks := uint32(1); walks <= 9; walks++ {
		require.NoError(t, d.do(t.Context(), func() error {
			l := &lanes{m: m, count: 4}
			var err error
			if l.states, err = d.alloc(16 * 4); err != nil {
				return err
			}
			if err := m.laneStates(l.states.at, 0, 4); err != nil {
				return err
			}
			for range walks {
				if err := l.step(); err != nil {
					return err
				}
			}
			roots, err := l.roots()
			if err != nil {
				return err
			}
			m.lanes = make([]measure.Hash, 4)
			if err := roots.hashes(m.lanes); err != nil {
				return err
			}
			top, err := l.root(roots)
			require.Equal(t, measure.Root(m.lanes), top, "%d walks", walks)
			require.NoError(t, l.free())
			return err
		}), "%v", l.Failure())
		m.result.Walks = walks
		opened, err := m.Walks(t.Context(), []measure.WalkAt{{Lane: 3}, {Lane: 1, Walk: walks - 1}, {Lane: 0, Walk: walks / 2}, {Lane: 2}, {Lane: 3, Walk: walks - 1}})
		require.NoError(t, err, "%d walks: %v", walks, l.Failure())
		require.Len(t, opened, 5)
		last := opened[1]
		lane := measure.Climb(measure.WalkHash(last.Start, last.End), walks-1, last.Path)
		require.Equal(t, m.lanes[1], lane)
		require.Equal(t, measure.Root(m.lanes), measure.Climb(lane, 1, last.LanePath))
		m.lanes[3][0]++
		_, err = m.Walks(t.Context(), []measure.WalkAt{{Lane: 3}})
		require.ErrorIs(t, err, ErrRecomputed)
	}
	require.NoError(t, m.Close())
	require.NoError(t, d.Close())
	require.Equal(t, fakecuda.Alive{}, l.Alive())
}
