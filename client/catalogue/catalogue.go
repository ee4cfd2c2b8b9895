// Package catalogue knows open models by name: what they do, their licence, and how much GPU memory they need. It makes a template of
// a model: the template that runs it, with the model's parameters and memory in place. The data is templates/catalogue/models.yaml.
package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/templates"
)

var (
	// ErrCatalogue: the file is not a catalogue of models.
	ErrCatalogue = errors.New("not a catalogue of models")
	// ErrNotFound: the catalogue has no such model, or the model has no such quantisation.
	ErrNotFound = errors.New("not in the catalogue")
)

// Use is what a model does.
type Use string

// The uses.
const (
	Chat      Use = "chat"
	Code      Use = "code"
	Embedding Use = "embedding"
	Image     Use = "image"
	Speech    Use = "speech"
)

// uses are all of them.
var uses = []Use{Chat, Code, Embedding, Image, Speech}

// OpenModel is a model whose weights anybody can fetch, or who has accepted its licence.
type OpenModel struct {
	Name       string  `yaml:"name" json:"name"`
	ID         string  `yaml:"id" json:"id" doc:"Repository of the Hugging Face hub that the facts are of"`
	Does       []Use   `yaml:"does" json:"does" doc:"chat, code, embedding, image or speech"`
	Licence    string  `yaml:"licence" json:"licence" doc:"SPDX identifier, or the licence's name"`
	Parameters float64 `yaml:"parameters" json:"parametersBillions" doc:"Of a model of pictures: those of the part that draws"`
	Context    uint32  `yaml:"context" json:"contextTokens,omitempty" doc:"The most tokens that it was made for; absent for models of pictures and speech"`
	Cache      Cache   `yaml:"cache" json:"cache" doc:"What a token of context takes of memory"`
	// Variants are in the order of the file; an order without a quantisation gets the first.
	Variants []Variant `yaml:"variants" json:"variants" doc:"An order that names no quantisation gets the first"`
}

// Cache is the shape of the keys and values that attention keeps of each token; zero where there are none.
type Cache struct {
	Layers uint32 `yaml:"layers" json:"layers"`
	Heads  uint32 `yaml:"heads" json:"heads" doc:"Of keys and values"`
	Size   uint32 `yaml:"size" json:"size" doc:"Of one head"`
}

// Variant is a model in one quantisation, with what runs it.
type Variant struct {
	Quantisation string            `yaml:"quantisation" json:"quantisation" example:"BF16"`
	Template     string            `yaml:"template" json:"template"`
	Weights      string            `yaml:"weights" json:"weights,omitempty" doc:"What the template fetches: a repository of the Hugging Face hub, with a file's quantisation, or a name"`
	Gated        bool              `yaml:"gated" json:"gated" doc:"Only who has accepted the licence on the Hugging Face hub can fetch it: give hfToken"`
	Gigabytes    float64           `yaml:"gigabytes" json:"gigabytes" doc:"Size of the weights, 1,000,000,000 bytes"`
	GPUs         uint8             `yaml:"gpus" json:"gpus" doc:"GPUs of one machine over which it is split"`
	Set          map[string]string `yaml:"set" json:"set,omitempty" doc:"Values of the template's parameters"`
	Files        []File            `yaml:"files" json:"files,omitempty" doc:"To fetch into the container when it runs, where the template fetches nothing"`
	Source       string            `yaml:"-" json:"source" doc:"Where the size of the weights is from"`
	MemoryGiB    uint              `yaml:"-" json:"memoryGiB" doc:"Of each GPU, at least, as it is sold"`
}

// File is one that a model needs.
type File struct {
	URL    string `yaml:"url" json:"url"`
	Folder string `yaml:"folder" json:"folder" doc:"In the container"`
}

// quantisation is how many bits a weight takes, where a variant does not state its size.
type quantisation struct {
	Bits   float64 `yaml:"bits"`
	Source string  `yaml:"source"`
}

// runner says how a template is told what it runs: the names of its parameters, empty where it has none.
type runner struct {
	Model     string  `yaml:"model"`
	Tokens    string  `yaml:"tokens"`
	GPUs      string  `yaml:"gpus"`
	Splits    bool    `yaml:"splits"` // a model over the GPUs of a machine
	MarginGiB float64 `yaml:"marginGiB"`
}

// Catalogue is the file.
type Catalogue struct {
	Models []*OpenModel `yaml:"models"`

	Quantisations map[string]quantisation `yaml:"quantisations"`
	Runs          map[string]runner       `yaml:"runs"`
}

// Builtin is the catalogue that gantry comes with.
func Builtin() (*Catalogue, error) {
	all, err := template.Builtin()
	if err != nil {
		return nil, err
	}
	return Parse(templates.Models, all)
}

// Parse reads a catalogue and checks it against the templates that it names. Error: ErrCatalogue.
func Parse(raw []byte, all template.Set) (*Catalogue, error) {
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	c := &Catalogue{}
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrCatalogue, strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if err := c.complete(all); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCatalogue, err)
	}
	slices.SortFunc(c.Models, func(a, b *OpenModel) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// Find is the model and the variant that a text means: NAME or NAME:QUANTISATION, where NAME may be the id of the Hugging Face hub
// and case does not matter. Error: ErrNotFound, with what there is.
func (c *Catalogue) Find(text string) (*OpenModel, *Variant, error) {
	name, quantisation, named := strings.Cut(strings.TrimSpace(text), ":")
	i := slices.IndexFunc(c.Models, func(m *OpenModel) bool { return strings.EqualFold(m.Name, name) || strings.EqualFold(m.ID, name) })
	if i < 0 {
		return nil, nil, fmt.Errorf("the model %q is %w%s", name, ErrNotFound, c.near(name))
	}
	m := c.Models[i]
	if !named {
		return m, &m.Variants[0], nil
	}
	var have []string
	for i := range m.Variants {
		v := &m.Variants[i]
		if strings.EqualFold(v.Quantisation, quantisation) {
			return m, v, nil
		}
		have = append(have, v.Quantisation)
	}
	return nil, nil, fmt.Errorf("%s in the quantisation %q is %w; there are %s", m.Name, quantisation, ErrNotFound, strings.Join(have, ", "))
}

// near are models whose names have the same beginning, or the text in them.
func (c *Catalogue) near(name string) string {
	name = strings.ToLower(name)
	family, _, _ := strings.Cut(name, "-")
	var found []string
	for _, m := range c.Models {
		if family != "" && (strings.HasPrefix(m.Name, family) || strings.Contains(m.Name, name)) {
			found = append(found, m.Name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; near it are " + strings.Join(found, ", ")
}
