// Package keys holds the commands for keypair files.
package keys

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
)

// Commands are those commands.
func Commands(s command.Streams) []*cli.Command {
	return keyCommands(s)
}

// session is a run of one of these commands.
type session struct{ *command.Session }

func action(s command.Streams, f func(*session) error) cli.ActionFunc {
	return command.Action(s, func(c *command.Session) error { return f(&session{Session: c}) })
}
