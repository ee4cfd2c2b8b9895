package rent

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
)

func modelsCommand(s command.Streams) *cli.Command {
	free := &cli.BoolFlag{Name: "free", Usage: "ask the market how many free GPUs are large enough, and what the cheapest costs"}
	return &cli.Command{
		Name: "models", Usage: "open models that gantry deploy --model runs",
		Flags:  []cli.Flag{free, &cli.StringFlag{Name: "does", Usage: "only models that do `THIS`: chat, code, embedding, image or speech"}},
		Action: action(s, (*session).listModels),
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "a model, by NAME or NAME:QUANTISATION: licence, memory, and the commands that run it", ArgsUsage: "MODEL",
			Flags: []cli.Flag{free}, Action: action(s, (*session).showModel),
		}},
	}
}

func (s *session) listModels() error {
	if name := s.CLI.Args().First(); name != "" {
		return service.Usage("gantry models takes no name", "see one with: gantry models show "+name)
	}
	all, err := catalogue.Listing(s.Context, catalogue.Use(s.CLI.String("does")), s.free())
	if err != nil {
		return err
	}
	return s.Done(all, func(w *terminal.Page) { terminal.WriteModels(w, all) })
}

func (s *session) showModel() error {
	args, err := s.Args("MODEL")
	if err != nil {
		return err
	}
	m, err := catalogue.Show(s.Context, args[0], s.free())
	if err != nil {
		return err
	}
	return s.Done(&m, func(w *terminal.Page) { terminal.WriteModel(w, &m) })
}

// free asks the market where the flag says so.
func (s *session) free() catalogue.Free {
	if !s.CLI.Bool("free") {
		return nil
	}
	return s.Service.GPUs
}
