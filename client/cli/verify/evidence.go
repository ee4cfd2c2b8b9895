package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/terminal"
	"github.com/gantry-market/gantry/internal/version"
	"github.com/gantry-market/gantry/sdk/chain"
)

const flagEAR = "ear"

func evidenceCommands(s command.Streams) []*cli.Command {
	return []*cli.Command{{
		Name: "evidence", Usage: "check what a machine proved about itself",
		Subcommands: []*cli.Command{{
			Name: "verify", Usage: "check a bundle of evidence, offline: what passed, what failed, what was not covered", ArgsUsage: "FILE",
			Description: "Needs no key and no network. Without --policy the built-in one holds, which trusts the makers' roots alone and names\n" +
				"no guest image and no TPM maker. A check that was not covered is not passed.\n" +
				"Exit: 0 nothing failed, 1 the evidence is refused, 2 wrong use.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "policy", Usage: "policy document `FILE`"},
				&cli.StringFlag{Name: "collateral", Usage: "`FOLDER` with revocation lists, manifests and roots, besides what the bundle has"},
				&cli.StringFlag{Name: "at", Usage: "`TIME` to check for: RFC 3339, unix seconds, or now (default: when the bundle was made)"},
				&cli.StringFlag{Name: "nonce", Usage: "`HEX` that the challenge must come to"},
				&cli.StringFlag{Name: "node", Usage: "`KEY` of the node that must have answered"},
				&cli.StringFlag{Name: "account", Usage: "`ADDRESS` of the node's account that must have answered"},
				&cli.StringFlag{Name: "hash", Usage: "evidence hash in `HEX`, as on chain"},
				&cli.StringSliceFlag{Name: "keeper", Usage: "`KEY` of a keeper whose word on TPM enrolments counts; repeat for several"},
				&cli.IntFlag{Name: "tier", Usage: "refuse evidence below this `TIER`"},
				&cli.StringFlag{Name: flagEAR, Usage: "print the verdict as a token that other verifiers read (EAR), signed with this `KEY` file"},
			},
			Action: func(c *cli.Context) error { return verifyEvidence(c, s) },
		}, evidenceMeasurementCommand(s), evidencePolicyCommand(s)},
	}}
}

func evidenceMeasurementCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "measurement", Usage: "check the record of a measurement that a keeper has stated to be wrong, offline", ArgsUsage: "FILE",
		Description: "Keepers keep such records in DATA/measurements/NODE. The record's hash is the detail of the keeper's statement.\n" +
			"The machine has signed its commitment and its answers, so that nobody has to believe the keeper.\n" +
			"Whether the block is the period's instant is on chain: the answer names slot and hash.\n" +
			"Exit: 0 the machine has signed what is wrong, or that it opens nothing; 1 the record does not show that; 2 wrong use.",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "hash", Usage: "the statement's detail in `HEX`"}},
		Action: func(c *cli.Context) error { return verifyMeasurement(c, s) },
	}
}

func evidencePolicyCommand(s command.Streams) *cli.Command {
	return &cli.Command{
		Name: "policy", Usage: "print a policy to begin one's own with, or check one and print its hash",
		Description: "Without --check it prints the built-in policy with every field. It trusts the makers' roots alone, so it reaches tier 1;\n" +
			"add roots and images for more, as docs/protocol/evidence.md says, and give it to: gantry-keeper run --evidence-policy FILE",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "check", Usage: "policy document `FILE`: print its hash, or what is wrong with it"},
		},
		Action: func(c *cli.Context) error { return evidencePolicy(c, s) },
	}
}

func verifyEvidence(c *cli.Context, s command.Streams) error {
	r, err := evidenceRequest(c)
	if err != nil {
		return err
	}
	var out attestation.Evidence
	switch {
	case c.IsSet(flagEAR) && c.IsSet("at"):
		return service.Usage(fmt.Sprintf("--%s signs what the evidence is worth now", flagEAR), "leave --at out")
	case c.IsSet(flagEAR):
		out, err = signEvidence(c, s, r)
	default:
		if out, err = attestation.Verify(r); err == nil {
			err = s.Print(c, out, func(w *terminal.Page) { printEvidence(w, &out, c.String("at") != "") })
		}
	}
	if err == nil && !out.OK {
		err = &service.Failure{Code: service.CodeRefused, Reason: "evidence refused: " + out.Problem, Advice: "see the failed checks above", Told: true}
	}
	return err
}

// signEvidence prints a token in place of the checks.
func signEvidence(c *cli.Context, s command.Streams, r *attestation.Request) (attestation.Evidence, error) {
	key, err := chain.LoadKeypair(c.String(flagEAR))
	if err != nil {
		return attestation.Evidence{}, service.Usage(fmt.Sprintf("--%s: %v", flagEAR, err), "make a key with: gantry key new FILE")
	}
	out, token, err := attestation.Sign(r, key, version.Long, time.Now())
	if err == nil {
		_, err = fmt.Fprintln(s.Out, token)
	}
	return out, err
}

func printEvidence(w *terminal.Page, out *attestation.Evidence, atGiven bool) {
	rows := make([][]string, len(out.Checks))
	for i, c := range out.Checks {
		rows[i] = []string{c.Evidence, c.Check, c.Result, c.Detail}
	}
	w.Table("EVIDENCE|CHECK|RESULT|DETAIL", rows)
	at := out.At
	if !atGiven {
		at += " (when it was made; --at checks for another time)"
	}
	fmt.Fprintln(w)
	simulated := ""
	if out.Simulated {
		simulated = "   SIMULATED GPUs"
	}
	passed, failed, notCovered := out.Count()
	w.Pairs(
		[2]string{"tier", fmt.Sprintf("%d%s", out.Tier, simulated)}, [2]string{"verdict", out.Verdict},
		[2]string{"checks", fmt.Sprintf("%d passed, %d FAILED, %d not covered", passed, failed, notCovered)},
		[2]string{"checked for", at}, [2]string{"worth", "until " + out.Expires}, [2]string{"node", out.Account}, [2]string{"node key", out.Node},
		[2]string{"evidence hash", out.Hash}, [2]string{"nonce", out.Nonce}, [2]string{"device root", out.DeviceRoot},
		[2]string{"policy", fmt.Sprintf("%s   %s", out.Policy, out.PolicyHash)},
	)
	for _, why := range out.Why {
		fmt.Fprintf(w, "  %s\n", why)
	}
}

// evidenceRequest reads the command line and the files that it names.
func evidenceRequest(c *cli.Context) (*attestation.Request, error) {
	if c.NArg() != 1 {
		return nil, service.Usage(fmt.Sprintf("one FILE is needed, got %d", c.NArg()), "write: gantry evidence verify FILE")
	}
	a := attestation.Asked{
		File: c.Args().First(), Policy: c.String("policy"), Collateral: c.String("collateral"), At: c.String("at"), Nonce: c.String("nonce"), Hash: c.String("hash"),
		Node: c.String("node"), Account: c.String("account"), Keepers: c.StringSlice("keeper"), Tier: c.Int("tier"),
	}
	return a.Request()
}

func verifyMeasurement(c *cli.Context, s command.Streams) error {
	if c.NArg() != 1 {
		return service.Usage(fmt.Sprintf("one FILE is needed, got %d", c.NArg()), "write: gantry evidence measurement FILE")
	}
	out, err := attestation.VerifyMeasurement(c.Context, c.Args().First(), strings.ToLower(c.String("hash")))
	if err != nil {
		return err
	}
	err = s.Print(c, out, func(w *terminal.Page) {
		w.Pairs([2]string{"verdict", out.Verdict}, [2]string{"why", out.Why}, [2]string{"node", out.Node}, [2]string{"node key", out.Key},
			[2]string{"instant", fmt.Sprintf("period %d, slot %d, block %s", out.Period, out.Slot, out.Block)}, [2]string{"hash", out.Hash})
	})
	if err == nil && !out.Shown {
		err = &service.Failure{Code: service.CodeRefused, Reason: "not shown: " + out.Verdict, Advice: "only the keeper's statement says that this measurement was wrong", Told: true}
	}
	return err
}

func evidencePolicy(c *cli.Context, s command.Streams) error {
	if c.NArg() > 0 {
		return service.Usage(fmt.Sprintf("unexpected argument %q", c.Args().First()), "to check a file write: gantry evidence policy --check FILE")
	}
	path := c.String("check")
	if path == "" {
		raw, err := attestation.DefaultPolicy()
		if err == nil {
			_, err = s.Out.Write(raw)
		}
		return err
	}
	out, err := attestation.CheckPolicy(path)
	if err != nil {
		return err
	}
	return s.Print(c, out, func(w *terminal.Page) {
		w.Pairs([2]string{"policy", out.Name}, [2]string{"policy hash", out.Hash})
		for _, m := range out.Missing {
			fmt.Fprintf(w, "  %s\n", m)
		}
	})
}
