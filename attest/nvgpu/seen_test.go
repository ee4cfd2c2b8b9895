package nvgpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest"
)

// Who sends manifests that hold nothing makes a keeper read two of them.
func TestBadManifestsAreReadTwiceAtMost(t *testing.T) {
	var s seen
	now := time.Unix(1_790_000_000, 0)
	for i, junk := range []string{"<a/>", "<b/>"} {
		_, err := s.manifest([]byte(junk), now, Roots{})
		require.ErrorIs(t, err, attest.ErrMalformed)
		require.Len(t, s.bad, i+1)
	}
	_, err := s.manifest([]byte("<c/>"), now, Roots{})
	require.ErrorIs(t, err, attest.ErrUntrusted)
	require.ErrorContains(t, err, "2 other manifests have failed")
	require.Len(t, s.bad, 2)
	_, err = s.manifest([]byte("<a/>"), now.Add(time.Hour), Roots{})
	require.ErrorIs(t, err, attest.ErrMalformed, "it may have been of another time")
	require.Empty(t, s.manifests)
}
