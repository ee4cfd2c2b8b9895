package catalogue

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

var (
	nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)
	idForm   = regexp.MustCompile(`^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$`)
	wordForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,32}$`)
)

// complete checks all models, and fills in what is computed.
func (c *Catalogue) complete(all template.Set) error {
	for name, r := range c.Runs {
		t, err := all.Named(name)
		if err != nil {
			return fmt.Errorf("runs: %w", err)
		}
		for _, parameter := range []string{r.Model, r.Tokens, r.GPUs} {
			if parameter != "" && t.Parameters[parameter] == nil {
				return fmt.Errorf("runs: the template %s has no parameter %q", name, parameter)
			}
		}
		if r.MarginGiB <= 0 {
			return fmt.Errorf("runs: %s states no marginGiB", name)
		}
	}
	names := map[string]bool{}
	for i, m := range c.Models {
		if m == nil {
			return fmt.Errorf("model %d is empty", i+1)
		}
		for _, name := range []string{strings.ToLower(m.Name), strings.ToLower(m.ID)} {
			if names[name] {
				return fmt.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		for j := range m.Variants {
			if err := c.completeVariant(all, m, &m.Variants[j]); err != nil {
				return fmt.Errorf("%s: %s: %w", m.Name, m.Variants[j].Quantisation, err)
			}
		}
	}
	return nil
}

// check reports what makes an entry no model.
func (m *OpenModel) check() error {
	switch {
	case !nameForm.MatchString(m.Name):
		return errors.New("a name has a-z, 0-9, dots and hyphens, 63 at most")
	case !idForm.MatchString(m.ID):
		return fmt.Errorf("id %q is not OWNER/NAME of the Hugging Face hub", m.ID)
	case strings.TrimSpace(m.Licence) == "":
		return errors.New("it has no licence")
	case len(m.Does) == 0:
		return errors.New("it does nothing: write does")
	case m.Parameters <= 0:
		return errors.New("parameters are missing, in billions")
	case len(m.Variants) == 0:
		return errors.New("it has no variants")
	}
	words := false
	for _, u := range m.Does {
		if !slices.Contains(uses, u) {
			return fmt.Errorf("does %q; write one of %v", u, uses)
		}
		words = words || u == Chat || u == Code || u == Embedding
	}
	if words != (m.Context > 0) {
		return errors.New("context, in tokens, is for models of text, and each has it")
	}
	if k := m.Cache; (k.Layers == 0) != (k.Heads == 0) || (k.Layers == 0) != (k.Size == 0) {
		return errors.New("cache needs layers, heads and size")
	}
	seen := map[string]bool{}
	for _, v := range m.Variants {
		key := strings.ToLower(v.Quantisation)
		if !wordForm.MatchString(v.Quantisation) || seen[key] {
			return fmt.Errorf("quantisation %q: a word, once for each variant", v.Quantisation)
		}
		seen[key] = true
	}
	return nil
}

// completeVariant fills in the size of the weights, the GPUs, their memory and the parameters, and renders the template with them.
func (c *Catalogue) completeVariant(all template.Set, m *OpenModel, v *Variant) error {
	r, known := c.Runs[v.Template]
	if !known {
		return fmt.Errorf("template %q is not among runs", v.Template)
	}
	if (r.Model == "") != (v.Weights == "") || (r.Model == "") != (len(v.Files) > 0) {
		return errors.New("weights are what the template fetches, files are for a template that fetches none")
	}
	for _, f := range v.Files {
		if !strings.HasPrefix(f.URL, "https://") || !strings.HasPrefix(f.Folder, "/") {
			return fmt.Errorf("file %q: an https address, and a folder that begins with /", f.URL)
		}
	}
	v.Source = "https://huggingface.co/" + m.ID
	if v.Gigabytes == 0 {
		q, known := c.Quantisations[v.Quantisation]
		if !known || q.Bits <= 0 || q.Source == "" {
			return errors.New("it states no gigabytes, and quantisations has no bits and source for it")
		}
		v.Gigabytes, v.Source = m.Parameters*q.Bits/8, q.Source
	} else if repository, _, _ := strings.Cut(v.Weights, ":"); idForm.MatchString(repository) {
		v.Source = "https://huggingface.co/" + repository
	} else if len(v.Files) > 0 {
		v.Source = v.Files[0].URL
	}
	v.GPUs = max(v.GPUs, 1)
	if v.GPUs > market.MaxGPUs {
		return fmt.Errorf("gpus is %d; a machine has 1 to 8", v.GPUs)
	}
	v.MemoryGiB = c.memory(m, v, v.GPUs, m.tokens())
	base, err := all.Named(v.Template)
	if err != nil {
		return err
	}
	if v.Gated && base.Parameters[hubToken] == nil {
		return fmt.Errorf("the template %s has no %s for what is gated", v.Template, hubToken)
	}
	t, err := c.template(all, m, v, Wanted{})
	if err != nil {
		return err
	}
	set := map[string]string{}
	for key, p := range t.Parameters {
		if set[key] = p.Default; p.Required {
			set[key] = "required"
		}
	}
	_, err = t.Render(set)
	return err
}
