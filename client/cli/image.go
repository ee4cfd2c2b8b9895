package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	oci "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// imagePlatform is that of nodes: agents run on it alone.
var imagePlatform = v1.Platform{OS: "linux", Architecture: "amd64"}

// resolveImage returns the reference with the digest of what its registry has under it now, so that the order names what
// runs. It asks as a stranger does, because nodes fetch images without credentials.
func resolveImage(ctx context.Context, image string) (string, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return "", usage(fmt.Sprintf("--image %q is not the name of an image", image), "write it as docker does, such as pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime")
	}
	found, err := oci.Get(ref, oci.WithContext(ctx), oci.WithPlatform(imagePlatform))
	if err != nil {
		return "", imageFailure(image, ref, err)
	}
	img, err := found.Image()
	if err != nil {
		return "", refused(fmt.Sprintf("image %s is not there for %s", image, imagePlatform), "nodes run this platform: build the image for it, or name another")
	}
	config, err := img.ConfigFile()
	if err != nil {
		return "", imageFailure(image, ref, err)
	}
	if config.OS != imagePlatform.OS || config.Architecture != imagePlatform.Architecture {
		return "", refused(fmt.Sprintf("image %s is for %s/%s, nodes are %s", image, config.OS, config.Architecture, imagePlatform), "build the image for this platform, or name another")
	}
	return ref.Context().Name() + "@" + found.Digest.String(), nil
}

func imageFailure(image string, ref name.Reference, err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound) {
		return refused(fmt.Sprintf("image %s is not there, or not public: the registry answers %d", image, answer.StatusCode), "check the name; nodes fetch public images only")
	}
	return network(fmt.Sprintf("the registry %s does not say what image %s is", ref.Context().RegistryStr(), image), "nothing was bought; try again", err)
}
