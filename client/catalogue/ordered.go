package catalogue

import (
	"context"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
)

// Job is what runs by the template or the model of a command line: nil where it names none. Error: a service.Failure.
func Job(name, model string, w Wanted) (*template.Job, error) {
	if name == "" && model == "" {
		if len(w.Set) > 0 {
			return nil, service.Usage("--set is for templates", "name one with --template, or a model with --model; see: gantry templates, gantry models")
		}
		return nil, nil
	}
	var t *template.Template
	var err error
	see := "see: gantry templates show " + name
	switch {
	case name != "" && model != "":
		return nil, service.Usage("--template and --model both say what runs", "leave one out")
	case model != "":
		see = "see: gantry models show " + model
		t, err = ofModel(model, w)
	default:
		t, err = FindTemplate(name)
	}
	if err != nil {
		return nil, err
	}
	j, err := t.Render(w.Set)
	if err != nil {
		return nil, service.Usage(err.Error(), see)
	}
	return &j, nil
}

// FindTemplate is template.Find for somebody at the command line. Error: a service.Failure.
func FindTemplate(text string) (*template.Template, error) {
	t, err := template.Find(text)
	if err != nil {
		return nil, service.Usage("--template: "+err.Error(), "see: gantry templates; a file of your own has a / in its name, or ends in .yaml")
	}
	return t, nil
}

// ofModel is the template that runs a model, for somebody at the command line.
func ofModel(model string, w Wanted) (*template.Template, error) {
	c, err := Builtin()
	if err != nil {
		return nil, err
	}
	all, err := template.Builtin()
	if err != nil {
		return nil, err
	}
	t, err := c.Template(all, model, w)
	if err != nil {
		return nil, service.Usage("--model: "+err.Error(), "see: gantry models")
	}
	return t, nil
}

// Free tells what a market has; service.Service's GPUs is one. Nil asks no market.
type Free func(context.Context) ([]service.GPUs, error)

// Listing are the models that gantry comes with and that do something, or all for "".
func Listing(ctx context.Context, does Use, free Free) ([]Listed, error) {
	c, err := Builtin()
	if err != nil {
		return nil, err
	}
	all, err := c.List(does)
	if err != nil {
		return nil, service.Usage(err.Error(), "")
	}
	return all, fit(ctx, all, free)
}

// Show is one model that gantry comes with. Error: a service.Failure, or that of the market.
func Show(ctx context.Context, name string, free Free) (Shown, error) {
	t, err := ofModel(name, Wanted{})
	if err != nil {
		return Shown{}, err
	}
	c, err := Builtin()
	if err != nil {
		return Shown{}, err
	}
	m, v, err := c.Find(name)
	if err != nil {
		return Shown{}, err
	}
	one := []Listed{{OpenModel: m}}
	err = fit(ctx, one, free)
	return Shown{Listed: one[0], Chosen: v.Quantisation, Gated: v.Gated, Template: t, Commands: m.CommandLines(v, t)}, err
}

func fit(ctx context.Context, all []Listed, free Free) error {
	if free == nil {
		return nil
	}
	gpus, err := free(ctx)
	for i := range all {
		if err == nil {
			err = all[i].Fit(gpus)
		}
	}
	return err
}
