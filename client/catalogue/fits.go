package catalogue

import (
	"fmt"
	"slices"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

// Fit is what a market has for a variant of a model now.
type Fit struct {
	Quantisation string `json:"quantisation"`
	Free         int    `json:"freeGpus" doc:"GPUs that are free and large enough"`
	From         string `json:"pricePerGpuHourFrom,omitempty"`
	Cheapest     string `json:"cheapestGpu,omitempty" doc:"Model of the GPU at that price"`
}

// Listed is a model, and what the market has for its variants where it was asked.
type Listed struct {
	*OpenModel
	Fits []Fit `json:"fits,omitempty"`
}

// Shown is one model, with the template that runs a variant of it, and command lines.
type Shown struct {
	Listed
	Chosen   string             `json:"chosen" doc:"The quantisation that the following is of"`
	Gated    bool               `json:"gated"`
	Template *template.Template `json:"template" doc:"That runs it, with the model's parameters and memory in place"`
	Commands []Command          `json:"commands"`
}

// List are the models that do something, or all for "", by name.
func (c *Catalogue) List(does Use) ([]Listed, error) {
	if does != "" && !slices.Contains(uses, does) {
		return nil, fmt.Errorf("models that do %q are %w; write one of %v", does, ErrNotFound, uses)
	}
	out := []Listed{}
	for _, m := range c.Models {
		if does == "" || slices.Contains(m.Does, does) {
			out = append(out, Listed{OpenModel: m})
		}
	}
	return out, nil
}

// Fit adds what a market has, as gantry gpus lists it. Error: a price that is none.
func (l *Listed) Fit(gpus []service.GPUs) error {
	l.Fits = nil
	for i := range l.Variants {
		v := &l.Variants[i]
		f := Fit{Quantisation: v.Quantisation}
		var least market.PricePerHour
		for j := range gpus {
			g := &gpus[j]
			if g.Free == 0 || g.VRAMMiB < service.MemoryMiB(uint64(v.MemoryGiB)) || g.MostFree < v.GPUs {
				continue
			}
			price, err := market.ParsePrice(g.From)
			if err != nil {
				return fmt.Errorf("price of %s: %w", g.Model, err)
			}
			if f.Free == 0 || price < least {
				least, f.From, f.Cheapest = price, g.From, g.Model
			}
			f.Free += g.Free
		}
		l.Fits = append(l.Fits, f)
	}
	return nil
}
