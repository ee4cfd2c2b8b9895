//go:build e2e

package scenario

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/adversary/honest"
)

// Some minutes of what `gantry-localnet honest` does for an hour: machines of newcomers whose RPC nodes are behind, on a fork,
// or answer nothing, on a busy computer. None of them loses stake, a job or its record; the cheats beside them do.
func TestHonestMachinesKeepStakeAndJobs(t *testing.T) {
	long.Test(t, "minutes of bad RPC nodes beside busy loops")
	report := filepath.Join(t.ArtifactDir(), "honest.md")
	r, err := honest.Run(t.Context(), honest.Bad(honest.Options{
		Engine: kind(t), Dir: stateDir(t), For: 2 * time.Minute, Period: 7 * time.Second, Busy: 2, Out: os.Stderr, Log: warnings(t),
	}))
	require.NoError(t, err)
	page, err := os.Create(report)
	require.NoError(t, err)
	require.NoError(t, r.Markdown(page))
	require.NoError(t, page.Close())
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	t.Log(string(text))
	require.Empty(t, r.Wrong())
}
