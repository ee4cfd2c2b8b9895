package rent

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/snapshot"
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
	return s.stopped(stopped, func(w io.Writer) {
		fmt.Fprintf(w, "suspended; continue with: %s\n", s.goOnWith(stopped.Lease, hash))
	})
}

// goOnWith is the command that goes on with a suspended container.
func (s *session) goOnWith(l service.Lease, hash snapshot.Hash) string {
	words := []string{"gantry deploy --restore", hash.String()}
	all, err := s.purchases()
	at := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order.String() == l.Order && p.Backup != nil })
	if err != nil || at < 0 {
		words = append(words, "--backup s3://BUCKET/FOLDER (as the lease was deployed)")
	} else {
		b := all[at].Backup
		words = append(words, "--backup", "s3://"+b.Bucket+"/"+b.Prefix, "--backup-endpoint", b.Endpoint)
	}
	model := l.Model
	if model == "" {
		model = "MODEL"
	}
	return strings.Join(append(words, "--gpu", model, "--hours 1"), " ")
}
