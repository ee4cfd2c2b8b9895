package jobspec

import (
	"maps"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/sdk/messages"
)

const (
	// MaxConfigBytes is the largest configuration of an image.
	MaxConfigBytes = 4 << 20
	// MaxImageBytes is the most that the files of an image may have.
	MaxImageBytes = 64 << 30
	// MinFilesMiB is what a volume leaves at least of its lease's share of the disk, for the container's other files.
	MinFilesMiB = 64
	// AnyLevel is the level of a processor that is not known yet, see [CheckImage].
	AnyLevel = 0
)

// CheckManifest says what of an image no machine fetches. It is asked before the configuration is fetched, whose size the
// manifest says. Error: [*Error].
func CheckManifest(m *v1.Manifest) error {
	if m.Config.Size > MaxConfigBytes {
		return wrong(RuleConfigSize, Image, "build it with fewer labels and variables",
			"the image's configuration has %d bytes, the most is %d", m.Config.Size, MaxConfigBytes)
	}
	if n := len(m.Layers); n == 0 || n > ociregistry.MaxLayers {
		return wrong(RuleLayers, Image, "make it of fewer: join RUN lines, or end its Dockerfile with FROM scratch and COPY --from=… / /",
			"the image has %d layers, machines take 1 to %d", n, ociregistry.MaxLayers)
	}
	packed := int64(0)
	for _, layer := range m.Layers {
		switch {
		case layer.Digest.Algorithm != "sha256":
			return wrong(RuleLayer, Image, "push it again with another tool", "the image's layer %.80s is not named by a sha256", layer.Digest)
		case layer.Size <= 0:
			return wrong(RuleLayer, Image, "push it again with another tool", "the image's layer %s has %d bytes", layer.Digest, layer.Size)
		case len(layer.URLs) > 0 || !layer.MediaType.IsDistributable():
			return wrong(RuleLayer, Image, "push it with all of its layers, such as docker push --allow-nondistributable-artifacts",
				"the image's layer %s is not in the image's own registry", layer.Digest)
		case strings.HasSuffix(string(layer.MediaType), "+encrypted"):
			return wrong(RuleLayer, Image, "push it without encryption; --registry-credentials is for private images", "the image's layer %s is encrypted", layer.Digest)
		case layer.Size > MaxImageBytes-packed:
			return wrong(RuleImageSize, Image, "build it without data and models, and fetch these when the job starts",
				"the image's layers have more than the %d GiB that machines take", MaxImageBytes>>30)
		}
		packed += layer.Size
	}
	return nil
}

// CheckImage says what of an image, or of a job with it, no machine runs. The level is that of the processor, see
// [ociregistry.LevelOf]; AnyLevel where it is not known. Whether a name of a user is in the image only its layers show.
// Error: [*Error].
func CheckImage(job messages.JobSpec, m *v1.Manifest, c *v1.ConfigFile, level int) error {
	if err := CheckManifest(m); err != nil {
		return err
	}
	if err := CheckPlatform(m, c, level); err != nil {
		return err
	}
	if _, err := Arguments(job, c.Config); err != nil {
		return err
	}
	return CheckUser(UserOf(job, c.Config))
}

// CheckPlatform says why machines cannot run what is in an image, whatever the job. Error: [*Error].
func CheckPlatform(m *v1.Manifest, c *v1.ConfigFile, level int) error {
	if c.OS != ociregistry.OS || c.Architecture != ociregistry.Architecture {
		return wrong(RulePlatform, Image, "build the image for this platform, or name another",
			"the image is for %.32q, machines are %s/%s", c.OS+"/"+c.Architecture, ociregistry.OS, ociregistry.Architecture)
	}
	if l, known := ociregistry.LevelOf(c.Variant); level != AnyLevel && known && l > level {
		return wrong(RulePlatform, Image, "build the image for "+ociregistry.OS+"/"+ociregistry.Architecture+" without a variant",
			"the image is for processors of %s/%s, which this machine's is not", c.Architecture, c.Variant)
	}
	if n, named := len(m.Layers), len(c.RootFS.DiffIDs); n != named {
		return wrong(RuleLayers, Image, "push it again with another tool", "the image has %d layers, and its configuration names %d", n, named)
	}
	for _, id := range c.RootFS.DiffIDs {
		if id.Algorithm != "sha256" {
			return wrong(RuleLayer, Image, "push it again with another tool", "the image's layer %.80s is not named by a sha256", id)
		}
	}
	return nil
}

// Arguments are what a container runs: the order of an image's entry point and the job's command is that of "docker run", where an entry
// point of the job's own leaves the image's command out. Error: [*Error].
func Arguments(job messages.JobSpec, image v1.Config) ([]string, error) {
	args := slices.Concat(image.Entrypoint, image.Cmd)
	switch {
	case job.Entrypoint != "":
		args = slices.Concat([]string{job.Entrypoint}, job.Command)
	case len(job.Command) > 0:
		args = slices.Concat(image.Entrypoint, job.Command)
	}
	if len(args) == 0 || args[0] == "" {
		return nil, wrong(RuleNoCommand, Command, "name the program that is to run", "the image names no command")
	}
	for _, text := range append(slices.Clone(args), image.WorkingDir) {
		if strings.ContainsRune(text, 0) {
			return nil, wrong(RuleNoCommand, Image, "name another image", "the image's command or working folder has a zero byte")
		}
	}
	return args, nil
}

// SoftFiles are the open files that a process in a container begins with, and HardFiles what it may raise that to.
const (
	SoftFiles = 1 << 16
	HardFiles = 1 << 20
)

// DefaultPath is where the programs of containers are looked for whose image does not say it.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environment is a container's, in order: that of its image, below what the node and the customer set.
func Environment(image []string, home string, set map[string]string) []string {
	env := map[string]string{"PATH": DefaultPath, "HOME": home}
	for _, pair := range image {
		if name, value, ok := strings.Cut(pair, "="); ok && !SetByNode(name, true) && !strings.ContainsRune(pair, 0) {
			env[name] = value
		}
	}
	maps.Copy(env, set)
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
