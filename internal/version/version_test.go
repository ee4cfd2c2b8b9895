package version

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "d2f72e8507a1c4b2a9e6"}, {Key: "vcs.time", Value: "2026-11-30T20:07:09Z"}, {Key: "vcs.modified", Value: "false"}}
	changed := append(commit[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, c := range []struct {
		name, release string
		info          *debug.BuildInfo
		build, long   string
	}{
		{"package", "1.2.3", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: commit}, "1.2.3", "1.2.3, commit d2f72e8507a1 of 2026-11-30"},
		{"go build", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261130200709-d2f72e8507a1+dirty"}, Settings: changed}, "0.0.0-20261130200709-d2f72e8507a1+dirty", "0.0.0-20261130200709-d2f72e8507a1+dirty, commit d2f72e8507a1 with changes of 2026-11-30"},
		{"go install of a version", "", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "1.2.3", "1.2.3"},
		{"a test, or no git", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev", "dev"},
		{"no module", "", nil, "dev", "dev"},
	} {
		build, long := describe(c.release, c.info)
		require.Equal(t, c.build, build, c.name)
		require.Equal(t, c.long, long, c.name)
	}
}

// The linker sets the version of the packages: a program says what it was told, not what Go has recorded.
func TestLinkerSetsVersion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "shows")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X github.com/gantry-market/gantry/internal/version.release=9.8.7", "-o", program, "./testdata/shows").CombinedOutput()
	require.NoError(t, err, string(out))
	shown, err := exec.CommandContext(t.Context(), program).Output()
	require.NoError(t, err)
	require.Regexp(t, `^9\.8\.7(, commit [0-9a-f]{12}( with changes)? of \d{4}-\d\d-\d\d)?\n$`, string(shown))
}
