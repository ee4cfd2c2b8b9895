package rent

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/client/terminal"
)

const (
	flagTemplate = "template"
	flagSet      = "set"
	flagModel    = "model"
)

func templateFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagTemplate, Usage: "run a known program: `NAME` of gantry templates, or the FILE of your own; other flags take the place of what it says"},
		&cli.StringFlag{Name: flagModel, Usage: "run an open model: `NAME[:QUANTISATION]` of gantry models. It chooses the template, its parameters and the GPUs' memory"},
		&cli.StringSliceFlag{Name: flagSet, Usage: "`PARAMETER=VALUE` of --template, or of the model's template; repeat"},
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
	return s.Done(all, func(w *terminal.Page) { terminal.WriteTemplates(w, all) })
}

func (s *session) showTemplate() error {
	args, err := s.Args("NAME|FILE")
	if err != nil {
		return err
	}
	t, err := catalogue.FindTemplate(args[0])
	if err != nil {
		return err
	}
	return s.Done(t, func(w *terminal.Page) { terminal.WriteTemplate(w, t) })
}

// parseSet is template.ParseSet for somebody at the command line.
func parseSet(pairs []string) (map[string]string, error) {
	set, err := template.ParseSet(pairs)
	if err != nil {
		return nil, service.Usage("--set: "+err.Error(), "see: gantry templates show NAME")
	}
	return set, nil
}
