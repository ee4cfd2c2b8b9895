package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
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

// fillIn puts what a template says in place of the flags that were not given. The returned command is what runs.
func (s *session) fillIn(command []string) ([]string, *template.Job, error) {
	name := s.cli.String(flagTemplate)
	pairs := s.cli.StringSlice(flagSet)
	if name == "" {
		if len(pairs) > 0 {
			return nil, nil, usage("--set is for templates", "name one with --template; see: gantry templates")
		}
		return command, nil, nil
	}
	t, err := findTemplate(name)
	if err != nil {
		return nil, nil, err
	}
	set, err := parseSet(pairs)
	if err != nil {
		return nil, nil, err
	}
	j, err := t.Render(set)
	if err != nil {
		return nil, nil, usage(err.Error(), "see: gantry templates show "+name)
	}
	if len(command) > 0 {
		return nil, nil, usage("a template says what runs, and there is a command too", "leave the command or --template out")
	}
	if err := s.setMissing(templateValues(&j)); err != nil {
		return nil, nil, err
	}
	if !s.cli.IsSet("gpu") {
		if err := s.setMissing(map[string]string{"gpu": j.Try.GPU, "max-price": j.Try.MaxPrice}); err != nil {
			return nil, nil, err
		}
	}
	if _, none, err := s.duration(); err == nil && none {
		if err := s.setMissing(map[string]string{"minutes": strconv.Itoa(int(j.Try.Minutes))}); err != nil {
			return nil, nil, err
		}
	}
	env := maps.Clone(j.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, s.env)
	s.env = env
	return j.Command, &j, nil
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

// templateValues are the flags that a template stands for; those that say nothing are left out.
func templateValues(j *template.Job) map[string]string {
	values := map[string]string{"image": j.Image, "network": j.Network, "count": strconv.Itoa(int(j.GPUs))}
	if j.Volume != "" {
		values[flagVolume] = j.Volume
	}
	if j.MemoryGiB > 0 {
		values["min-vram"] = strconv.Itoa(int(j.MemoryGiB))
	}
	if j.ToEnd {
		values["run-to-completion"] = "true"
	}
	return values
}

// setMissing sets flags that were not given.
func (s *session) setMissing(values map[string]string) error {
	for flag, value := range values {
		if s.cli.IsSet(flag) {
			continue
		}
		if err := s.cli.Set(flag, value); err != nil {
			return fmt.Errorf("template: %s: %w", flag, err)
		}
	}
	return nil
}

// howToReach says how the ports of a template's program are reached.
func (d *deployment) howToReach(lease string) {
	if d.r.template == nil {
		return
	}
	for _, p := range d.r.template.Ports {
		d.s.say(" · reach    %s: gantry port %s %d", p.Name, lease, p.Port)
	}
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
