package arguments

import (
	"errors"

	"github.com/urfave/cli/v2"
)

// ErrVersion ends a command line that asks for the version: it is printed.
var ErrVersion = errors.New("the version is printed")

// OwnHelp gives an application and all of its commands their own flags for help and the version. The library has one of each
// for the process, and changes it while it reads a command line: two at the same time would be a race.
func OwnHelp(app *cli.App) {
	app.HideHelp, app.HideVersion = true, true
	app.Flags = append(app.Flags, helpFlag(), &cli.BoolFlag{
		Name: "version", Aliases: []string{"v"}, Usage: "print the version", DisableDefaultText: true,
		Action: func(c *cli.Context, _ bool) error {
			cli.ShowVersion(c)
			return ErrVersion
		},
	})
	ownHelp(app.Commands)
}

func ownHelp(commands []*cli.Command) {
	for _, c := range commands {
		c.HideHelp = true
		c.Flags = append(c.Flags, helpFlag())
		ownHelp(c.Subcommands)
	}
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}
}
