package jobspec

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sshkeys"
)

const (
	// MaxBytes is the most of command and environment together.
	MaxBytes = 128 << 10
	// MaxKeyBytes is the most of all SSH keys together.
	MaxKeyBytes = 32 << 10
	// MaxMiB is the largest limit of memory or disk.
	MaxMiB = 1 << 40
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// Check says what of a job no machine runs, as far as the job alone shows it. Error: [*Error].
func Check(job messages.JobSpec) error {
	if job.Image != "" {
		if _, err := ParseImage(job.Image); err != nil {
			return err
		}
	}
	return CheckContent(job)
}

// CheckContent is Check without the reference of the image, for a job whose image is not resolved to a digest yet. Error:
// [*Error].
func CheckContent(job messages.JobSpec) error {
	if err := messages.Check(job); err != nil {
		return wrong(RuleLimits, Whole, "make it smaller", "the job is too large: %v", err)
	}
	for _, check := range []func(messages.JobSpec) error{checkCommand, checkEnv, checkSize, checkContainer, checkKeys} {
		if err := check(job); err != nil {
			return err
		}
	}
	return nil
}

// ParseImage reads a reference with a digest. Error: [*Error].
func ParseImage(reference string) (name.Digest, error) {
	d, err := name.NewDigest(reference)
	if err != nil || !utf8.ValidString(reference) {
		return d, wrong(RuleReference, Image, "write it as registry/name@sha256:…", "the image %.128q is not a reference with a digest", reference)
	}
	return d, nil
}

// SetByNode reports whether a machine sets a variable itself. Neither a job nor its image can choose such a variable. A
// container has only the devices of its lease: the customer chooses which of them its programs see.
func SetByNode(variable string, container bool) bool {
	return strings.HasPrefix(variable, "GANTRY_") || !container && (variable == "CUDA_VISIBLE_DEVICES" || variable == "NVIDIA_VISIBLE_DEVICES")
}

func checkCommand(job messages.JobSpec) error {
	if (len(job.Command) == 0 && job.Image == "") || (len(job.Command) > 0 && job.Command[0] == "") {
		return wrong(RuleCommand, Command, "name the program that is to run", "the job has no command")
	}
	for i, a := range job.Command {
		if why := badText(a); why != "" {
			return wrong(RuleText, Command, "encode it, such as with base64", "argument %d of the command %s", i, why)
		}
	}
	if why := badText(job.Entrypoint); why != "" {
		return wrong(RuleText, Entrypoint, "name a program of the image", "the entry point %s", why)
	}
	return nil
}

// badText says why a text reaches no program as it is.
func badText(s string) string {
	switch {
	case strings.ContainsRune(s, 0):
		return "has a zero byte, which no program can be given"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	}
	return ""
}

func checkEnv(job messages.JobSpec) error {
	for _, k := range slices.Sorted(maps.Keys(job.Env)) {
		switch why := badText(job.Env[k]); {
		case !envName.MatchString(k):
			return wrong(RuleName, Env, "use up to 128 letters, digits, _, . and -, with a letter or _ first, such as MY_VARIABLE",
				"the environment variable %.64q has a name that machines do not set", k)
		case why != "":
			return wrong(RuleText, Env, "encode it, such as with base64", "the value of the environment variable %.64s %s", k, why)
		case SetByNode(k, job.Image != ""):
			return wrong(RuleReserved, Env, "leave it out, or use another name", "the environment variable %.64s is set by the node", k)
		case strings.HasPrefix(k, "LD_"):
			return wrong(RuleReserved, Env, "set it in the image, or by the command: env "+k[:min(len(k), 64)]+"=… PROGRAM",
				"the environment variable %.64s is for the loader of programs, and jobs cannot set it", k)
		}
	}
	return nil
}

func checkSize(job messages.JobSpec) error {
	total := len(job.Entrypoint)
	for _, a := range job.Command {
		total += len(a) + 1
	}
	for k, v := range job.Env {
		total += len(k) + len(v) + 2
	}
	if total > MaxBytes {
		field := Command
		if len(job.Command) == 0 {
			field = Env
		}
		return wrong(RuleSize, field, "put what is long into the image, or have the job fetch it",
			"command and environment are %d bytes, the most is %d", total, MaxBytes)
	}
	return nil
}

func checkContainer(job messages.JobSpec) error {
	switch {
	case job.Network != "" && job.Network != messages.NetworkInternet:
		return wrong(RuleNetwork, Network, "say internet or none", "the network %.32q is not known", job.Network)
	case job.Network != "" && job.Image == "":
		return wrong(RuleNetwork, Network, "name an image, or leave the network out", "a separate network is for containers, and the job names no image")
	case job.MemoryMiB > MaxMiB:
		return wrong(RuleLimit, Memory, "give less, or leave it out", "the limit of memory is %d MiB, the most is %d", job.MemoryMiB, uint64(MaxMiB))
	case job.DiskMiB > MaxMiB:
		return wrong(RuleLimit, Disk, "give less, or leave it out", "the limit of the disk is %d MiB, the most is %d", job.DiskMiB, uint64(MaxMiB))
	case job.ShmMiB > MaxMiB:
		return wrong(RuleLimit, Shm, "give less, or leave it out", "the limit of /dev/shm is %d MiB, the most is %d", job.ShmMiB, uint64(MaxMiB))
	case job.ShmMiB > 0 && job.Image == "":
		return wrong(RuleContainer, Shm, "name an image, or leave the size out", "/dev/shm is for containers, and the job names no image")
	case job.Entrypoint != "" && job.Image == "":
		return wrong(RuleContainer, Entrypoint, "name an image, or leave the entry point out", "an entry point is for containers, and the job names no image")
	case job.User != "" && job.Image == "":
		return wrong(RuleContainer, User, "name an image, or leave the user out", "a user is for containers, and the job names no image")
	}
	if err := CheckUser(job.User, User); err != nil {
		return err
	}
	switch {
	case job.Volume == nil:
		return nil
	case job.Image == "":
		return wrong(RuleVolume, Volume, "name an image, or leave the volume out", "a volume is for containers, and the job names no image")
	}
	if err := job.Volume.Validate(); err != nil {
		return wrong(RuleVolume, Volume, "write it as NAME:SIZE:/PATH, such as data:50GiB:/data", "%v", err)
	}
	return nil
}

func checkKeys(job messages.JobSpec) error {
	total := 0
	for _, line := range job.SSHKeys {
		if why := badText(line); why != "" {
			return wrong(RuleKeys, SSHKeys, "give the line of a public key, as in ~/.ssh/id_ed25519.pub", "an SSH key %s", why)
		}
		total += len(line)
	}
	if total > MaxKeyBytes {
		return wrong(RuleKeys, SSHKeys, "name fewer, or without their comments", "the SSH keys have %d bytes, the most is %d", total, MaxKeyBytes)
	}
	if _, err := sshkeys.Parse(job.SSHKeys); err != nil {
		return wrong(RuleKeys, SSHKeys, "give the line of a public key, as in ~/.ssh/id_ed25519.pub", "%v", err)
	}
	return nil
}
