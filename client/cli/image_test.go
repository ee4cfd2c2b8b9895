package cli

import (
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

func TestImagesAreResolvedToDigests(t *testing.T) {
	tagged, want := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	for _, given := range []string{tagged, want} {
		got, err := resolveImage(t.Context(), given)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestImagesThatCannotRunAreRefusedBeforeTheOrder(t *testing.T) {
	tagged, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	foreign, _ := imagetest.Serve(t, "arm64", v1.Config{}, imagetest.Layer(t))
	for given, want := range map[string]string{
		"Not An Image":                             "not the name of an image",
		strings.Replace(tagged, "v1", "v2", 1):     "not there, or not public",
		strings.Replace(tagged, "team", "your", 1): "not there, or not public",
		foreign:                   "arm64",
		"127.0.0.1:1/team/job:v1": "does not say what image",
	} {
		_, err := resolveImage(t.Context(), given)
		require.ErrorContains(t, err, want, given)
	}
}
