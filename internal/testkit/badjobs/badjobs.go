// Package badjobs lists jobs that no machine runs. Tests of agents and of customers' programs feed all of them to their own
// side. Both sides must refuse the same jobs with the same words.
package badjobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/ociregistry"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Job is a job that no machine runs.
type Job struct {
	Name string
	Rule jobspec.Rule
	// Change makes [Good] bad.
	Change func(*messages.JobSpec)
	// Bare: the job has no image, as on local networks.
	Bare bool
	// Says is part of what both sides say of it.
	Says string
}

// Good is a job that machines run.
func Good() messages.JobSpec {
	return messages.JobSpec{
		Version: messages.Version, Image: "registry.test/team/job@sha256:" + strings.Repeat("0", 64), Command: []string{"true"},
		Network: messages.NetworkInternet, Env: map[string]string{"MINE": "größer = \"a\"\nb"},
	}
}

// Key is the line of a public key that may log in.
const Key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti"

func env(name, value string) func(*messages.JobSpec) {
	return func(j *messages.JobSpec) { j.Env = map[string]string{name: value} }
}

func command(args ...string) func(*messages.JobSpec) {
	return func(j *messages.JobSpec) { j.Command = args }
}

func volume(v messages.Volume) func(*messages.JobSpec) {
	return func(j *messages.JobSpec) { j.Volume = &v }
}

// Jobs are those that the job alone shows.
func Jobs() []Job {
	long := strings.Repeat("x", jobspec.MaxBytes)
	many := make([]string, 4097)
	return []Job{
		{Name: "space in a name", Rule: jobspec.RuleName, Change: env("my var", "1"), Says: `"my var" has a name`},
		{Name: "equals in a name", Rule: jobspec.RuleName, Change: env("A=B", "1"), Says: `"A=B" has a name`},
		{Name: "digit first", Rule: jobspec.RuleName, Change: env("1A", "1"), Says: `"1A" has a name`},
		{Name: "dash first", Rule: jobspec.RuleName, Change: env("-b", "1"), Says: `"-b" has a name`},
		{Name: "no name", Rule: jobspec.RuleName, Change: env("", "1"), Says: `"" has a name`},
		{Name: "zero byte in a name", Rule: jobspec.RuleName, Change: env("a\x00b", "1"), Says: `has a name`},
		{Name: "long name", Rule: jobspec.RuleName, Change: env(strings.Repeat("A", 129), "1"), Says: `has a name`},
		{Name: "zero byte in a value", Rule: jobspec.RuleText, Change: env("A", "a\x00b"), Says: "variable A has a zero byte"},
		{Name: "value that is not UTF-8", Rule: jobspec.RuleText, Change: env("A", "\xff"), Says: "variable A is not UTF-8"},
		{Name: "loader", Rule: jobspec.RuleReserved, Change: env("LD_PRELOAD", "x"), Says: "LD_PRELOAD is for the loader"},
		{Name: "loader's folders", Rule: jobspec.RuleReserved, Change: env("LD_LIBRARY_PATH", "/x"), Says: "LD_LIBRARY_PATH is for the loader"},
		{Name: "the node's own", Rule: jobspec.RuleReserved, Change: env("GANTRY_LEASE", "x"), Says: "GANTRY_LEASE is set by the node"},
		{Name: "devices without an image", Rule: jobspec.RuleReserved, Bare: true, Change: env("CUDA_VISIBLE_DEVICES", "0"), Says: "CUDA_VISIBLE_DEVICES is set by the node"},
		{Name: "no command", Rule: jobspec.RuleCommand, Bare: true, Change: command(), Says: "no command"},
		{Name: "empty command", Rule: jobspec.RuleCommand, Change: command(""), Says: "no command"},
		{Name: "zero byte in the command", Rule: jobspec.RuleText, Change: command("echo", "a\x00b"), Says: "argument 1 of the command has a zero byte"},
		{Name: "command that is not UTF-8", Rule: jobspec.RuleText, Change: command("echo", "\xc3("), Says: "argument 1 of the command is not UTF-8"},
		{Name: "long command", Rule: jobspec.RuleSize, Change: command("echo", long[4:]), Says: "command and environment are 131"},
		{Name: "long environment", Rule: jobspec.RuleSize, Change: env("A", long[2:]), Says: "command and environment are 131"},
		{Name: "many arguments", Rule: jobspec.RuleLimits, Change: command(many...), Says: "Command has 4097, at most 4096"},
		{Name: "zero byte in the entry point", Rule: jobspec.RuleText, Change: func(j *messages.JobSpec) { j.Entrypoint = "/bin/a\x00b" }, Says: "the entry point has a zero byte"},
		{Name: "long entry point", Rule: jobspec.RuleSize, Change: func(j *messages.JobSpec) { j.Entrypoint = long[4:] }, Says: "command and environment are 131"},
		{Name: "entry point without an image", Rule: jobspec.RuleContainer, Bare: true, Change: func(j *messages.JobSpec) { j.Entrypoint = "/bin/sh" }, Says: "an entry point is for containers"},
		{Name: "user without an image", Rule: jobspec.RuleContainer, Bare: true, Change: func(j *messages.JobSpec) { j.User = "root" }, Says: "a user is for containers"},
		{Name: "user that cannot be", Rule: jobspec.RuleUser, Change: func(j *messages.JobSpec) { j.User = "-1" }, Says: `the user "-1" cannot be`},
		{Name: "user of two lines", Rule: jobspec.RuleUser, Change: func(j *messages.JobSpec) { j.User = "0:0\nroot" }, Says: "cannot be: it has a line break"},
		{Name: "volume without a size", Rule: jobspec.RuleVolume, Change: volume(messages.Volume{Name: "data", MiB: 1, Path: "/data"}), Says: "its size is 1 MiB"},
		{Name: "volume over /etc", Rule: jobspec.RuleVolume, Change: volume(messages.Volume{Name: "data", MiB: 64, Path: "/etc/x"}), Says: "the machine makes /etc itself"},
		{Name: "volume without an image", Rule: jobspec.RuleVolume, Bare: true, Change: volume(messages.Volume{Name: "data", MiB: 64, Path: "/data"}), Says: "for containers"},
		{Name: "unknown network", Rule: jobspec.RuleNetwork, Change: func(j *messages.JobSpec) { j.Network = "host" }, Says: `"host" is not known`},
		{Name: "network without an image", Rule: jobspec.RuleNetwork, Bare: true, Change: func(j *messages.JobSpec) { j.Network = messages.NetworkInternet }, Says: "is for containers"},
		{Name: "no key", Rule: jobspec.RuleKeys, Change: func(j *messages.JobSpec) { j.SSHKeys = []string{"ssh-ed25519 AAAA"} }, Says: "SSH key cannot be used"},
		{Name: "key with options", Rule: jobspec.RuleKeys, Change: func(j *messages.JobSpec) { j.SSHKeys = []string{`command="ls" ` + Key} }, Says: "options, which are not obeyed"},
		{Name: "two keys in a line", Rule: jobspec.RuleKeys, Change: func(j *messages.JobSpec) { j.SSHKeys = []string{Key + "\n" + Key} }, Says: "more than one in a line"},
		{Name: "long keys", Rule: jobspec.RuleKeys, Change: func(j *messages.JobSpec) {
			j.SSHKeys = slices.Repeat([]string{Key + " " + strings.Repeat("c", 4000)}, 10)
		}, Says: "the SSH keys have 4"},
		{Name: "key that is not UTF-8", Rule: jobspec.RuleKeys, Change: func(j *messages.JobSpec) { j.SSHKeys = []string{Key + " \xff"} }, Says: "an SSH key is not UTF-8"},
		{Name: "memory", Rule: jobspec.RuleLimit, Change: func(j *messages.JobSpec) { j.MemoryMiB = 1 << 50 }, Says: "the limit of memory is"},
		{Name: "shared memory", Rule: jobspec.RuleLimit, Change: func(j *messages.JobSpec) { j.ShmMiB = 1 << 50 }, Says: "the limit of /dev/shm is"},
		{Name: "shared memory without an image", Rule: jobspec.RuleContainer, Bare: true, Change: func(j *messages.JobSpec) { j.ShmMiB = 64 }, Says: "/dev/shm is for containers"},
		{Name: "disk", Rule: jobspec.RuleLimit, Change: func(j *messages.JobSpec) { j.DiskMiB = 1 << 50 }, Says: "the limit of the disk is"},
		{Name: "tag without a digest", Rule: jobspec.RuleReference, Change: func(j *messages.JobSpec) { j.Image = "ubuntu:24.04" }, Says: `"ubuntu:24.04" is not a reference with a digest`},
	}
}

// Spec is the bad job.
func (j Job) Spec() messages.JobSpec {
	s := Good()
	if j.Bare {
		s.Image, s.Network = "", ""
	}
	j.Change(&s)
	return s
}

// Image is an image that no machine runs, with a job that names no command.
type Image struct {
	Name string
	Rule jobspec.Rule
	Make func(testing.TB) v1.Image
	// Says is part of what both sides say of it.
	Says string
}

// Images are those that the registry's answer shows before a layer is fetched.
func Images() []Image {
	with := func(c v1.Config) func(testing.TB) v1.Image {
		return func(t testing.TB) v1.Image { return imagetest.Image(t, "amd64", c, imagetest.Layer(t)) }
	}
	user := func(name string) func(testing.TB) v1.Image {
		return with(v1.Config{Entrypoint: []string{"/bin/job"}, User: name})
	}
	program := v1.Config{Entrypoint: []string{"/bin/job"}}
	return []Image{
		{"another platform", jobspec.RulePlatform, func(t testing.TB) v1.Image {
			return imagetest.Image(t, "arm64", program, imagetest.Layer(t))
		}, `"linux/arm64", machines are linux/amd64`},
		{"too many layers", jobspec.RuleLayers, func(t testing.TB) v1.Image {
			var layers []v1.Layer
			for i := range ociregistry.MaxLayers + 1 {
				layers = append(layers, imagetest.Layer(t, imagetest.File("x", fmt.Sprint(i))))
			}
			return imagetest.Image(t, "amd64", program, layers...)
		}, "has 101 layers, machines take 1 to 100"},
		{"no layer", jobspec.RuleLayers, func(t testing.TB) v1.Image { return imagetest.Image(t, "amd64", program) }, "has 0 layers"},
		{"foreign layer", jobspec.RuleLayer, func(t testing.TB) v1.Image {
			return imagetest.Image(t, "amd64", program, static.NewLayer([]byte("foreign layer"), types.DockerForeignLayer))
		}, "is not in the image's own registry"},
		{"encrypted layer", jobspec.RuleLayer, func(t testing.TB) v1.Image {
			return imagetest.Image(t, "amd64", program, static.NewLayer([]byte("secret"), "application/vnd.oci.image.layer.v1.tar+gzip+encrypted"))
		}, "is encrypted"},
		{"large configuration", jobspec.RuleConfigSize, func(t testing.TB) v1.Image {
			return imagetest.Image(t, "amd64", v1.Config{Entrypoint: []string{strings.Repeat("x", jobspec.MaxConfigBytes)}}, imagetest.Layer(t))
		}, "configuration has 4"},
		{"large layer", jobspec.RuleImageSize, func(t testing.TB) v1.Image {
			return newLarge(t, imagetest.Image(t, "amd64", program, imagetest.Layer(t)))
		}, "layers have more than the 64 GiB"},
		{"no command", jobspec.RuleNoCommand, with(v1.Config{}), "the image names no command"},
		{"empty command", jobspec.RuleNoCommand, with(v1.Config{Cmd: []string{""}}), "the image names no command"},
		{"zero byte in the command", jobspec.RuleNoCommand, with(v1.Config{Cmd: []string{"a", "b\x00"}}), "has a zero byte"},
		{"zero byte in the folder", jobspec.RuleNoCommand, with(v1.Config{Cmd: []string{"a"}, WorkingDir: "/\x00"}), "has a zero byte"},
		{"user out of range", jobspec.RuleUser, user("4294967296"), "user \"4294967296\" cannot be"},
		{"user below zero", jobspec.RuleUser, user("-1"), "user \"-1\" cannot be"},
		{"user with a line break", jobspec.RuleUser, user("0:0\nroot"), "cannot be"},
		{"group out of range", jobspec.RuleUser, user("1000:9999999999"), "cannot be"},
	}
}

// large is an image whose manifest says that its layer is as large as no machine takes.
type large struct {
	v1.Image
	raw []byte
}

func newLarge(t testing.TB, img v1.Image) v1.Image {
	t.Helper()
	m, err := img.Manifest()
	require.NoError(t, err)
	m = m.DeepCopy()
	m.Layers[0].Size = jobspec.MaxImageBytes + 1
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	return large{img, raw}
}

func (l large) RawManifest() ([]byte, error)    { return l.raw, nil }
func (l large) Manifest() (*v1.Manifest, error) { return v1.ParseManifest(bytes.NewReader(l.raw)) }
func (l large) Size() (int64, error)            { return int64(len(l.raw)), nil }
func (l large) Digest() (v1.Hash, error) {
	digest, _, err := v1.SHA256(bytes.NewReader(l.raw))
	return digest, err
}
