package provider

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dockerConfig is a secret as `kubectl create secret docker-registry` makes one.
func dockerConfig(namespace, name, registry, user, password string) *corev1.Secret {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{%q:{"username":%q,"password":%q,"auth":%q}}}`, registry, user, password, auth)},
	}
}

// The account of the image's registry, and no other, goes into the order.
func TestPullSecretsOpenTheRegistryOfTheImage(t *testing.T) {
	for name, c := range map[string]struct {
		image          string
		named          []string
		user, password string
		event          string
	}{
		"of the registry":   {image: "ghcr.io/team/job:1", named: []string{"other", "ghcr"}, user: "me", password: "secret"},
		"of docker's":       {image: "team/job:1", named: []string{"hub"}, user: "hub-user", password: "hub-token"},
		"of another one":    {image: "quay.io/team/job:1", named: []string{"ghcr"}},
		"of none":           {image: "ghcr.io/team/job:1"},
		"of no such secret": {image: "ghcr.io/team/job:1", named: []string{"absent", "ghcr"}, user: "me", password: "secret", event: "FailedToRetrieveImagePullSecret"},
		"of another space":  {image: "ghcr.io/team/job:1", named: []string{"foreign"}, event: "FailedToRetrieveImagePullSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, s := range []*corev1.Secret{
				dockerConfig("default", "ghcr", "ghcr.io", "me", "secret"), dockerConfig("default", "other", "registry.example.org", "x", "y"),
				dockerConfig("default", "hub", "https://index.docker.io/v1/", "hub-user", "hub-token"), dockerConfig("elsewhere", "foreign", "ghcr.io", "x", "y"),
			} {
				require.NoError(t, w.secrets.Add(s))
			}
			pod := gpuPod("private", corev1.RestartPolicyNever)
			pod.Spec.Containers[0].Image = c.image
			for _, n := range c.named {
				pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: n})
			}
			w.create(pod)
			w.until(pod, "running", running)
			w.server.change(func() {
				got := w.server.orders["k8s-uid-private-0"]
				require.Equal(t, c.image, got.Image)
				require.Equal(t, [2]string{c.user, c.password}, [2]string{got.RegistryUser, got.RegistryPassword})
			})
			if c.event != "" {
				require.Contains(t, <-w.events.Events, c.event)
			}
		})
	}
}

// A secret that holds no password says so before an order.
func TestAPullSecretWithoutAPasswordIsRefused(t *testing.T) {
	w := newWorld(t)
	secret := dockerConfig("default", "ghcr", "ghcr.io", "", "")
	secret.Data[corev1.DockerConfigJsonKey] = []byte(`{"auths":{"ghcr.io":{"registrytoken":"abc"}}}`)
	require.NoError(t, w.secrets.Add(secret))
	pod := gpuPod("private", corev1.RestartPolicyNever)
	pod.Spec.Containers[0].Image, pod.Spec.ImagePullSecrets = "ghcr.io/team/job:1", []corev1.LocalObjectReference{{Name: "ghcr"}}
	w.create(pod)
	s := w.until(pod, "failed", phase(corev1.PodFailed))
	require.Contains(t, fmt.Sprint(s), "a secret with a user and a password")
	w.server.change(func() { require.Empty(t, w.server.bought) })
}
