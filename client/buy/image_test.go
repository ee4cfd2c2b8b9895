package buy

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	oci "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
)

// running is a job with an image.
func running(image string) messages.JobSpec {
	return messages.JobSpec{Image: image, Command: []string{"true"}}
}

func TestImagesAreResolvedToDigests(t *testing.T) {
	tagged, want := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	for _, given := range []string{tagged, want} {
		got, err := resolveImage(t.Context(), running(given), access{})
		require.NoError(t, err)
		require.Equal(t, want, got.reference)
	}
}

// What an image needs of the driver is known before the order.
func TestAnImageSaysItsCUDA(t *testing.T) {
	tagged, _ := imagetest.Serve(t, "amd64", v1.Config{Env: []string{"NVIDIA_REQUIRE_CUDA=cuda>=12.8 brand=tesla,driver>=535,driver<536"}}, imagetest.Layer(t))
	got, err := resolveImage(t.Context(), running(tagged), access{})
	require.NoError(t, err)
	require.Equal(t, market.CUDA(1208), got.needs.CUDA(0))
	require.EqualValues(t, 1, got.mib, "and about what it takes on the disk")
	job := running(tagged)
	job.Env = map[string]string{"NVIDIA_DISABLE_REQUIRE": "1"}
	got, err = resolveImage(t.Context(), job, access{})
	require.NoError(t, err)
	require.Zero(t, got.needs.CUDA(0))
}

func TestImagesThatCannotRunAreRefusedBeforeTheOrder(t *testing.T) {
	tagged, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	foreign, _ := imagetest.Serve(t, "arm64", v1.Config{}, imagetest.Layer(t))
	for given, want := range map[string]string{
		"Not An Image":                             "not the name of an image",
		strings.Replace(tagged, "v1", "v2", 1):     "not there, or not public",
		strings.Replace(tagged, "team", "your", 1): "not there, or not public",
		foreign:                   "arm64",
		"127.0.0.1:1/team/job:v1": "does not say what image 127.0.0.1:1/team/job:v1 is: dial tcp 127.0.0.1:1: connect: connection refused",
	} {
		_, err := resolveImage(t.Context(), running(given), access{})
		require.ErrorContains(t, err, want, given)
	}
}

// A machine of a stranger gets a token for one repository, and a password only where there is nothing else and the
// customer says so. Nothing is sent for an image that is there for everyone.
func TestClosedRegistries(t *testing.T) {
	private := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("secret", "x")))
	for _, tokens := range []bool{true, false} {
		r := imagetest.Closed(t, tokens)
		tagged, digested := r.Push(t, "team/private", private, imagetest.Auth())
		t.Setenv("DOCKER_CONFIG", imagetest.Login(t, r))
		_, err := resolveImage(t.Context(), running(tagged), access{docker: true})
		require.ErrorContains(t, err, "not public")
		require.Contains(t, classify(err).Advice, "--registry-credentials token")
		got, err := resolveImage(t.Context(), running(tagged), access{send: sendToken, docker: true})
		require.NoError(t, err)
		require.Equal(t, digested, got.reference)
		c, err := registryCredential(t.Context(), digested, access{send: sendToken, docker: true})
		if !tokens {
			require.ErrorContains(t, err, "only passwords open it")
			c, err = registryCredential(t.Context(), digested, access{send: sendPassword, docker: true})
			require.NoError(t, err)
			require.Equal(t, &messages.RegistryCredential{User: imagetest.User, Password: imagetest.Password}, c)
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, c.Token)
		require.Empty(t, c.User+c.Password)
		raw, err := base64.RawURLEncoding.DecodeString(strings.Split(c.Token, ".")[1])
		require.NoError(t, err)
		require.Contains(t, string(raw), `"access":[{"actions":["pull"],"name":"team/private","type":"repository"}]`)

		t.Setenv("DOCKER_CONFIG", t.TempDir())
		_, err = resolveImage(t.Context(), running(tagged), access{send: sendToken, docker: true})
		require.Contains(t, classify(err).Advice, "docker login "+r.Host)
	}
	_, public := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	c, err := registryCredential(t.Context(), public, access{send: sendToken, docker: true})
	require.NoError(t, err)
	require.Nil(t, c)
	require.Error(t, (&Request{Registry: "everything"}).checkRegistry())
}

// A request may name an account of its own. Docker's logins are not looked at then, and a program that buys for others has none.
func TestARequestNamesAnAccountOfARegistry(t *testing.T) {
	private := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("secret", "x")))
	r := imagetest.Closed(t, true)
	tagged, digested := r.Push(t, "team/private", private, imagetest.Auth())
	t.Setenv("DOCKER_CONFIG", imagetest.Login(t, r))
	server, person := &Buyer{}, &Buyer{o: Options{DockerLogins: true}}
	request := Request{Image: tagged, Command: []string{"true"}, RegistryUser: imagetest.User, RegistryPass: imagetest.Password}
	for _, b := range []*Buyer{server, person} {
		require.NoError(t, request.checkRegistry())
		got, err := resolveImage(t.Context(), running(tagged), b.registry(&request))
		require.NoError(t, err)
		require.Equal(t, digested, got.reference)
		c, err := registryCredential(t.Context(), digested, b.registry(&request))
		require.NoError(t, err)
		require.NotEmpty(t, c.Token, "a token is sent unless the request says otherwise")
		require.Empty(t, c.User+c.Password)

		wrong := request
		wrong.RegistryPass = "wrong"
		_, err = resolveImage(t.Context(), running(tagged), b.registry(&wrong))
		require.ErrorContains(t, err, "not public")
		require.Contains(t, classify(err).Advice, "registryUser", "also where docker has a login that would do")
	}
	for _, send := range []string{sendNothing, sendToken, sendPassword} {
		_, err := resolveImage(t.Context(), running(tagged), server.registry(&Request{Image: tagged, Registry: send}))
		require.ErrorContains(t, err, "not public", "the owner's logins are not for others")
		_, err = registryCredential(t.Context(), digested, server.registry(&Request{Image: tagged, Registry: send}))
		require.Equal(t, send != sendNothing, err != nil, "%q: %v", send, err)
	}
	for _, half := range []Request{{Image: tagged, RegistryUser: "x"}, {Image: tagged, RegistryPass: "x"}, {RegistryUser: "x", RegistryPass: "x"}} {
		requireUsage(t, half.checkRegistry(), "--registry-user")
	}
}

// Registries name a token in two ways, and some put the password into it.
func TestTokensOfRegistries(t *testing.T) {
	const digested = "team/private@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for answer, want := range map[string]string{
		`{"token":"abc"}`: "abc", `{"access_token":"def"}`: "def", `{"token":"abc","access_token":"def"}`: "def", `{"expires_in":60}`: "",
		`{"token":"x-hunter22-y"}`: "", `{"token":"` + base64.StdEncoding.EncodeToString([]byte("me:hunter22")) + `"}`: "",
	} {
		var at string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				_, _ = w.Write([]byte(answer))
				return
			}
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="registry"`, at))
			w.WriteHeader(http.StatusUnauthorized)
		}))
		at = s.URL
		c, err := registryCredential(t.Context(), strings.TrimPrefix(s.URL, "http://")+"/"+digested, access{send: sendToken, user: "me", password: "hunter22"})
		s.Close()
		if want == "" {
			require.Error(t, err, answer)
			require.NotContains(t, err.Error(), "hunter22")
			continue
		}
		require.NoError(t, err, answer)
		require.Equal(t, want, c.Token)
	}
}

// A server has no account to give unless the request has one: a command that continues its purchase has none to give either.
func TestAServerKeepsNoWordForLoginsOfItsOwner(t *testing.T) {
	for _, docker := range []bool{false, true} {
		b := &Buyer{o: Options{DockerLogins: docker}}
		d, err := b.newDeal(t.Context(), view.New(view.Options{}), market.Market{}, terms{request: Request{Registry: sendPassword}}, nil, purchase.Purchase{})
		require.NoError(t, err)
		require.Equal(t, docker, d.p.Registry == sendPassword)
	}
}

// What a purchase keeps opens the registry until it is over, and is forgotten then.
func TestAPurchaseForgetsItsRegistryAccount(t *testing.T) {
	p := purchase.Purchase{Registry: sendToken, RegistryUser: "user", RegistryPass: "password"}
	require.Equal(t, access{send: sendToken, user: "user", password: "password"}, new(Buyer).registryOf(&p))
	p.End(0, "", nil)
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "password")
	require.NotContains(t, string(raw), `"user"`)
}

// The order names the image itself, not the list that it is in, and one that every machine runs. What no machine takes is refused before
// money is spent.
func TestListsAndLayersAreKnownBeforeTheOrder(t *testing.T) {
	r := imagetest.Start(t, nil)
	images := map[string]v1.Image{}
	for _, variant := range []string{"v4", "", "v3"} {
		images[variant] = imagetest.Image(t, "amd64", v1.Config{Env: []string{"FOR=" + variant}}, imagetest.Layer(t, imagetest.File("x", variant)))
	}
	at, err := name.ParseReference(r.Host + "/team/list:v1")
	require.NoError(t, err)
	index := v1.ImageIndex(empty.Index)
	for _, variant := range []string{"v4", "", "v3"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: images[variant], Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: "amd64", Variant: variant},
		}})
	}
	require.NoError(t, oci.WriteIndex(at, index))
	got, err := resolveImage(t.Context(), running(at.String()), access{})
	require.NoError(t, err)
	digest, err := images[""].Digest()
	require.NoError(t, err)
	require.Equal(t, r.Host+"/team/list@"+digest.String(), got.reference)

	var layers []v1.Layer
	for i := range ociregistry.MaxLayers + 1 {
		layers = append(layers, imagetest.Layer(t, imagetest.File("x", fmt.Sprint(i))))
	}
	tagged, _ := r.Push(t, "team/many", imagetest.Image(t, "amd64", v1.Config{}, layers...))
	_, err = resolveImage(t.Context(), running(tagged), access{})
	require.ErrorContains(t, err, "101 layers, machines take 1 to 100")
	tagged, _ = r.Push(t, "team/most", imagetest.Image(t, "amd64", v1.Config{}, layers[1:]...))
	_, err = resolveImage(t.Context(), running(tagged), access{})
	require.NoError(t, err)
}
