package rent

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
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

func templatesCommand(s command.Streams) *cli.Command {
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
	if name := s.CLI.Args().First(); name != "" {
		return service.Usage(fmt.Sprintf("%q is not a command of gantry templates", name), "see a template with: gantry templates show NAME")
	}
	all, err := template.Builtin()
	if err != nil {
		return err
	}
	return s.Done(all, func(w io.Writer) {
		rows := make([][]string, len(all))
		for i, t := range all {
			rows[i] = []string{t.Name, t.Title, fmt.Sprintf("%d, %d GiB", t.GPU.Count, t.GPU.MemoryGiB), t.TryCost()}
		}
		command.Table(w, "NAME|WHAT|GPUS|TRY IT FOR AT MOST", rows)
	})
}

func (s *session) showTemplate() error {
	args, err := s.Args("NAME|FILE")
	if err != nil {
		return err
	}
	t, err := findTemplate(args[0])
	if err != nil {
		return err
	}
	return s.Done(t, func(w io.Writer) {
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
		fmt.Fprintf(w, "needs     %d GPU with %d GiB or more\ntry it    %s at most\n", t.GPU.Count, t.GPU.MemoryGiB, t.TryCost())
		for _, source := range t.Sources {
			fmt.Fprintf(w, "source    %s\n", source)
		}
		if len(t.Parameters) > 0 {
			fmt.Fprintln(w)
			rows := [][]string{}
			for _, key := range slices.Sorted(maps.Keys(t.Parameters)) {
				p := t.Parameters[key]
				rows = append(rows, []string{key, string(p.Type), p.Shown(), p.Description})
			}
			command.Table(w, "PARAMETER|TYPE|DEFAULT|WHAT", rows)
		}
	})
}

// findTemplate is template.Find for somebody at the command line.
func findTemplate(text string) (*template.Template, error) {
	t, err := template.Find(text)
	if err != nil {
		return nil, service.Usage("--template: "+err.Error(), "see: gantry templates; a file of your own has a / in its name, or ends in .yaml")
	}
	return t, nil
}

// parseSet is template.ParseSet for somebody at the command line.
func parseSet(pairs []string) (map[string]string, error) {
	set, err := template.ParseSet(pairs)
	if err != nil {
		return nil, service.Usage("--set: "+err.Error(), "see: gantry templates show NAME")
	}
	return set, nil
}
