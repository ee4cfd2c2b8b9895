package complete

import (
	"context"
	"strings"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/internal/arguments"
	"github.com/gantry-market/gantry/internal/completion"
	"github.com/gantry-market/gantry/internal/contexts"
)

// Candidate is one way to go on.
type Candidate = completion.Candidate

// Open opens the market that the flags of a command line name.
type Open func(ctx context.Context, given map[string][]string) (*Market, error)

// Sources know the values of gantry's flags and arguments.
func Sources(open Open) completion.Sources {
	orders := open.source(func(ctx context.Context, m *Market, _ *arguments.Place) []Candidate { return m.orders(ctx) })
	return completion.Sources{
		Flags: map[string]completion.Source{
			"gpu":      open.source(func(ctx context.Context, m *Market, _ *arguments.Place) []Candidate { return m.models(ctx) }),
			"template": templates, "model": openModels, "context": names,
			"output": func(context.Context, *arguments.Place) []Candidate {
				return []Candidate{{Value: "table"}, {Value: "wide"}, {Value: "json"}, {Value: "yaml"}}
			},
		},
		Arguments: map[string]completion.Source{
			"LEASE": open.source(func(ctx context.Context, m *Market, p *arguments.Place) []Candidate {
				return m.leases(ctx, ofOver[p.Path[0].Name])
			}),
			"ORDER": orders, "CLUSTER": orders, "CONTEXT": names,
			"NODE": open.source(func(ctx context.Context, m *Market, _ *arguments.Place) []Candidate { return m.nodes(ctx) }),
			"NAME": func(ctx context.Context, p *arguments.Place) []Candidate {
				if p.Path[0].Name != "templates" {
					return nil
				}
				return templates(ctx, p)
			},
			"MODEL": openModels,
		},
	}
}

// ofOver are commands about leases that may be over.
var ofOver = map[string]bool{"rate": true, "close": true, "audit": true, "why": true, "dispute": true}

// source asks the market of a command line.
func (open Open) source(read func(context.Context, *Market, *arguments.Place) []Candidate) completion.Source {
	return func(ctx context.Context, p *arguments.Place) []Candidate {
		m, err := open(ctx, p.Given)
		if err != nil {
			return nil
		}
		defer m.Close()
		return read(ctx, m, p)
	}
}

func templates(context.Context, *arguments.Place) (out []Candidate) {
	all, err := template.Builtin()
	if err != nil {
		return nil
	}
	for _, t := range all {
		out = append(out, Candidate{Value: t.Name, About: t.Title})
	}
	return out
}

func openModels(context.Context, *arguments.Place) (out []Candidate) {
	c, err := catalogue.Builtin()
	if err != nil {
		return nil
	}
	for _, m := range c.Models {
		out = append(out, Candidate{Value: m.Name, About: m.ID})
	}
	return out
}

// names are those of contexts.
func names(context.Context, *arguments.Place) (out []Candidate) {
	f, err := contexts.Load()
	if err != nil {
		return nil
	}
	for _, c := range f.List() {
		out = append(out, Candidate{Value: c.Name, About: strings.Join(c.RPC, " ")})
	}
	return out
}
