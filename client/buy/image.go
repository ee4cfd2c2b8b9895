package buy

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	oci "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// registryWait is how long a command waits for a registry that is asked too often.
const registryWait = 30 * time.Second

// imagePlatform is that of nodes.
const imagePlatform = ociregistry.OS + "/" + ociregistry.Architecture

// asking are the options of a question to a registry.
func asking(ctx context.Context, more ...oci.Option) []oci.Option {
	return append(more, oci.WithContext(ctx), oci.WithTransport(ociregistry.Patient{Next: oci.DefaultTransport, Most: registryWait}))
}

// resolved is an image by its digest, what it needs of driver and GPUs, and about what it takes on the disk.
type resolved struct {
	reference string
	needs     jobspec.Needs
	mib       uint64
}

// resolveImage returns the reference with the digest of what its registry has under it now, so that the order names
// what runs.
func resolveImage(ctx context.Context, job messages.JobSpec, a access) (resolved, error) {
	ref, img, err := findImage(ctx, job.Image, a)
	if err != nil {
		return resolved{}, err
	}
	fail := func(err error) (resolved, error) {
		var known *service.Failure
		if errors.As(err, &known) {
			return resolved{}, err
		}
		return resolved{}, imageFailure(job.Image, a, ref, err)
	}
	out, err := checkImage(job, img)
	if err != nil {
		return fail(err)
	}
	digest, err := img.Digest()
	if err != nil {
		return fail(err)
	}
	out.reference = ref.Context().Name() + "@" + digest.String()
	return out, nil
}

// findImage is what a registry has under a name now. It asks as a stranger does; only for an image that is not there for everyone, and
// only where the machine may be given a credential, it asks with an account.
func findImage(ctx context.Context, image string, a access) (name.Reference, v1.Image, error) {
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil, nil, usage(fmt.Sprintf("--image %q is not the name of an image", image), "write it as docker does, such as pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime")
	}
	how := asking(ctx)
	found, err := oci.Get(ref, how...)
	if err != nil && isClosed(err) && a.send != sendNothing {
		how = asking(ctx, oci.WithAuthFromKeychain(a.keys()))
		found, err = oci.Get(ref, how...)
	}
	if err != nil {
		return nil, nil, imageFailure(image, a, ref, err)
	}
	img, err := imageOf(image, ref, found, how)
	var known *service.Failure
	if err != nil && !errors.As(err, &known) {
		err = imageFailure(image, a, ref, err)
	}
	return ref, img, err
}

// digestOf is the digest by which machines know an image.
func digestOf(ctx context.Context, image string) (records.Hash, error) {
	ref, img, err := findImage(ctx, image, access{})
	if err != nil {
		return records.Hash{}, err
	}
	digest, err := img.Digest()
	if err != nil {
		return records.Hash{}, imageFailure(image, access{}, ref, err)
	}
	return hashOf(image, digest)
}

// orderedDigest is that of an image as orders name it.
func orderedDigest(image string) (records.Hash, error) {
	_, text, _ := strings.Cut(image, "@")
	digest, err := v1.NewHash(text)
	if err != nil {
		return records.Hash{}, fmt.Errorf("image %q: %w", image, err)
	}
	return hashOf(image, digest)
}

func hashOf(image string, digest v1.Hash) (records.Hash, error) {
	raw, err := hex.DecodeString(digest.Hex)
	if err != nil || digest.Algorithm != "sha256" || len(raw) != len(records.Hash{}) {
		return records.Hash{}, usage(fmt.Sprintf("--image %s has the digest %s", image, digest), "only images with sha256 digests are recorded")
	}
	return records.Hash(raw), nil
}

// imageOf is the image itself, or that of a list which every machine runs: it is ordered by its own digest, so that all machines run the
// same.
func imageOf(image string, ref name.Reference, found *oci.Descriptor, how []oci.Option) (v1.Image, error) {
	if !found.MediaType.IsIndex() {
		return found.Image()
	}
	index, err := found.ImageIndex()
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	chosen, ok := ociregistry.ChooseForAny(list.Manifests)
	if !ok {
		return nil, usage(fmt.Sprintf("--image %s: it is not there for %s", image, imagePlatform), "machines run this platform: build the image for it, or name another")
	}
	return oci.Image(ref.Context().Digest(chosen.Digest.String()), how...)
}

// checkImage refuses what no machine runs, before money is spent. It returns what the image needs of a machine.
func checkImage(job messages.JobSpec, img v1.Image) (resolved, error) {
	m, err := img.Manifest()
	if err != nil {
		return resolved{}, err
	}
	if err := jobspec.CheckManifest(m); err != nil { // it says how large the configuration is
		return resolved{}, unrunnable(job.Image, err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		return resolved{}, err
	}
	return resolved{needs: jobspec.ImageNeeds(c.Config.Env, job.Env), mib: jobspec.ImageMiB(m)}, unrunnable(job.Image, jobspec.CheckImage(job, m, c, jobspec.AnyLevel))
}

// isClosed reports whether a registry refuses to show something. Many say that it is not there.
func isClosed(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) &&
		(answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden || answer.StatusCode == http.StatusNotFound)
}

func imageFailure(image string, a access, ref name.Reference, err error) error {
	var answer *transport.Error
	if isClosed(err) && errors.As(err, &answer) {
		why := fmt.Sprintf("image %s is not there, or not public: the registry answers %d", image, answer.StatusCode)
		if a.send == sendNothing {
			return refused(why, a.closed())
		}
		return refused(why, "check the name, and "+a.advice(ref.Context().RegistryStr()))
	}
	return network(fmt.Sprintf("the registry %s does not say what image %s is: %s", ref.Context().RegistryStr(), image, causeOf(err)), "nothing was bought; try again", err)
}

// causeOf is an error of a request without its URL, which says nothing to a person.
func causeOf(err error) string {
	var answer *transport.Error
	if errors.As(err, &answer) {
		return fmt.Sprintf("it answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return printable.Text(strings.ReplaceAll(err.Error(), "\n", "; "))
}
