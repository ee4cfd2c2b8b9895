package jobspec

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// DisableRequire switches off what an image requires.
	DisableRequire = "NVIDIA_DISABLE_REQUIRE"
	requirePrefix  = "NVIDIA_REQUIRE_"
	requireCUDA    = requirePrefix + "CUDA"
	requireJetpack = requirePrefix + "JETPACK" // of another kind of machine
)

// Facts are what an image may require of a machine, as NVIDIA's container toolkit names it. An empty one is not known, and fits everything.
type Facts struct {
	Driver string // version of the driver
	CUDA   string // the newest that the driver has
	Arch   string // compute capability of the GPUs
	Brand  string // of the GPUs, such as "tesla" or "nvidia"
}

// Needs are what an image requires of the driver and the GPUs, as NVIDIA's container toolkit reads it: each variable NVIDIA_REQUIRE_… must
// hold. In it alternatives are between spaces, and the conditions of one between commas. Customers and machines ask the same Needs.
type Needs struct {
	variables [][]string // the alternatives of each
}

// ImageNeeds are those of an image, by its environment and the job's, which counts more. CUDA_VERSION of older images stands for
// NVIDIA_REQUIRE_CUDA. There are none where NVIDIA_DISABLE_REQUIRE is set.
func ImageNeeds(image []string, job map[string]string) (n Needs) {
	env := map[string]string{}
	for _, pair := range image {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	maps.Copy(env, job)
	if off, err := strconv.ParseBool(env[DisableRequire]); err == nil && off {
		return Needs{}
	}
	if version := env["CUDA_VERSION"]; env[requireCUDA] == "" && strings.Contains(version, ".") {
		if c, err := market.ParseCUDA(version); err == nil {
			env[requireCUDA] = "cuda>=" + c.String()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, requirePrefix) || strings.HasPrefix(name, requireJetpack) {
			continue
		}
		if alternatives := strings.Fields(env[name]); len(alternatives) > 0 {
			n.variables = append(n.variables, alternatives)
		}
	}
	return n
}

// Unmet are the alternatives of a variable of which a machine meets none; empty where all hold. What is no version, or no property
// of the toolkit, holds.
func (n Needs) Unmet(f Facts) []string {
	for _, alternatives := range n.variables {
		if len(meeting(alternatives, f)) == 0 {
			return alternatives
		}
	}
	return nil
}

// CUDA is the least that a driver has to have for GPUs of a compute capability, where 0 is not known; 0 for none. Brand and driver of a
// machine are not known before the award, and most images name them only for drivers that need compatibility libraries. So alternatives
// that ask for either do not count beside one that does not.
func (n Needs) CUDA(arch class.Compute) (c market.CUDA) {
	for _, alternatives := range n.variables {
		c = max(c, leastCUDA(meeting(alternatives, Facts{Arch: known(arch)})))
	}
	return c
}

func known(arch class.Compute) string {
	if arch == 0 {
		return ""
	}
	return arch.String()
}

// RunsOn reports whether a machine with GPUs of a compute capability may run the image; true for 0, which is not known. Otherwise unmet are
// the alternatives of which no such machine meets one.
func (n Needs) RunsOn(arch class.Compute) (unmet []string, may bool) {
	unmet = n.Unmet(Facts{Arch: known(arch)})
	return unmet, len(unmet) == 0
}

func leastCUDA(alternatives []string) market.CUDA {
	var all, alone []market.CUDA
	for _, alternative := range alternatives {
		c, enough := cudaOf(alternative)
		all = append(all, c)
		if enough {
			alone = append(alone, c)
		}
	}
	switch {
	case len(alone) > 0:
		return slices.Min(alone)
	case len(all) > 0:
		return slices.Min(all)
	}
	return 0
}

// cudaOf is the CUDA that an alternative asks for; 0 for none. It is enough where nothing else of a machine has to be known that is not
// known before the award.
func cudaOf(alternative string) (c market.CUDA, enough bool) {
	enough = true
	for text := range strings.SplitSeq(alternative, ",") {
		property, operator, value := condition(text)
		if property == "cuda" && operator == ">=" {
			v, err := market.ParseCUDA(value)
			c, enough = max(c, v), enough && err == nil
			continue
		}
		enough = enough && property != "cuda" && property != "driver" && property != "brand"
	}
	return c, enough
}

// meeting are the alternatives of which a machine meets every condition.
func meeting(alternatives []string, f Facts) (out []string) {
	for _, alternative := range alternatives {
		holds := true
		for text := range strings.SplitSeq(alternative, ",") {
			holds = holds && f.meet(condition(text))
		}
		if holds {
			out = append(out, alternative)
		}
	}
	return out
}

// condition reads one such as cuda>=12.4.
func condition(text string) (property, operator, value string) {
	at := strings.IndexAny(text, "<>=!")
	if at < 0 {
		return text, "", ""
	}
	rest := text[at:]
	value = strings.TrimLeft(rest, "<>=!")
	return text[:at], rest[:len(rest)-len(value)], value
}

func (f Facts) meet(property, operator, value string) bool {
	var has bool
	var order int
	switch property {
	case "brand":
		has, order = f.Brand != "", strings.Compare(f.Brand, value)
	case "cuda":
		has, order = versions(f.CUDA, value)
	case "driver":
		has, order = versions(f.Driver, value)
	case "arch":
		has, order = versions(f.Arch, value)
	}
	return !has || ordered(operator, order)
}

func ordered(operator string, order int) bool {
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
