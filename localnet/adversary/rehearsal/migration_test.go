package rehearsal

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/repository"
)

// The patches of the builds that read models of a later layout fit the sources, without a build of the program: a rehearsal is long.
func TestPatchesFitTheSources(t *testing.T) {
	root := repository.Root(t)
	for _, patch := range []string{"program.patch", "client.patch"} {
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--check", filepath.Join("localnet", "adversary", "rehearsal", "migration", patch))
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", patch, out)
	}
}

// Where the rehearsal looks for a model's version is where the program has it.
func TestAModelsVersionIsWhereTheProgramHasIt(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(repository.Root(t), "idl", "vectors", "layouts.json"))
	require.NoError(t, err)
	var layouts struct {
		Cases []struct {
			Account string         `json:"account"`
			Offsets map[string]int `json:"offsets"`
		} `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(raw, &layouts))
	for _, c := range layouts.Cases {
		if c.Account == "GpuModel" {
			require.Equal(t, modelVersionAt, c.Offsets["version"])
			return
		}
	}
	t.Fatal("layouts.json has no models")
}
