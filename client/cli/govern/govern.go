// Package govern holds the commands about the market: its parameters, models, roles and program, and votes about it.
package govern

import (
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
)

// Commands are those commands.
func Commands(s command.Streams) []*cli.Command {
	return append(marketCommands(s), holdersCommand(s))
}

// session is a run of one of these commands.
type session struct{ *command.Session }

func action(s command.Streams, f func(*session) error) cli.ActionFunc {
	return command.Action(s, func(c *command.Session) error { return f(&session{Session: c}) })
}
