package check

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/options"
)

func TestMissingDependenciesAreErrors(t *testing.T) {
	checker, _, _ := newChecker(t, nil)
	checker.o.Asker = Network{}
	options.Without(checker.o, append([]string{"Asker"}, checkerOptional...), func(field string, o CheckerOptions) {
		_, err := NewChecker(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
	o := checker.o
	o.Asker = nil
	_, err := NewChecker(o)
	require.ErrorContains(t, err, "Asker")
	recorder := newRecorderFixture(t, filepath.Join(t.TempDir(), "keeper.db"), 600)
	options.Without(recorder.o, []string{"Log"}, func(field string, o RecorderOptions) {
		_, err := NewRecorder(o)
		require.ErrorIs(t, err, options.ErrMissing, field)
	})
}
