package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"
)

func checkpointCommand() *cli.Command {
	return &cli.Command{
		Name: "checkpoint", Usage: "record the hash of a job's checkpoint on its lease: a machine that takes the job over tells the job this hash",
		ArgsUsage: "LEASE FILE|SHA256",
		Flags:     commonFlags(),
		Action:    runCheckpoint,
	}
}

func runCheckpoint(c *cli.Context) error {
	if c.Args().Len() != 2 {
		return usage(errors.New("give the lease's address, and a file or its sha256 in hex"))
	}
	lease, err := solana.PublicKeyFromBase58(c.Args().Get(0))
	if err != nil {
		return usage(fmt.Errorf("lease %q: %w", c.Args().Get(0), err))
	}
	hash, err := checkpointHash(c.Args().Get(1))
	if err != nil {
		return usage(err)
	}
	s, err := open(c, false)
	if err != nil {
		return err
	}
	defer s.close()
	return s.commands.Checkpoint(c.Context, lease, hash)
}

// checkpointHash reads a sha256 in hex, or hashes the file of that name.
func checkpointHash(text string) (hash [32]byte, err error) {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) == len(hash) {
		return [32]byte(raw), nil
	}
	f, err := os.Open(text)
	if err != nil {
		return hash, fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return hash, fmt.Errorf("checkpoint: %w", err)
	}
	return [32]byte(h.Sum(nil)), nil
}
