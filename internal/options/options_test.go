package options

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type sample struct {
	Name  string
	Call  func()
	Extra *int
	Flag  bool
	other int
}

func TestComplete(t *testing.T) {
	full := sample{Name: "a", Call: func() {}, other: 0}
	require.NoError(t, Complete("sample", full, "Extra"))
	err := Complete("sample", sample{Name: "a"}, "Extra")
	require.ErrorIs(t, err, ErrMissing)
	require.EqualError(t, err, "sample: required options are missing: Call")
	require.ErrorContains(t, Complete("sample", sample{}), "Name, Call, Extra")
	require.Panics(t, func() { _ = Complete("sample", full, "Extras") })
	var seen []string
	Without(full, []string{"Extra"}, func(field string, o sample) {
		seen = append(seen, field)
		require.ErrorContains(t, Complete("sample", o, "Extra"), field)
	})
	require.Equal(t, []string{"Name", "Call"}, seen)
}
