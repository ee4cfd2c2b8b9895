package rent

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/terminal"
)

func suspendCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "suspend", Usage: "keep a lease's container, with its processes and memory, and end the lease", ArgsUsage: "LEASE",
		Description: "The machine freezes the container. It stores memory, processes, volume and changed files of the image in the bucket of\n" +
			"deploy --backup, encrypted with your key. Then the lease ends, and nothing is billed any more.\n" +
			"gantry deploy --restore continues it on any machine with the same version of gVisor. Open connections are lost. A container\n" +
			"that cannot be stored keeps running, and so does its lease.",
		Flags: command.AsSession(), Action: action(s, (*session).suspend),
	}
}

func (s *session) suspend() error {
	b, lease, err := s.buyerOf()
	if err != nil {
		return err
	}
	hash, stopped, err := b.Suspend(s.Context, lease)
	if err != nil {
		return err
	}
	all, _ := s.Purchases() // without its purchase the command is not whole
	return s.stopped(stopped, func(w *terminal.Page) {
		fmt.Fprintf(w, "suspended; continue with: %s\n", buy.GoOnWith(all, &stopped.Lease, hash))
	})
}
