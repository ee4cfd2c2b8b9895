package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/internal/atomicfile"
	"github.com/gantry-market/gantry/keeper/daemon"
	"github.com/gantry-market/gantry/keeper/evidence/archive"
	"github.com/gantry-market/gantry/sdk/chain"
)

func evidenceCommand() *cli.Command {
	return &cli.Command{
		Name: "evidence", Usage: "list the bundles of evidence that this keeper has of a node, or write one for an auditor (gantry evidence verify)",
		ArgsUsage: "NODE [HASH FILE]",
		Flags: []cli.Flag{
			dataFlag(),
			jsonFlag(),
		},
		Action:      runEvidence,
		Subcommands: evidenceBackupCommands(),
	}
}

func runEvidence(c *cli.Context) error {
	if n := c.Args().Len(); n != 1 && n != 3 {
		return fmt.Errorf("%w: give the address of a node, or it with a bundle's hash and the file to write", errFlags)
	}
	node, err := solana.PublicKeyFromBase58(c.Args().First())
	if err != nil {
		return fmt.Errorf("%w: node %q: %w", errFlags, c.Args().First(), err)
	}
	data, err := chain.ExpandHome(c.String("data"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(data); err != nil {
		return fmt.Errorf("%w: --data-dir: the keeper's folder is missing: %w", errFlags, err)
	}
	kept, err := daemon.EvidenceArchive(data)
	if err != nil {
		return err
	}
	if c.Args().Len() == 3 {
		raw, err := kept.Read(node, c.Args().Get(1))
		if err != nil {
			return fmt.Errorf("%w; gantry-keeper evidence %s lists what there is", err, node)
		}
		return atomicfile.Write(filepath.Clean(c.Args().Get(2)), raw)
	}
	all, err := kept.Bundles(node)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c.App.Writer, append([]archive.Kept{}, all...))
	}
	for _, k := range all {
		fmt.Fprintf(c.App.Writer, "%s  %s  %d bytes\n", k.At.Format(time.RFC3339), k.Hash, k.Bytes)
	}
	if len(all) == 0 {
		fmt.Fprintf(c.App.ErrWriter, "nothing is kept of node %s: this keeper was in none of its committees, or it is too long ago\n", node)
	}
	return nil
}
