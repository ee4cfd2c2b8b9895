package jobspec

import (
	"maps"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// ImageCUDA is the least CUDA that a machine's driver has to have for an image, by its environment and the job's, which counts
// more: NVIDIA_REQUIRE_CUDA, or CUDA_VERSION of older images, as NVIDIA's container toolkit reads them. Of alternatives for one
// brand or one driver nothing is known before the award: they need compatibility libraries, and do not count. 0 for none.
func ImageCUDA(image []string, job map[string]string) market.CUDA {
	env := map[string]string{}
	for _, pair := range image {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	maps.Copy(env, job)
	if off, err := strconv.ParseBool(env["NVIDIA_DISABLE_REQUIRE"]); err == nil && off {
		return 0
	}
	required, set := env["NVIDIA_REQUIRE_CUDA"]
	if !set || required == "" {
		if env["CUDA_VERSION"] == "" {
			return 0
		}
		required = "cuda>=" + env["CUDA_VERSION"]
	}
	least := market.CUDA(0)
	for alternative := range strings.FieldsSeq(required) {
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
