package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

const (
	// pruneKeep and pruneGrace are what stays in a bucket unless the customer says otherwise.
	pruneKeep  = 10
	pruneGrace = 48 * time.Hour
)

func pruneCommand(s Streams) *cli.Command {
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
	args, err := s.args("s3://BUCKET/FOLDER")
	if err != nil {
		return err
	}
	o := snapshot.PruneOptions{Keep: s.cli.Int("keep"), Grace: s.cli.Duration("grace"), Dry: s.dryRun}
	if o.Keep < 1 || o.Grace < snapshot.MinGrace {
		return usage(fmt.Sprintf("--keep %d --grace %v", o.Keep, o.Grace), "keep at least 1 snapshot, and give at least 24h")
	}
	to, err := buy.BucketFolder(args[0], s.cli.String(flagBackupEndpoint))
	if err != nil {
		return err
	}
	b, err := s.buyer()
	if err != nil {
		return err
	}
	f := b.Folder()
	if path := buy.BackupKeyFile(f); !exists(path) {
		return refused(fmt.Sprintf("there is no %s in %s, and without it no snapshot can be read", filepath.Base(path), f.Dir()), "put its copy there, or name the wallet that made the snapshots with --keypair")
	}
	if to, err = b.WithBackupSecrets(to); err != nil {
		return err
	}
	if o.Named, err = s.namedSnapshots(f); err != nil {
		return err
	}
	bucket, err := snapshot.Open(*to, nil)
	if err != nil {
		return usage(err.Error(), "")
	}
	done, err := bucket.Prune(s.ctx, o)
	if err != nil {
		return refused(err.Error(), "run it again when that is mended: what was not removed yet is removed then")
	}
	return s.done(done, func(w io.Writer) {
		what := "removed"
		if o.Dry {
			what = "would be removed"
		}
		fmt.Fprintf(w, "%d snapshots kept; %s: %d snapshots and %d chunks of %s\n", done.Kept, what, done.Snapshots, done.Chunks, mebibytes(uint64(done.Bytes)))
	})
}

// namedSnapshots are those that the wallet's leases name on chain, and those with which its orders begin.
func (s *session) namedSnapshots(f *purchase.Folder) (named []snapshot.Hash, err error) {
	scope, customer, err := s.listed(market.KindLease)
	if err != nil {
		return nil, err
	}
	v, _, err := s.snapshotNow(scope)
	if err != nil {
		return nil, err
	}
	for _, l := range v.LeasesOfCustomer(customer) {
		named = append(named, l.CheckpointHash)
	}
	orders, err := f.All()
	if err != nil {
		return nil, err
	}
	for _, p := range orders {
		if p.Stage != purchase.Over && p.Backup != nil {
			named = append(named, p.Backup.From)
		}
	}
	return named, nil
}

// exists reports whether there is a file, or something that cannot be looked at.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
