package image

import (
	"os"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// served is an image of these layers in a registry of this machine.
func served(t *testing.T, arch string, layers ...v1.Layer) Reference {
	t.Helper()
	_, digested := imagetest.Serve(t, arch, v1.Config{Entrypoint: []string{"/bin/job"}}, layers...)
	return parsed(t, digested)
}

func parsed(t *testing.T, text string) Reference {
	t.Helper()
	r, err := Parse(text)
	require.NoError(t, err)
	return r
}

func newStore(t *testing.T) *Store { return storeWith(t, Options{}) }

// storeWith is a store that visits registries of this machine.
func storeWith(t *testing.T, o Options) *Store {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: unpacking images needs root: run the tests as root")
	}
	o.LocalRegistries = true
	s, err := Open(t.TempDir(), o)
	require.NoError(t, err)
	return s
}

func fetch(t *testing.T, s *Store, r Reference, limit int64) (Image, error) {
	t.Helper()
	return s.Pull(t.Context(), r, PullOptions{Limit: limit})
}
