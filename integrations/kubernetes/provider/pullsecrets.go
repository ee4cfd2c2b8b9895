package provider

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	keychains "github.com/google/go-containerregistry/pkg/authn/kubernetes"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

// addAccount puts the account of the pod's pull secrets that opens its image into the order. The server gives the machine a token for
// this image, not the password. Where no secret is for the image's registry, the image has to be public. Error: podspec.ErrRefused.
func (p *Provider) addAccount(ctx context.Context, w *work, pod *corev1.Pod, r *market.OrderRequest) error {
	secrets, err := p.pullSecrets(w, pod)
	if err != nil || len(secrets) == 0 {
		return err
	}
	image, err := name.ParseReference(r.Image)
	if err != nil {
		return nil // the server says what is wrong with it
	}
	keys, err := keychains.NewFromPullSecrets(ctx, secrets)
	if err != nil {
		return fmt.Errorf("%w: its imagePullSecrets cannot be read: %w", podspec.ErrRefused, err)
	}
	auth, err := authn.Resolve(ctx, keys, image.Context())
	if err != nil {
		return fmt.Errorf("%w: its imagePullSecrets cannot be read: %w", podspec.ErrRefused, err)
	}
	account, err := authn.Authorization(ctx, auth)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its imagePullSecrets cannot be read: %w", podspec.ErrRefused, err)
	case auth == authn.Anonymous:
		return nil // none of them is for this registry
	case account.Username == "" || account.Password == "":
		return fmt.Errorf("%w: its imagePullSecrets have a token for %s: use a secret with a user and a password or access token", podspec.ErrRefused, image.Context().RegistryStr())
	}
	r.RegistryUser, r.RegistryPassword = account.Username, account.Password
	return nil
}

// pullSecrets are those of a pod that are there. An event names others, as a kubelet's does.
func (p *Provider) pullSecrets(w *work, pod *corev1.Pod) (all []corev1.Secret, err error) {
	p.mu.Lock()
	lister := p.secrets
	p.mu.Unlock()
	for _, named := range pod.Spec.ImagePullSecrets {
		secret, err := lister.Secrets(pod.Namespace).Get(named.Name)
		switch {
		case apierrors.IsNotFound(err):
			p.event(w, corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret", fmt.Sprintf("secret %q is not there: the image is fetched without it", named.Name))
		case err != nil:
			return nil, fmt.Errorf("%w: secret %q: %w", podspec.ErrRefused, named.Name, err)
		default:
			all = append(all, *secret)
		}
	}
	return all, nil
}
