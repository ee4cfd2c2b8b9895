package auction

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
)

func TestMissingDependenciesAreErrors(t *testing.T) {
	k := newMemoryCluster(t, 1, 0).keepers[0]
	options.Without(k.service.o, []string{"Judge", "Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	options.Without(k.awarder.o, []string{"Fetch", "Log", "Tasks"}, func(field string, o AwarderOptions) {
		_, err := NewAwarder(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
