package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/agent/evidence"
	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/collect"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// selfChallenge is how long a challenge that the machine asks itself is open.
const selfChallenge = 5 * time.Minute

func evidenceCommand() *cli.Command {
	return &cli.Command{
		Name: "evidence", Usage: "evidence of what this machine is",
		Subcommands: []*cli.Command{{
			Name: "collect", Usage: "look for everything that keepers ask for, say what is there and what is not, and write the bundle",
			Description: "The challenge is the machine's own, so the bundle proves nothing to anyone: it shows what keepers would get. " +
				"Check it with: gantry evidence verify FILE",
			Flags: commonFlags(append([]cli.Flag{
				&cli.StringFlag{Name: "out", Usage: "`FILE` for the bundle (default: evidence.bundle in the data folder)"},
				&cli.BoolFlag{Name: "json", Usage: "one JSON document on standard output"},
			}, machineFlags()...)...),
			Action: collectEvidence,
		}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usage(fmt.Errorf("no command %q; see gantry-agent evidence --help", c.Args().First()))
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// collected is what the command says.
type collected struct {
	File     string            `json:"file"`
	Bytes    int               `json:"bytes"`
	Digest   string            `json:"digest"`
	Findings []collect.Finding `json:"findings"`
}

func collectEvidence(c *cli.Context) error {
	if c.Args().Present() {
		return usage(fmt.Errorf("evidence collect takes no argument, got %q", c.Args().First()))
	}
	cfg, err := settings(c)
	if err != nil {
		return err
	}
	key, err := chain.LoadKeypair(cfg.NodeKey)
	if err != nil {
		return fmt.Errorf("the machine's own key (gantry-agent init makes one): %w", err)
	}
	m, err := openMachine(c.Context, cfg, key.PublicKey(), 0)
	if err != nil {
		return err
	}
	defer m.Close()
	challenge := attest.Challenge{
		Program: market.ProgramID, NodeKey: key.PublicKey(), Expiry: time.Now().Add(selfChallenge).Unix(),
	}
	if _, err := rand.Read(challenge.ID[:]); err != nil {
		return err
	}
	collector, err := collect.New(collect.Options{Sources: evidence.Standard(m.Inventory, m, evidence.NewTPM(m.Inventory)), Key: ed25519.PrivateKey(key)})
	if err != nil {
		return err
	}
	b, findings, err := collector.Collect(c.Context, challenge)
	if err != nil {
		return err
	}
	raw, err := b.Encode()
	if err != nil {
		return err
	}
	digest, err := policy.EvidenceHash(b)
	if err != nil {
		return err
	}
	out := collected{File: c.String("out"), Bytes: len(raw), Digest: fmt.Sprintf("%x", digest), Findings: findings}
	if out.File == "" {
		out.File = filepath.Join(cfg.DataDir, "evidence.bundle")
	}
	if err := os.WriteFile(out.File, raw, 0o600); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if c.Bool("json") {
		e := json.NewEncoder(c.App.Writer)
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	return printCollected(c.App.Writer, out)
}

func printCollected(w io.Writer, out collected) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EVIDENCE\tSTATE\tDETAIL")
	for _, f := range out.Findings {
		name := f.Name
		if f.Kind == attest.KindNVGPU && f.State != collect.Absent {
			name = fmt.Sprintf("%s %d", name, f.Instance)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, f.State, f.Detail)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s: %d bytes, digest %s\ncheck it with: gantry evidence verify %s\n", out.File, out.Bytes, out.Digest, out.File)
	return err
}
