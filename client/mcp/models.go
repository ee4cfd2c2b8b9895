package mcp

import (
	"context"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
)

type modelsInput struct {
	Does string `json:"does,omitempty" jsonschema:"only models that do this: chat, code, embedding, image or speech; all without"`
}

// Models are those of the catalogue.
type Models struct {
	Models []Model `json:"models" jsonschema:"by name"`
}

// Model is one of them.
type Model struct {
	Name       string          `json:"name"`
	ID         string          `json:"id" jsonschema:"repository of the Hugging Face hub"`
	Does       []catalogue.Use `json:"does"`
	Licence    string          `json:"licence"`
	Parameters float64         `json:"parametersBillions"`
	Context    uint32          `json:"contextTokens,omitempty"`
	Variants   []ModelVariant  `json:"variants" jsonschema:"an order that names no quantisation gets the first"`
}

// ModelVariant is a model in one quantisation.
type ModelVariant struct {
	Quantisation string `json:"quantisation"`
	Template     string `json:"template"`
	GPUs         uint8  `json:"gpus" jsonschema:"of one machine"`
	MemoryGiB    uint   `json:"memoryGiB" jsonschema:"of each GPU, at least"`
	Gated        bool   `json:"gated,omitempty" jsonschema:"set.hfToken is needed: a token of the Hugging Face hub that has accepted the licence"`
}

func (t *tools) models(_ context.Context, in modelsInput) (Models, error) {
	all, err := t.o.Catalogue.List(catalogue.Use(in.Does))
	out := Models{Models: []Model{}}
	for _, l := range all {
		m := Model{Name: l.Name, ID: l.ID, Does: l.Does, Licence: l.Licence, Parameters: l.Parameters, Context: l.Context}
		for i := range l.Variants {
			v := &l.Variants[i]
			m.Variants = append(m.Variants, ModelVariant{v.Quantisation, v.Template, v.GPUs, v.MemoryGiB, v.Gated})
		}
		out.Models = append(out.Models, m)
	}
	return out, err
}

type deployModelInput struct {
	Key            string            `json:"idempotencyKey" jsonschema:"names the purchase: letters, digits, dots, dashes. Calling again with the same key and request never buys twice"`
	Model          string            `json:"model" jsonschema:"NAME or NAME:QUANTISATION of the tool models"`
	Set            map[string]string `json:"set,omitempty" jsonschema:"values of the template's parameters, such as hfToken"`
	GPU            string            `json:"gpu,omitempty" jsonschema:"GPU model; by default any that has the memory"`
	Count          uint8             `json:"count,omitempty" jsonschema:"GPUs of one machine over which the model is split; the variant's by default"`
	Region         string            `json:"region,omitempty" jsonschema:"prefix of the region"`
	MaxPrice       string            `json:"maxPricePerGpuHour" jsonschema:"the most USDC per GPU-hour; the budget is counted with it"`
	Seconds        uint32            `json:"seconds" jsonschema:"how long, seconds; stop ends it earlier"`
	AllowSimulated bool              `json:"allowSimulated,omitempty" jsonschema:"simulated GPUs too, on local networks"`
}

func (t *tools) deployModel(ctx context.Context, in deployModelInput) (Deployed, error) {
	if err := checkKey(in.Key); err != nil {
		return Deployed{}, err
	}
	if in.MaxPrice == "" { // of several GPU models the quote could take a cheaper one than the order
		return Deployed{}, service.Usage("maxPricePerGpuHour is empty", "give the most that a GPU-hour may cost; see the tool search")
	}
	r, err := serve.ModelOrder(t.o.Catalogue, t.o.Templates, in.Model, serve.TemplateOrder{
		Set: in.Set, GPU: in.GPU, Count: in.Count, Region: in.Region, MaxPrice: in.MaxPrice, Seconds: in.Seconds, AllowSimulated: in.AllowSimulated,
	})
	if err != nil {
		return Deployed{}, err
	}
	return t.buy(ctx, in.Key, r)
}
