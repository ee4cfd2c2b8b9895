package gpus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/sdk/jobspec"
)

// ErrRequire: the image needs another driver or GPU.
var ErrRequire = errors.New("gpus: the image does not run on this machine's GPUs")

// Facts are what an image may require of a machine, as NVIDIA's toolkit names it. An empty one is not known, and fits everything.
type Facts struct {
	// CUDA is the newest that the driver has, Arch the compute capability, both as "12.4".
	CUDA string `json:"cuda,omitempty"`
	Arch string `json:"arch,omitempty"`
	// Brand of the GPUs, such as "tesla" or "nvidia".
	Brand string `json:"brand,omitempty"`
}

const (
	requirePrefix  = "NVIDIA_REQUIRE_"
	requireJetpack = requirePrefix + "JETPACK" // of another kind of machine
)

// Require compares what an image's environment requires with the driver and the GPUs, as NVIDIA's container toolkit does: each variable
// NVIDIA_REQUIRE_… must hold; in it alternatives are between spaces, and the conditions of one between commas. What the job sets counts
// more than what its image sets. Error: ErrRequire.
func (d Driver) Require(image []string, job map[string]string) error {
	env, ok := jobspec.Required(image, job)
	if !ok {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value := env[name]
		if !strings.HasPrefix(name, requirePrefix) || strings.HasPrefix(name, requireJetpack) {
			continue
		}
		if terms := strings.Fields(value); len(terms) > 0 && !slices.ContainsFunc(terms, d.fits) {
			return fmt.Errorf("%w: it needs %s, and this machine has %s; name an image for an older CUDA, or order from another machine. "+
				"If you know that it runs, add --env %s=true", ErrRequire, needs(terms), d.facts(), jobspec.DisableRequire)
		}
	}
	return nil
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

// fits reports whether every condition of an alternative holds. What this machine does not know, or no version of the toolkit, counts
// as true.
func (d Driver) fits(term string) bool {
	for condition := range strings.SplitSeq(term, ",") {
		at := strings.IndexAny(condition, "<>=!")
		if at < 0 {
			continue
		}
		rest := condition[at:]
		operator := rest[:len(rest)-len(strings.TrimLeft(rest, "<>=!"))]
		have, order := d.compare(condition[:at], rest[len(operator):])
		if have && !holds(operator, order) {
			return false
		}
	}
	return true
}

// compare orders what the machine has of a property and a value; have is false where that is not known.
func (d Driver) compare(property, value string) (have bool, order int) {
	switch property {
	case "brand":
		return d.Facts.Brand != "", strings.Compare(d.Facts.Brand, value)
	case "cuda":
		return versions(d.Facts.CUDA, value)
	case "driver":
		return versions(d.Version, value)
	case "arch":
		return versions(d.Facts.Arch, value)
	}
	return false, 0
}

func holds(operator string, order int) bool {
	switch operator {
	case "=", "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return true
}

// versions compares numbers between dots; missing ones are 0.
func versions(have, want string) (known bool, order int) {
	a, b := numbersOf(have), numbersOf(want)
	known = len(a) > 0 && len(b) > 0
	for len(a) < len(b) {
		a = append(a, 0)
	}
	for len(b) < len(a) {
		b = append(b, 0)
	}
	return known, slices.Compare(a, b)
}

// numbersOf is a version; nil for what is none.
func numbersOf(version string) (out []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}
