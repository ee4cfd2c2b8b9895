package image

import (
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

var (
	// ErrReference: the image is not named by a digest.
	ErrReference = errors.New("image: not a reference with a digest")
	// ErrUnusable: the image is not there, or cannot be run on this machine.
	ErrUnusable = errors.New("image: cannot be used")
	// ErrTooLarge: the image holds more than the node takes.
	ErrTooLarge = errors.New("image: too large")
)

// Reference names an image by its content, so that what runs is what was ordered.
type Reference struct{ name name.Digest }

// Parse reads "registry/repository@sha256:…". A tag beside the digest is ignored. Errors: ErrReference.
func Parse(s string) (Reference, error) {
	n, err := jobspec.ParseImage(s)
	if err != nil {
		return Reference{}, fmt.Errorf("%w: %w", ErrReference, err)
	}
	return Reference{name: n}, nil
}

func (r Reference) String() string { return r.name.Name() }
