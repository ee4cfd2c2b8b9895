package catalogue

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	// ServedTokens are the tokens of context that an order asks memory for, if it does not say another number and the model has as many.
	ServedTokens = 16_384
	// usable is the part of a GPU's memory that a model may fill: servers take nine tenths of what the driver shows, and drivers show up
	// to 7 % less than what is sold.
	usable = 0.9 * 0.93
	// valueBytes is the size of a key's or a value's number in the cache: 16 bits.
	valueBytes = 2

	gib = 1 << 30
	// hubToken is the parameter of templates for what is gated.
	hubToken = "hfToken"
)

// tokens are those of context that are served where nobody says a number.
func (m *OpenModel) tokens() uint64 { return min(ServedTokens, uint64(m.Context)) }

// memory is what each of some GPUs needs, GiB as they are sold:
//
//	((weights + tokens × 2 × layers × heads × size × 2 bytes) / GPUs + margin) / usable
//
// The margin is for what is computed besides, and for the libraries; each template has its own.
func (c *Catalogue) memory(m *OpenModel, v *Variant, gpus uint8, tokens uint64) uint {
	cache := float64(tokens) * 2 * float64(m.Cache.Layers) * float64(m.Cache.Heads) * float64(m.Cache.Size) * valueBytes
	if !c.Runs[v.Template].Splits {
		gpus = 1
	}
	each := (v.Gigabytes*1e9+cache)/float64(gpus)/gib + c.Runs[v.Template].MarginGiB
	return uint(math.Ceil(each / usable))
}

// Wanted is what an order of a model says besides its name.
type Wanted struct {
	// Set are values of the template's parameters. More tokens of context need more memory.
	Set map[string]string
	// GPU is the model of the GPU that is ordered, with the number of GPUs where it is written as A100:4.
	GPU string
	// Count is how many GPUs of one machine it is split over; 0 for what GPU or Set says, or the variant's.
	Count uint8
	// Guest wants it in a measured guest, which no model can be in.
	Guest bool
}

// Template is the template that runs a model, NAME or NAME:QUANTISATION: its parameters have the model's values as defaults, and it
// needs the memory that the model needs. It is ordered and deployed as every template is. Errors: ErrNotFound,
// template.ErrNotFound, template.ErrParameter, service.Failure.
func (c *Catalogue) Template(all template.Set, name string, w Wanted) (*template.Template, error) {
	m, v, err := c.Find(name)
	if err != nil {
		return nil, err
	}
	if w.Guest {
		return nil, service.Usage("models run on GPUs, and a measured guest has none", "leave guest out")
	}
	return c.template(all, m, v, w)
}

func (c *Catalogue) template(all template.Set, m *OpenModel, v *Variant, w Wanted) (*template.Template, error) {
	base, err := all.Named(v.Template)
	if err != nil {
		return nil, err
	}
	r := c.Runs[v.Template]
	if value, given := w.Set[r.Model]; r.Model != "" && given && value != v.Weights {
		return nil, fmt.Errorf("%w %s: the model is %s already", template.ErrParameter, r.Model, m.Name)
	}
	tokens, gpus := m.tokens(), v.GPUs
	if n, given := number(w.Set, r.Tokens); given {
		tokens = n
		if n == 0 { // the model's own
			tokens = uint64(m.Context)
		}
	}
	if n, given := number(w.Set, r.GPUs); given && n >= 1 && n <= market.MaxGPUs {
		gpus = uint8(n)
	}
	if _, n, err := service.ParseGPU(w.GPU, w.Count); err != nil {
		return nil, err
	} else if n > 1 || w.Count == 1 {
		gpus = n
	}
	if r.GPUs != "" && gpus&(gpus-1) != 0 {
		return nil, fmt.Errorf("%w %s: %d; %s splits a model over 1, 2, 4 or 8 GPUs", template.ErrParameter, r.GPUs, gpus, v.Template)
	}
	t := *base
	t.Title, t.Description = m.Name+" by "+base.Title, fmt.Sprintf("%s in %s, licence %s. %s", m.ID, v.Quantisation, m.Licence, base.Description)
	t.GPU = template.GPU{Count: gpus, MemoryGiB: c.memory(m, v, gpus, tokens)}
	t.Try = template.Try{GPU: service.AnyModel, Minutes: base.Try.Minutes}
	t.Parameters = maps.Clone(base.Parameters)
	values := map[string]string{}
	maps.Copy(values, v.Set)
	for parameter, value := range map[string]string{r.Model: v.Weights, r.Tokens: strconv.FormatUint(tokens, 10), r.GPUs: strconv.Itoa(int(gpus))} {
		if parameter != "" && (parameter != r.Tokens || m.Context > 0) {
			values[parameter] = value
		}
	}
	if v.Gated {
		token := *t.Parameters[hubToken] // it is there: the catalogue was checked
		token.Required, token.Default = true, ""
		t.Parameters[hubToken] = &token
	}
	for key, value := range values {
		p := t.Parameters[key]
		if p == nil {
			return nil, fmt.Errorf("%w %q is not one of the template %s", template.ErrParameter, key, t.Name)
		}
		own := *p
		own.Default = value
		t.Parameters[key] = &own
	}
	return &t, nil
}

func number(set map[string]string, parameter string) (uint64, bool) {
	text, given := set[parameter]
	if parameter == "" || !given {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil // what is no number is refused where the template is rendered
}
