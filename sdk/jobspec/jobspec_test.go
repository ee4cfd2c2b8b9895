package jobspec_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/badjobs"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

func requireRule(t *testing.T, err error, rule jobspec.Rule, says string) {
	t.Helper()
	require.ErrorIs(t, err, jobspec.ErrJob)
	var e *jobspec.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, rule, e.Rule)
	require.Contains(t, e.Why, says)
	require.NotEmpty(t, e.Do)
	require.Less(t, len(err.Error()), 1024, "an answer of a machine has room for it")
}

func TestJobsThatNoMachineRuns(t *testing.T) {
	require.NoError(t, jobspec.Check(badjobs.Good()))
	for _, c := range badjobs.Jobs() {
		t.Run(c.Name, func(t *testing.T) { requireRule(t, jobspec.Check(c.Spec()), c.Rule, c.Says) })
	}
	bare := messages.JobSpec{Command: []string{"true"}}
	require.NoError(t, jobspec.Check(bare))
	devices := badjobs.Good()
	devices.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "0"}
	require.NoError(t, jobspec.Check(devices), "a container has no devices but its own")
	keys := badjobs.Good()
	keys.SSHKeys = []string{badjobs.Key + " a comment"}
	require.NoError(t, jobspec.Check(keys))
}

func TestImagesThatNoMachineRuns(t *testing.T) {
	for _, c := range badjobs.Images() {
		t.Run(c.Name, func(t *testing.T) {
			m, config := described(t, c.Make(t))
			requireRule(t, jobspec.CheckImage(messages.JobSpec{}, m, config, jobspec.AnyLevel), c.Rule, c.Says)
		})
	}
}

func described(t *testing.T, img v1.Image) (*v1.Manifest, *v1.ConfigFile) {
	t.Helper()
	m, err := img.Manifest()
	require.NoError(t, err)
	c, err := img.ConfigFile()
	require.NoError(t, err)
	return m, c
}

// What passes the rules reaches the machine: the message has room for the largest of everything, and can be decoded.
func TestEveryJobReachesTheMachine(t *testing.T) {
	job := badjobs.Good()
	job.Env, job.Command = map[string]string{}, []string{"true"}
	for i := range 4096 {
		job.Env[fmt.Sprintf("A%d", i)] = strings.Repeat("x", 20)
	}
	left := jobspec.MaxBytes - len("true") - 1
	for k, v := range job.Env {
		left -= len(k) + len(v) + 2
	}
	for left > 1 && len(job.Command) < 4096 {
		n := min(left-1, 1)
		job.Command, left = append(job.Command, strings.Repeat("y", n)), left-n-1
	}
	job.SSHKeys = slices.Repeat([]string{badjobs.Key + " " + strings.Repeat("c", jobspec.MaxKeyBytes/16-len(badjobs.Key)-1)}, 16)
	job.Salt, job.Volume = make([]byte, messages.SaltBytes), &messages.Volume{Name: strings.Repeat("v", 63), MiB: messages.MaxVolumeMiB, Path: "/" + strings.Repeat("p", 254)}
	require.NoError(t, jobspec.Check(job))
	text := func(n int) string { return strings.Repeat("t", n) }
	req := messages.DeployRequest{
		Job: job, VolumeKey: make([]byte, messages.VolumeKeyBytes), Registry: &messages.RegistryCredential{Token: text(16384), User: text(256), Password: text(4096)},
		Backup: &messages.Backup{
			Endpoint: text(1024), Region: text(64), Bucket: text(255), Prefix: text(512), AccessKey: text(256), SecretKey: text(512), Token: text(8192), Key: make([]byte, 32),
		},
	}
	require.NoError(t, messages.Check(req))
	raw, err := cbor.Marshal(req)
	require.NoError(t, err)
	require.Less(t, len(raw), messages.MaxCustomerMessage)

	job.Command = []string{"\xff"}
	raw, err = cbor.Marshal(job)
	require.NoError(t, err)
	require.Error(t, cbor.Unmarshal(raw, &messages.JobSpec{}), "which is why such text is refused")
	require.Error(t, jobspec.Check(job))
}

// What a registry can say and no tool pushes.
func TestManifestsThatNoMachineFetches(t *testing.T) {
	hash := func(algorithm string) v1.Hash { return v1.Hash{Algorithm: algorithm, Hex: "00"} }
	layer := v1.Descriptor{Digest: hash("sha256"), Size: 1}
	config := &v1.ConfigFile{OS: "linux", Architecture: "amd64", Config: v1.Config{Cmd: []string{"true"}}, RootFS: v1.RootFS{DiffIDs: []v1.Hash{hash("sha256")}}}
	manifest := func(change func(*v1.Descriptor)) *v1.Manifest {
		d := layer
		change(&d)
		return &v1.Manifest{Layers: []v1.Descriptor{d}}
	}
	good := manifest(func(*v1.Descriptor) {})
	require.NoError(t, jobspec.CheckImage(messages.JobSpec{}, good, config, 1))
	for name, change := range map[string]func(*v1.Descriptor){
		"another hash": func(d *v1.Descriptor) { d.Digest = hash("sha512") },
		"no bytes":     func(d *v1.Descriptor) { d.Size = 0 },
		"foreign URL":  func(d *v1.Descriptor) { d.URLs = []string{"https://example.org/layer"} },
	} {
		requireRule(t, jobspec.CheckManifest(manifest(change)), jobspec.RuleLayer, "layer")
		require.Error(t, jobspec.CheckImage(messages.JobSpec{}, manifest(change), config, 1), name)
	}
	other := *config
	other.RootFS.DiffIDs = []v1.Hash{hash("sha512")}
	requireRule(t, jobspec.CheckPlatform(good, &other, 1), jobspec.RuleLayer, "not named by a sha256")
	other.RootFS.DiffIDs = nil
	requireRule(t, jobspec.CheckPlatform(good, &other, 1), jobspec.RuleLayers, "names 0")
	other = *config
	other.Variant = "v3"
	requireRule(t, jobspec.CheckPlatform(good, &other, 2), jobspec.RulePlatform, "processors of amd64/v3")
	require.NoError(t, jobspec.CheckPlatform(good, &other, 3))
	require.NoError(t, jobspec.CheckPlatform(good, &other, jobspec.AnyLevel), "a customer does not know the processor")
}

// A name of a user is in the image's files: only a number can be wrong without them.
func TestUsersThatLayersDecide(t *testing.T) {
	for _, name := range []string{"", "root", "jovyan", "jovyan:users", "1000", "1000:100", "0:nobody", "2147483647"} {
		require.NoError(t, jobspec.CheckUser(name, jobspec.Image), name)
	}
}

func TestJobsAndTheirShareOfTheMachine(t *testing.T) {
	v := &messages.Volume{Name: "data", MiB: 1024, Path: "/data"}
	share := jobspec.Share{CPUs: 2.5, MemoryMiB: 512, DiskMiB: 1024 + jobspec.MinFilesMiB}
	for _, job := range []messages.JobSpec{{}, {Volume: v}, {CPUs: 2, MemoryMiB: 512, DiskMiB: 1024 + jobspec.MinFilesMiB}, {Volume: v, DiskMiB: 1}} {
		require.NoError(t, jobspec.CheckShare(job, share))
		require.NoError(t, jobspec.CheckShare(job, jobspec.Share{}))
	}
	for says, job := range map[string]messages.JobSpec{
		"3 CPUs are more than the lease's 2.5":         {CPUs: 3},
		"513 MiB of memory are more than the lease's":  {MemoryMiB: 513},
		"1089 MiB of disk are more than the lease's":   {DiskMiB: 1025 + jobspec.MinFilesMiB},
		"the volume's 1024 MiB and 65 MiB":             {Volume: v, DiskMiB: 1 + jobspec.MinFilesMiB},
		"the volume's 1025 MiB and 64 MiB for the con": {Volume: &messages.Volume{Name: v.Name, MiB: 1025}},
	} {
		requireRule(t, jobspec.CheckShare(job, share), jobspec.RuleShare, says)
	}
}

// A rule that no bad job breaks is tested on neither side.
func TestEveryRuleHasABadJob(t *testing.T) {
	broken := map[jobspec.Rule]bool{jobspec.RuleShare: true} // TestJobsAndTheirShareOfTheMachine
	for _, c := range badjobs.Jobs() {
		broken[c.Rule] = true
	}
	for _, c := range badjobs.Images() {
		broken[c.Rule] = true
	}
	for _, rule := range jobspec.Rules() {
		require.True(t, broken[rule], rule)
	}
	require.Len(t, broken, len(jobspec.Rules()))
}

func TestArgumentsAreThoseOfDockerRun(t *testing.T) {
	image := v1.Config{Entrypoint: []string{"tini", "--"}, Cmd: []string{"serve"}}
	args, err := jobspec.Arguments(messages.JobSpec{}, image)
	require.NoError(t, err)
	require.Equal(t, []string{"tini", "--", "serve"}, args)
	args, err = jobspec.Arguments(messages.JobSpec{Command: []string{"train"}}, image)
	require.NoError(t, err)
	require.Equal(t, []string{"tini", "--", "train"}, args)
	args, err = jobspec.Arguments(messages.JobSpec{Entrypoint: "sh"}, image)
	require.NoError(t, err)
	require.Equal(t, []string{"sh"}, args, "the image's command is the entry point's argument")
	args, err = jobspec.Arguments(messages.JobSpec{Entrypoint: "sh", Command: []string{"-c", "true"}}, v1.Config{})
	require.NoError(t, err)
	require.Equal(t, []string{"sh", "-c", "true"}, args)
}
