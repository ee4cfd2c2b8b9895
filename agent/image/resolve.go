package image

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// Resolve returns a reference with the digest that its registry gives it now; one that has a digest is returned as it is. Errors:
// ErrReference, ErrUnusable.
func Resolve(ctx context.Context, reference string, local bool) (string, error) {
	if _, err := jobspec.ParseImage(reference); err == nil {
		return reference, nil
	}
	n, err := name.ParseReference(reference)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrReference, err)
	}
	v := (&Store{o: Options{LocalRegistries: local}}).visitor()
	defer v.next.CloseIdleConnections()
	v.patient.Store(false)
	options := v.options(ctx, Credential{})
	d, err := remote.Head(n, options...)
	if err != nil { // some registries answer such a question badly
		found, failed := remote.Get(n, options...)
		if failed != nil {
			return "", fmt.Errorf("%w: %s has no digest: %w", ErrUnusable, reference, failed)
		}
		d = &found.Descriptor
	}
	return n.Context().Digest(d.Digest.String()).Name(), nil
}
