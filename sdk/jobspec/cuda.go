package jobspec

import (
	"maps"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// DisableRequire switches off what an image requires.
	DisableRequire = "NVIDIA_DISABLE_REQUIRE"
	requireCUDA    = "NVIDIA_REQUIRE_CUDA"
)

// Required is the environment in which an image says what it needs of the driver and the GPUs, as NVIDIA's container toolkit reads it:
// the image's, and the job's, which counts more. CUDA_VERSION of older images stands for NVIDIA_REQUIRE_CUDA. ok is false where the
// check is switched off.
func Required(image []string, job map[string]string) (env map[string]string, ok bool) {
	env = map[string]string{}
	for _, pair := range image {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	maps.Copy(env, job)
	if off, err := strconv.ParseBool(env[DisableRequire]); err == nil && off {
		return nil, false
	}
	if version := env["CUDA_VERSION"]; env[requireCUDA] == "" && strings.Contains(version, ".") {
		if c, err := market.ParseCUDA(version); err == nil {
			env[requireCUDA] = "cuda>=" + c.String()
		}
	}
	return env, true
}

// ImageCUDA is the least CUDA that a machine's driver has to have for an image, by its environment and the job's, which counts
// more. Of alternatives for one brand or one driver nothing is known before the award: they need compatibility libraries, and do not
// count. 0 for none.
func ImageCUDA(image []string, job map[string]string) market.CUDA {
	env, _ := Required(image, job)
	least := market.CUDA(0)
	for alternative := range strings.FieldsSeq(env[requireCUDA]) {
		if c := alone(alternative); c != 0 && (least == 0 || c < least) {
			least = c
		}
	}
	return least
}

// alone is the version of an alternative that asks for CUDA and nothing else; 0 for another one.
func alone(alternative string) (c market.CUDA) {
	for condition := range strings.SplitSeq(alternative, ",") {
		version, found := strings.CutPrefix(condition, "cuda>=")
		if !found {
			return 0
		}
		v, err := market.ParseCUDA(version)
		if err != nil {
			return 0
		}
		c = max(c, v)
	}
	return c
}
