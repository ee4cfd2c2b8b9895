package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/market"
)

func evidencePolicyCommand(s Streams) *cli.Command {
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

// policyJSON is a checked policy as printed.
type policyJSON struct {
	File string `json:"file"`
	Name string `json:"name"`
	Hash string `json:"policyHash"`
	// Missing says which tiers no evidence can reach with it.
	Missing []string `json:"missing"`
}

func evidencePolicy(c *cli.Context, s Streams) error {
	if c.NArg() > 0 {
		return usage(fmt.Sprintf("unexpected argument %q", c.Args().First()), "to check a file write: gantry evidence policy --check FILE")
	}
	path := c.String("check")
	if path == "" {
		raw, err := policy.Default().Encode()
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			return err
		}
		b.WriteByte('\n')
		_, err = s.Out.Write(b.Bytes())
		return err
	}
	raw, err := readLimited(path, 1<<20)
	if err != nil {
		return err
	}
	p, err := policy.Parse(raw)
	if err == nil {
		// Also the values that only verifiers read.
		_, err = policy.Standard(p, nil, policy.Subject{})
	}
	if err != nil {
		return usage(fmt.Sprintf("%s: %s", path, printable.Text(err.Error())), "begin with the document that this prints: gantry evidence policy")
	}
	digest, err := p.Digest()
	if err != nil {
		return err
	}
	out := policyJSON{File: path, Name: printable.Text(p.Name), Hash: fmt.Sprintf("%x", digest), Missing: policyGaps(p)}
	if c.Bool(flagJSON) {
		enc := json.NewEncoder(s.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	pairs(s.Out, [2]string{"policy", out.Name}, [2]string{"policy hash", out.Hash})
	for _, m := range out.Missing {
		fmt.Fprintf(s.Out, "  %s\n", m)
	}
	return nil
}

// policyGaps says which tiers no machine can reach with a policy, and why.
func policyGaps(p policy.Policy) []string {
	gaps := []string{}
	if p.MaxAgeSecs < market.LeastEvidenceAge {
		gaps = append(gaps, fmt.Sprintf("keepers refuse it: max_age_secs is %d, and a tier stands on chain for up to %d seconds", p.MaxAgeSecs, market.LeastEvidenceAge))
	}
	if len(p.Roots.TPM) == 0 {
		gaps = append(gaps, "no tier 2: roots.tpm names no maker of TPMs")
	}
	images := (len(p.Roots.SNP) > 0 && len(p.SNP.Measurements) > 0) || (len(p.Roots.TDX) > 0 && len(p.TDX.Measurements) > 0)
	switch {
	case len(p.Roots.GPU) == 0 || len(p.Roots.RIM) == 0:
		gaps = append(gaps, "no tier 3: roots.gpu and roots.rim must both name a root")
	case !images:
		gaps = append(gaps, "no tier 3: neither snp.measurements nor tdx.measurements names a guest image whose root is trusted")
	}
	return gaps
}
