package market

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/gantry-market/gantry/attest/measure/class"
)

var (
	// sayNothing are words that drivers and markets write or leave out as they like.
	sayNothing = []string{"NVIDIA", "GEFORCE", "TESLA", "SIMULATED", "GENERATION", "EDITION"}
	// memoryWord is a size or kind of memory: sizes are compared as numbers.
	memoryWord = regexp.MustCompile(`^([0-9]+GB?|HBM[0-9]*E?|GDDR[0-9]*X?)$`)
)

// SameModel reports whether a device's name, as its driver writes it ("NVIDIA H100 80GB HBM3"), is of a model of the
// market ("H100-SXM5-80GB"). Everything in both names must be the same but the maker, the memory and the form: drivers
// name the form of some boards only, so that it differs where both name one. An RTX 4090 Laptop GPU is no RTX 4090, an
// L40 no L40S, an H100 PCIe no H100-SXM5, and an instance of a GPU is no GPU.
func SameModel(device, model string) bool {
	d, formOfDevice := gpuName(device)
	m, formOfModel := gpuName(model)
	return m != "" && d == m && (formOfDevice == "" || formOfModel == "" || formOfDevice == formOfModel)
}

// DeviceOfModel reports whether a device is of a model of the market. Where the table of classes knows both, they must
// be of the same class: a driver's "NVIDIA H100 80GB HBM3" has no form in it, and is no H100 PCIe. Else their names
// decide. of is the device's class, nil where the table has none.
func DeviceOfModel(of *class.GPU, device, model string) bool {
	if as := class.GPUs().Named(model); of != nil && as != nil {
		return of == as
	}
	return SameModel(device, model)
}

// gpuName is what a name says of the chip, and of the board's form; "" where it says nothing.
func gpuName(s string) (chip, form string) {
	var b strings.Builder
	for _, w := range strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		switch {
		case slices.Contains(sayNothing, w), memoryWord.MatchString(w):
		case strings.HasPrefix(w, "SXM"):
			form = "SXM"
		case w == "PCIE" || w == "NVL":
			form = w
		default:
			b.WriteString(w)
		}
	}
	return b.String(), form
}
