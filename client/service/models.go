package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/attest/measure/class"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// AnyModel is the name of the family of all models.
const AnyModel = "any"

// ParseGPU reads MODEL or MODEL:COUNT, and a number of GPUs that was given apart from it: 0 and 1 stand for none. n is at
// least 1. Error: Failure.
func ParseGPU(text string, count uint8) (name string, n uint8, err error) {
	name, number, two := strings.Cut(text, ":")
	if !two {
		return name, max(count, 1), nil
	}
	parsed, err := strconv.ParseUint(number, 10, 8)
	if err != nil || name == "" || parsed == 0 {
		return "", 0, Usage(fmt.Sprintf("--gpu %q is not MODEL or MODEL:COUNT", text), "write it as A100 or A100:4")
	}
	if count > 1 && uint64(count) != parsed {
		return "", 0, Usage(fmt.Sprintf("--gpu %s and --count %d say two numbers of GPUs", text, count), "leave one out")
	}
	return name, uint8(parsed), nil
}

// ModelsNamed finds the GPU models that a person means: one by its id or its whole name, else all that a part of the name
// fits, or all for "any". Case, spaces, hyphens and the maker's name do not matter: "RTX4090", "4090" and "nvidia geforce rtx
// 4090" are one. A10 is not a part of A100. Error: Failure.
func ModelsNamed(v *view.View, text string) ([]market.Model, error) {
	models := v.Models()
	if len(models) == 0 {
		return nil, Usage(fmt.Sprintf("GPU model %q is not known", text), "this market has no models yet")
	}
	if strings.EqualFold(text, AnyModel) {
		return models, nil
	}
	var words, parts []market.Model
	for _, m := range models {
		name := m.ModelName()
		if strings.EqualFold(name, text) || fmt.Sprint(m.Id) == text {
			return []market.Model{m}, nil
		}
		switch meant(name, text) {
		case wholeWords:
			words = append(words, m)
		case partOfName:
			parts = append(parts, m)
		}
	}
	if len(words) > 0 {
		return words, nil
	}
	if len(parts) > 0 {
		return parts, nil
	}
	if err := Unsupported(text); err != nil {
		return nil, err
	}
	return nil, Usage(fmt.Sprintf("GPU model %q is not known", text), "known models: "+joined(models, ", ")+", or "+AnyModel)
}

// ModelsOf are the models that an order names, as far as the market has them; none for any.
func ModelsOf(v *view.View, r *market.Requirement) (out []market.Model) {
	for _, id := range market.NamedModels(r) {
		if m, ok := v.Model(id); ok {
			out = append(out, m)
		}
	}
	return out
}

// NamesOf says which of some models will do; "any" for none.
func NamesOf(models []market.Model) string {
	if len(models) == 0 {
		return AnyModel
	}
	return joined(models, " or ")
}

// ModelsFor are the models that [ModelsNamed] finds and whose GPUs have a compute capability at least, such as "8.9"; empty for any. A model that
// the table of classes does not have is none of them. Error: Failure.
func ModelsFor(v *view.View, text, compute string) ([]market.Model, error) {
	models, err := ModelsNamed(v, text)
	if err != nil || compute == "" {
		return models, err
	}
	least, err := class.ParseCompute(compute)
	if err != nil {
		return nil, Usage("compute: "+err.Error(), "")
	}
	var out []market.Model
	var less []string
	for i := range models {
		switch have := computeOf(&models[i]); {
		case have >= least:
			out = append(out, models[i])
		case have == 0:
			less = append(less, models[i].ModelName()+" not known")
		default:
			less = append(less, models[i].ModelName()+" "+have.String())
		}
	}
	if len(out) == 0 {
		return nil, Usage(fmt.Sprintf("no model of %q has compute capability %s or more", text, least), "they have: "+strings.Join(less, ", "))
	}
	return out, nil
}

// ModelsThatRun are those of some models whose GPUs may run an image, by what it needs. A model that the table of classes does not have may:
// its machines say so themselves. text is how the models were named. Error: Failure, with their compute capabilities.
func ModelsThatRun(models []market.Model, text string, n jobspec.Needs) (out []market.Model, err error) {
	var less, needs []string
	for i := range models {
		have := computeOf(&models[i])
		unmet, may := n.RunsOn(have)
		if may {
			out = append(out, models[i])
			continue
		}
		less, needs = append(less, models[i].ModelName()+" "+have.String()), unmet
	}
	if len(out) > 0 || len(models) == 0 {
		return out, nil
	}
	return nil, Usage(fmt.Sprintf("no model of %q runs the image, which requires %.120q: arch is the compute capability", text, strings.Join(needs, " or ")),
		fmt.Sprintf("they have: %s; name another model or image. If you know that it runs, add --env %s=true", strings.Join(less, ", "), jobspec.DisableRequire))
}

// ImageCUDA is the least CUDA with which machines of every one of some models run an image; 0 for none.
func ImageCUDA(models []market.Model, n jobspec.Needs) (c market.CUDA) {
	for i := range models {
		c = max(c, n.CUDA(computeOf(&models[i])))
	}
	return c
}

// computeOf is the compute capability of a model's GPUs; 0 where the table of classes does not have it.
func computeOf(m *market.Model) class.Compute {
	g := class.GPUs().Named(m.ModelName())
	if g == nil {
		g = class.GPUs().Device("", m.ModelName())
	}
	if g == nil {
		return 0
	}
	return g.Compute
}

func joined(models []market.Model, by string) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.ModelName()
	}
	return strings.Join(names, by)
}

// meaning is how well a text fits the name of a model.
type meaning int

const (
	otherName meaning = iota
	partOfName
	wholeWords
)

// meant says how well a text fits a model's name.
func meant(name, text string) meaning {
	part := strings.Join(modelWords(text), "")
	switch {
	case strings.EqualFold(text, AnyModel):
		return wholeWords
	case part == "":
		return otherName
	case hasWords(modelWords(name), part):
		return wholeWords
	case strings.Contains(strings.Join(modelWords(name), ""), part) && !endsInNumber(name, part):
		return partOfName
	}
	return otherName
}

// modelWords are the words of a GPU's name in small letters, without those that every name of its maker has.
func modelWords(name string) []string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune(" -_/", r) })
	return slices.DeleteFunc(words, func(w string) bool { return w == "nvidia" || w == "geforce" || w == "tesla" })
}

// hasWords reports whether a part is some of the words, one after the other.
func hasWords(words []string, part string) bool {
	for i := range words {
		joined := ""
		for _, w := range words[i:] {
			if joined += w; joined == part {
				return true
			}
		}
	}
	return false
}

// endsInNumber reports whether every place of a part in a name ends within a number, as that of A10 in A100.
func endsInNumber(name, part string) bool {
	whole := strings.Join(modelWords(name), "")
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	for at := 0; ; {
		i := strings.Index(whole[at:], part)
		if i < 0 {
			return true
		}
		end := at + i + len(part)
		if end == len(whole) || !digit(whole[end-1]) || !digit(whole[end]) {
			return false
		}
		at += i + 1
	}
}
