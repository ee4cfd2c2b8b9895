package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/sdk/chain"
)

// errKeeperStore: a folder that was given as a backup of evidence has stores of a keeper.
var errKeeperStore = errors.New("a keeper's stores are not restored")

func evidenceBackupCommands() []*cli.Command {
	flags := func() []cli.Flag {
		return []cli.Flag{
			dataFlag(),
			jsonFlag(),
		}
	}
	return []*cli.Command{
		{
			Name: "backup", Usage: "copy the bundles of all nodes that FOLDER lacks; the keeper may run at the same time", ArgsUsage: "FOLDER", Flags: flags(),
			Description: "Each bundle is compared with its hash. keeper.db is not copied: a keeper that starts with an old one does not know " +
				"what it has signed since, and loses its bond when it signs something else.",
			Action: backUpEvidence,
		},
		{
			Name: "restore", Usage: "copy the bundles of a backup that this keeper lacks; it removes none", ArgsUsage: "FOLDER", Flags: flags(),
			Action: restoreEvidence,
		},
	}
}

// evidenceFolders returns the keeper's data folder and the backup's, both absolute.
func evidenceFolders(c *cli.Context) (data, other string, err error) {
	if c.Args().Len() != 1 {
		return "", "", fmt.Errorf("%w: give the folder of the backup, after the flags", errFlags)
	}
	if data, err = chain.ExpandHome(c.String("data")); err != nil {
		return "", "", err
	}
	if data, err = filepath.Abs(data); err != nil {
		return "", "", err
	}
	if other, err = chain.ExpandHome(c.Args().First()); err != nil {
		return "", "", err
	}
	if other, err = filepath.Abs(other); err != nil {
		return "", "", err
	}
	if inside, err := filepath.Rel(data, other); err == nil && filepath.IsLocal(inside) {
		return "", "", fmt.Errorf("%w: %s is in the keeper's own data folder, with which it would be lost; choose a folder on another disk or machine", errFlags, other)
	}
	return data, other, noStores(other)
}

// noStores refuses a folder, or a file, with what a keeper has signed.
func noStores(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	found := []string{path}
	if info.IsDir() {
		if found, err = filepath.Glob(filepath.Join(path, "*.db")); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is not a backup of evidence. An old keeper.db does not know what the wallet has signed since: the keeper "+
		"would sign for the same period again, and two different signatures cost its bond. Give a folder that `gantry-keeper evidence backup` "+
		"wrote; for a keeper without its store, start with no keeper.db", errKeeperStore, found[0])
}

func backUpEvidence(c *cli.Context) error {
	data, other, err := evidenceFolders(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(data); err != nil {
		return fmt.Errorf("%w: --data-dir: the keeper's folder is missing: %w", errFlags, err)
	}
	return copyEvidence(c, data, other, false)
}

func restoreEvidence(c *cli.Context) error {
	data, other, err := evidenceFolders(c)
	if err != nil {
		return err
	}
	if _, err := os.Stat(other); err != nil {
		return fmt.Errorf("%w: the backup does not exist: %w", errFlags, err)
	}
	return copyEvidence(c, data, other, true)
}

func copyEvidence(c *cli.Context, data, other string, restore bool) error {
	from, err := daemon.EvidenceArchive(data)
	if err != nil {
		return err
	}
	to, err := archive.Open(other, daemon.DefaultKeepEvidence)
	if err != nil {
		return err
	}
	if restore {
		from, to = to, from
	}
	done, err := from.Copy(c.Context, to, time.Now())
	if err == nil && restore && done == (archive.Copied{}) {
		return fmt.Errorf("%w: %s has no bundle of evidence; give a folder that `gantry-keeper evidence backup` wrote", errFlags, other)
	}
	if c.Bool("json") {
		return errors.Join(err, writeJSON(c.App.Writer, done))
	}
	fmt.Fprintf(c.App.Writer, "%d bundles copied, %d were there already, %d are damaged and not copied\n", done.Bundles, done.Same, done.Damaged)
	return err
}
