package rent

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// pruneKeep and pruneGrace are what stays in a bucket unless the customer says otherwise.
	pruneKeep  = 10
	pruneGrace = 48 * time.Hour
)

func pruneCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "prune", Usage: "remove old snapshots of volumes from a bucket", ArgsUsage: "s3://BUCKET/FOLDER",
		Description: "Removes snapshots, and the parts of them that no other snapshot has. These stay: the newest ones (--keep), all that are\n" +
			"younger than --grace, the one that each lease continues from, and those that your leases name on chain. It may run\n" +
			"while leases make snapshots, and again after it was cut off. With --dry-run it says what it would remove.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "keep", Value: pruneKeep, Usage: "keep the newest `N` snapshots, at least 1"},
			&cli.DurationFlag{Name: "grace", Value: pruneGrace, Usage: "keep every snapshot that is younger than `TIME`, at least 24h"},
			backupEndpointFlag(),
		},
		Action: action(s, (*session).prune),
	}
}

// prune removes old snapshots.
func (s *session) prune() error {
	args, err := s.Args("s3://BUCKET/FOLDER")
	if err != nil {
		return err
	}
	to, err := buy.BucketFolder(args[0], s.CLI.String(flagBackupEndpoint))
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	o := snapshot.PruneOptions{Keep: s.CLI.Int("keep"), Grace: s.CLI.Duration("grace"), Dry: s.DryRun}
	done, err := b.Prune(s.Context, to, o)
	if err != nil {
		return err
	}
	return s.Done(done, func(w *terminal.Page) {
		what := "removed"
		if o.Dry {
			what = "would be removed"
		}
		fmt.Fprintf(w, "%s kept; %s: %s and %s of %s\n", service.Plural(done.Kept, "snapshot"), what, service.Plural(done.Snapshots, "snapshot"), service.Plural(done.Chunks, "chunk"), terminal.Mebibytes(uint64(done.Bytes)))
	})
}
