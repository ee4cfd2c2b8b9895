// Package verify holds the commands that check what others say: measurements, audits, auctions, evidence, faults and disputes.
package verify

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
)

// Commands are those commands.
func Commands(s command.Streams) []*cli.Command {
	return slices.Concat(measureCommands(s), attestCommands(s), faultCommands(s), disputeCommands(s), auctionCommands(s), auditCommands(s), evidenceCommands(s))
}

// session is a run of one of these commands.
type session struct{ *command.Session }

func action(s command.Streams, f func(*session) error) cli.ActionFunc {
	return command.Action(s, func(c *command.Session) error { return f(&session{Session: c}) })
}
