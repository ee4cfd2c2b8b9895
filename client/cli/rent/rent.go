// Package rent holds the commands of a customer: credits, searches, purchases, leases, and what runs on them.
package rent

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
)

// Commands are those commands.
func Commands(s command.Streams) []*cli.Command {
	return slices.Concat(customerCommands(s), shellCommands(s), gatewayCommands(s), sessionKeyCommands(s), orderCommands(s))
}

// session is a run of one of these commands.
type session struct {
	*command.Session

	forwards *forwards // the ports of a purchase; nil for none
}

func action(s command.Streams, f func(*session) error) cli.ActionFunc {
	return command.Action(s, func(c *command.Session) error { return f(&session{Session: c}) })
}
