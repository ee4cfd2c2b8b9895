package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
)

const (
	flagTemplate = "template"
	flagSet      = "set"
)

func templateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagTemplate, Usage: "run a known program: `NAME` of gantry templates, or the FILE of your own; other flags take the place of what it says"},
		&cli.StringSliceFlag{Name: flagSet, Usage: "`PARAMETER=VALUE` of --template; repeat"},
	}
}

func templatesCommand(s Streams) *cli.Command {
	return &cli.Command{
		Name: "templates", Usage: "known programs that gantry deploy --template runs",
		Description: "An image's tag is resolved to its digest before an order; --image NAME@sha256:… takes another.",
		Action:      action(s, (*session).listTemplates),
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "what a template runs, and its parameters", ArgsUsage: "NAME|FILE", Action: action(s, (*session).showTemplate),
		}},
	}
}

// listTemplates prints the templates that gantry comes with. It asks no one.
func (s *session) listTemplates() error {
	if name := s.cli.Args().First(); name != "" {
		return usage(fmt.Sprintf("%q is not a command of gantry templates", name), "see a template with: gantry templates show NAME")
	}
	all, err := template.Builtin()
	if err != nil {
		return err
	}
	return s.done(all, func(w io.Writer) {
		rows := make([][]string, len(all))
		for i, t := range all {
			rows[i] = []string{t.Name, t.Title, fmt.Sprintf("%d, %d GiB", t.GPU.Count, t.GPU.MemoryGiB), tryCost(t)}
		}
		table(w, "NAME|WHAT|GPUS|TRY IT FOR AT MOST", rows)
	})
}

// tryCost is what an order reserves that names the template alone.
func tryCost(t *template.Template) string {
	price, err := market.ParsePrice(t.Try.MaxPrice)
	if err != nil {
		return "-" // no template is read that has none
	}
	cost, err := market.OrderCost(price, t.GPU.Count, t.Try.Minutes*60, 1)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%s USDC: %d minutes of %d×%s", cost, t.Try.Minutes, t.GPU.Count, t.Try.GPU)
}

func (s *session) showTemplate() error {
	args, err := s.args("NAME|FILE")
	if err != nil {
		return err
	}
	t, err := findTemplate(args[0])
	if err != nil {
		return err
	}
	return s.done(t, func(w io.Writer) {
		fmt.Fprintf(w, "%s   %s\n%s\n\nimage     %s (its digest is resolved before an order)\n", t.Name, t.Title, t.Description, t.Image)
		var words []string
		for _, a := range t.Command {
			text := strings.Join(a.Args, " ")
			if a.When != "" {
				text = "[" + text + "]"
			}
			words = append(words, text)
		}
		if len(words) > 0 {
			fmt.Fprintf(w, "arguments %s\n", strings.Join(words, " "))
		}
		for _, p := range t.Ports {
			fmt.Fprintf(w, "port      %d (%s): gantry port LEASE %d\n", p.Port, p.Name, p.Port)
		}
		if h := t.Health; h != nil {
			fmt.Fprintf(w, "serves    when %s at port %d answers, within %s\n", h.Path, h.Port, time.Duration(h.Deadline))
		}
		if t.Volume != "" {
			fmt.Fprintf(w, "volume    %s\n", t.Volume)
		}
		fmt.Fprintf(w, "needs     %d GPU with %d GiB or more\ntry it    %s at most\n", t.GPU.Count, t.GPU.MemoryGiB, tryCost(t))
		for _, source := range t.Sources {
			fmt.Fprintf(w, "source    %s\n", source)
		}
		if len(t.Parameters) > 0 {
			fmt.Fprintln(w)
			rows := [][]string{}
			for _, key := range slices.Sorted(maps.Keys(t.Parameters)) {
				p := t.Parameters[key]
				rows = append(rows, []string{key, string(p.Type), parameterDefault(p), p.Description})
			}
			table(w, "PARAMETER|TYPE|DEFAULT|WHAT", rows)
		}
	})
}

func parameterDefault(p *template.Parameter) string {
	switch {
	case p.Required:
		return "(required)"
	case p.Default == "":
		return "-"
	}
	return p.Default
}

// findTemplate is one that gantry comes with, or a file.
func findTemplate(text string) (*template.Template, error) {
	if template.IsFile(text) {
		t, err := template.Load(text)
		if err != nil {
			return nil, usage("--template: "+err.Error(), "how a template is written: docs/operate/templates.md")
		}
		return t, nil
	}
	all, err := template.Builtin()
	if err != nil {
		return nil, err
	}
	t, err := all.Named(text)
	if err != nil {
		return nil, usage("--template: "+err.Error(), "see: gantry templates; a file of your own has a / in its name, or ends in .yaml")
	}
	return t, nil
}

// parseSet reads PARAMETER=VALUE.
func parseSet(pairs []string) (map[string]string, error) {
	set := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := set[key]; !ok || twice {
			return nil, usage(fmt.Sprintf("--set %q is not PARAMETER=VALUE, or the parameter is there twice", key), "see: gantry templates show NAME")
		}
		set[key] = value
	}
	return set, nil
}

// servedTemplates are those that gantry comes with, and the files that were named.
func (s *session) servedTemplates() (template.Set, error) {
	all, err := template.Builtin()
	if err != nil {
		return nil, err
	}
	for _, path := range s.cli.StringSlice(flagTemplate) {
		t, err := template.Load(path)
		if err != nil {
			return nil, usage("--template: "+err.Error(), "how a template is written: docs/operate/templates.md")
		}
		all = all.With(t)
	}
	return all, nil
}
