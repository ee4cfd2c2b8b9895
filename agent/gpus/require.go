package gpus

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// ErrRequire: the image needs another driver or GPU.
var ErrRequire = errors.New("gpus: the image does not run on this machine's GPUs")

// Facts are what an image may require of a machine besides the driver's version, see [jobspec.Facts].
type Facts struct {
	// CUDA is the newest that the driver has, Arch the compute capability, both as "12.4".
	CUDA string `json:"cuda,omitempty"`
	Arch string `json:"arch,omitempty"`
	// Brand of the GPUs, such as "tesla" or "nvidia".
	Brand string `json:"brand,omitempty"`
}

// Require compares what an image's environment and its job's require with the driver and the GPUs, see [jobspec.Needs]: what a customer's
// program chose for the image is not refused here. Error: ErrRequire.
func (d Driver) Require(image []string, job map[string]string) error {
	f := jobspec.Facts{Driver: d.Version, CUDA: d.Facts.CUDA, Arch: d.Facts.Arch, Brand: d.Facts.Brand}
	unmet := jobspec.ImageNeeds(image, job).Unmet(f)
	if len(unmet) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it needs %s, and this machine has %s; name an image for an older CUDA or for these GPUs, or order from another machine. "+
		"If you know that it runs, add --env %s=true", ErrRequire, needs(unmet), d.facts(), jobspec.DisableRequire)
}

// needs shows the alternatives, of which NVIDIA's own images have dozens.
func needs(terms []string) string {
	const shown = 3
	text := fmt.Sprintf("%.120q", strings.Join(terms[:min(len(terms), shown)], " or "))
	if more := len(terms) - shown; more > 0 {
		text += fmt.Sprintf(" or one of %d others", more)
	}
	return text
}

func (d Driver) facts() string {
	text := "driver " + d.Version
	for _, f := range []struct{ name, value string }{{"CUDA", d.Facts.CUDA}, {"brand", d.Facts.Brand}, {"compute capability", d.Facts.Arch}} {
		if f.value != "" {
			text += ", " + f.name + " " + f.value
		}
	}
	return text
}
