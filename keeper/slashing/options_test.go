package slashing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
)

func TestMissingDependenciesAreErrors(t *testing.T) {
	options.Without(newFixture(t, "").service.o, []string{"Log"}, func(field string, o Options) {
		_, err := New(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
