package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/localnet/demo"
)

func demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "run a whole market in about a minute and check every sum",
		Flags: []cli.Flag{
			engineFlag(), stateFlag(),
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print every step as text instead of one screen"},
			&cli.BoolFlag{Name: "log", Usage: "show what the network does, on standard error; with the text instead of the screen"},
			&cli.BoolFlag{Name: "wait", Usage: "wait for the cool-downs at the end, a minute and a half, instead of moving the node's clock"},
			&cli.BoolFlag{Name: "keep", Usage: "leave the node running at the end until Ctrl-C, for audits"},
		},
		Action: func(c *cli.Context) error {
			kind, err := chosenEngine(c)
			if err != nil {
				return err
			}
			dir, err := stateDir(c, "gantry-demo")
			if err != nil {
				return err
			}
			opts := demo.Options{Engine: kind, Dir: dir, Log: loggerAt(c, c.Bool("log")), Keep: c.Bool("keep"), Wait: c.Bool("wait")}
			opts.Out, opts.Screen = demoOutput(os.Stdout, os.Getenv, c.Bool("verbose") || c.Bool("log"))
			return demo.Run(c.Context, opts)
		},
	}
}

// demoOutput is how the demo shows itself: as one screen where a person looks at a terminal, else as text.
func demoOutput(f *os.File, env func(string) string, text bool) (io.Writer, *screen.Terminal) {
	if t := screen.Of(f, env); t.Live && !text {
		return f, &t
	}
	return f, nil
}
