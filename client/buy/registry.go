package buy

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	oci "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/messages"
)

// What machines get to fetch an image that is not public.
const (
	sendNothing  = ""         // such images are refused
	sendToken    = "token"    // a token of the registry that may read one repository
	sendPassword = "password" // the password of the account, for registries without tokens
)

// access is the account for the registry of an image that is not public, and what machines get of it.
type access struct {
	send           string // what machines get of it
	user, password string // an account; empty for one of docker's logins
	docker         bool   // docker's logins on this computer may be used
}

// registry is what the request says of it.
func (b *Buyer) registry(r *Request) access {
	return access{send: r.sends(), user: r.RegistryUser, password: r.RegistryPass, docker: b.o.DockerLogins}
}

// registryOf is what a purchase keeps of it.
func (b *Buyer) registryOf(p *purchase.Purchase) access {
	return access{send: p.Registry, user: p.RegistryUser, password: p.RegistryPass, docker: b.o.DockerLogins}
}

// sends is what machines get for an image that is not public.
func (r *Request) sends() string {
	if r.Registry == sendNothing && r.RegistryUser != "" {
		return sendToken
	}
	return r.Registry
}

// checkRegistry checks what the request says of it.
func (r *Request) checkRegistry() error {
	switch send := r.sends(); {
	case send != sendNothing && send != sendToken && send != sendPassword:
		return usage(fmt.Sprintf("--registry-credentials is %q", send), "give token, or password for a registry that has no tokens")
	case (r.RegistryUser == "") != (r.RegistryPass == ""):
		return usage("--registry-user and --registry-password belong together", "give both, or neither, and log in with docker login")
	case r.RegistryUser != "" && r.Image == "":
		return usage("--registry-user is for images", "name the --image that it may read")
	}
	return nil
}

// keys are the accounts by registry. An account that is given opens the image's registry, and docker's logins are not looked at.
func (a access) keys() authn.Keychain {
	switch {
	case a.user != "":
		return account(authn.AuthConfig{Username: a.user, Password: a.password})
	case a.docker:
		return authn.DefaultKeychain
	}
	return authn.NewMultiKeychain() // none
}

// advice is what a person does whose account a registry does not take.
func (a access) advice(registry string) string {
	if a.user == "" && a.docker {
		return "docker login " + registry
	}
	return "give registryUser and registryPassword of an account that may read it at " + registry
}

// closed is what a person does about an image that is not public, where machines get nothing of an account.
func (a access) closed() string {
	if a.docker {
		return "check the name; for a private image log in with docker login, and let the machine have a token for it: --registry-credentials token"
	}
	return "check the name; for a private image give registryUser and registryPassword"
}

// account is the one that opens the registry that is asked.
type account authn.AuthConfig

// Resolve implements [authn.Keychain].
func (a account) Resolve(authn.Resource) (authn.Authenticator, error) {
	return authn.FromConfig(authn.AuthConfig(a)), nil
}

// reveals reports whether a token holds the password, as it is or in base64: tokens of some registries do.
func reveals(token, password string) bool {
	if password == "" {
		return false
	}
	if strings.Contains(token, password) {
		return true
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if raw, err := encoding.DecodeString(token); err == nil && strings.Contains(string(raw), password) {
			return true
		}
	}
	return false
}

// registryCredential returns what a machine needs to fetch an image: nothing where it is there for everyone. A token
// opens one repository for reading and expires; the password behind it stays here.
func registryCredential(ctx context.Context, image string, a access) (*messages.RegistryCredential, error) {
	if a.send == sendNothing || image == "" {
		return nil, nil
	}
	ref, err := name.NewDigest(image)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", image, err)
	}
	if _, err := oci.Get(ref, asking(ctx)...); err == nil {
		return nil, nil
	} else if !isClosed(err) {
		return nil, imageFailure(image, a, ref, err)
	}
	auth, err := authn.Resolve(ctx, a.keys(), ref.Context())
	if err != nil {
		return nil, refused(fmt.Sprintf("the credentials of %s cannot be read: %v", ref.Context().RegistryStr(), err), a.advice(ref.Context().RegistryStr()))
	}
	challenge, err := transport.Ping(ctx, ref.Context().Registry, http.DefaultTransport)
	if err != nil {
		return nil, imageFailure(image, a, ref, err)
	}
	if strings.EqualFold(challenge.Scheme, "bearer") {
		token, err := transport.Exchange(ctx, ref.Context().Registry, auth, http.DefaultTransport, []string{ref.Context().Scope(transport.PullScope)}, challenge)
		if err != nil {
			return nil, imageFailure(image, a, ref, err)
		}
		given := cmp.Or(token.AccessToken, token.Token) // registries name it in either way
		switch config, err := authn.Authorization(ctx, auth); {
		case given == "":
			return nil, refused(fmt.Sprintf("the registry %s gives out a token that is empty", ref.Context().RegistryStr()), a.advice(ref.Context().RegistryStr()))
		case a.send != sendPassword && (err != nil || reveals(given, config.Password)):
			return nil, refused(fmt.Sprintf("the token of the registry %s holds the password itself, which the machine's owner could read", ref.Context().RegistryStr()),
				"make an access token that may only read this repository, give it as the password, and add --registry-credentials password")
		}
		return &messages.RegistryCredential{Token: given}, nil
	}
	if a.send != sendPassword {
		return nil, refused(fmt.Sprintf("the registry %s gives out no tokens, only passwords open it", ref.Context().RegistryStr()),
			"the machine's owner could read the password: make an account that may only read this repository, log in with it, and add --registry-credentials password")
	}
	config, err := authn.Authorization(ctx, auth)
	if err != nil || config.Username == "" {
		return nil, refused(fmt.Sprintf("there is no name and password for %s", ref.Context().RegistryStr()), a.advice(ref.Context().RegistryStr()))
	}
	return &messages.RegistryCredential{User: config.Username, Password: config.Password}, nil
}
