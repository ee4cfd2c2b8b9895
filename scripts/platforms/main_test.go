package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A package that only Linux has is found out, as is one whose parts for another system are wrong.
func TestFaultsOfOtherSystems(t *testing.T) {
	for platform, want := range map[string]string{
		"linux/amd64":   "",
		"darwin/arm64":  "undefined: alone",
		"windows/amd64": "cannot use",
		"windows":       "write GOOS/GOARCH",
	} {
		err := check(t.Context(), platform, []string{"./testdata/linuxonly"}, false)
		if want == "" {
			require.NoError(t, err, platform)
			continue
		}
		require.ErrorContains(t, err, want, platform)
	}
}

// What go vet finds in the sources for a system is found, and only where it is asked for.
func TestVet(t *testing.T) {
	for platform, want := range map[string]string{"linux/amd64": "", "windows/amd64": "of wrong type string"} {
		patterns := []string{"./testdata/vetted"}
		require.NoError(t, check(t.Context(), platform, patterns, false), platform)
		err := check(t.Context(), platform, patterns, true)
		if want == "" {
			require.NoError(t, err, platform)
			continue
		}
		require.ErrorContains(t, err, want, platform)
	}
}

func TestNoPackage(t *testing.T) {
	require.ErrorContains(t, check(t.Context(), "linux/amd64", []string{"errors"}, false), "no package of this module")
}
