package image

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// What a credential has opened is for those whom a credential of their own opens it, also when it is in the cache.
func TestHostileCustomersGetNoPrivateImages(t *testing.T) {
	s := newStore(t)
	registry := imagetest.Closed(t, false)
	secret := imagetest.Layer(t, imagetest.File("secret", "of another customer"))
	_, digested := registry.Push(t, "team/private", imagetest.Image(t, "amd64", v1.Config{}, secret), imagetest.Auth())
	r := parsed(t, digested)
	owner := PullOptions{Limit: 1 << 20, Credential: Credential{User: imagetest.User, Password: imagetest.Password}}
	i, err := s.Pull(t.Context(), r, owner)
	require.NoError(t, err)
	again, err := s.Pull(t.Context(), r, owner)
	require.NoError(t, err)
	require.Equal(t, i, again)
	for _, c := range []Credential{{}, {User: imagetest.User, Password: "guess"}, {User: "other", Password: imagetest.Password}, {Token: "invented"}} {
		_, err := s.Pull(t.Context(), r, PullOptions{Limit: 1 << 20, Credential: c})
		require.ErrorIs(t, err, ErrUnusable)
		require.ErrorContains(t, err, "401")
	}

	// Somebody who knows what the layer is called puts the name into an image of its own, and something else below it.
	diffID, err := secret.DiffID()
	require.NoError(t, err)
	for name, c := range map[string]Credential{"open": {}, "with a credential": {Token: "of the thief's own registry"}} {
		t.Run(name, func(t *testing.T) {
			stolen := servedRaw(t, imagetest.Start(t, nil), []byte("anything"), types.OCIUncompressedLayer, diffID)
			_, err := s.Pull(t.Context(), stolen, PullOptions{Limit: 1 << 20, Credential: c})
			require.ErrorIs(t, err, ErrUnusable)
		})
	}
}

func TestCredentialsAreNotPrinted(t *testing.T) {
	require.Equal(t, "(credential)", Credential{Token: "t", Password: "p"}.String())
}
