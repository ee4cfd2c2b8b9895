package cli

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/internal/printable"
)

func evidenceCommands(s Streams) []*cli.Command {
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
			},
			Action: func(c *cli.Context) error { return verifyEvidence(c, s) },
		}, evidenceMeasurementCommand(s), evidencePolicyCommand(s)},
	}}
}

// evidenceRequest is a parsed command line.
type evidenceRequest struct {
	file    string
	bundle  *bundle.Bundle
	policy  policy.Policy
	sources []attest.Collateral
	at      time.Time
	atGiven bool
	subject policy.Subject
	// expected values; nil for any
	nonce, hash, node, account *[32]byte
	tier                       int
}

// evidenceCheck is one line of the answer.
type evidenceCheck struct {
	Evidence string `json:"evidence"`
	Check    string `json:"check"`
	Result   string `json:"result"`
	Detail   string `json:"detail"`
}

// evidenceJSON is a checked bundle as printed.
type evidenceJSON struct {
	File       string            `json:"file"`
	OK         bool              `json:"ok"`
	Verdict    string            `json:"verdict"`
	Tier       uint8             `json:"tier"`
	Why        []string          `json:"why"`
	Hash       string            `json:"evidenceHash"`
	Nonce      string            `json:"nonce"`
	Account    string            `json:"node"`
	Node       string            `json:"nodeKey"`
	Created    string            `json:"created"`
	Expires    string            `json:"expires"`
	At         string            `json:"at"`
	Policy     string            `json:"policy"`
	PolicyHash string            `json:"policyHash"`
	DeviceRoot string            `json:"deviceRoot"`
	Simulated  bool              `json:"simulated"`
	Claims     map[string]string `json:"claims"`
	Checks     []evidenceCheck   `json:"checks"`
}

func verifyEvidence(c *cli.Context, s Streams) error {
	r, err := readEvidenceRequest(c)
	if err != nil {
		return err
	}
	recorder := bundle.NewRecorder(append(r.sources, r.bundle)...)
	verifiers, err := policy.Standard(r.policy, recorder, r.subject)
	if err != nil {
		return usage(err.Error(), "see docs/protocol/evidence.md for the form of a policy")
	}
	claims, failed := policy.Evaluate(r.bundle, r.policy, verifiers, r.at)
	out := describeEvidence(r, &claims)
	problem := r.expected(&claims, &out)
	if problem == "" && failed != nil {
		problem = printable.Text(failed.Error())
	}
	out.OK = problem == ""
	if c.Bool(flagJSON) {
		enc := json.NewEncoder(s.Out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(out); err != nil {
			return err
		}
	} else {
		printEvidence(s.Out, out, r.atGiven)
	}
	if problem != "" {
		return &failure{Code: ExitRefused, Reason: "evidence refused: " + problem, Advice: "see the failed checks above", Told: true}
	}
	return nil
}

// expected compares the bundle with the values that the flags give.
func (r *evidenceRequest) expected(c *policy.Claims, out *evidenceJSON) (problem string) {
	line := func(name string, ok bool, detail string) {
		check := evidenceCheck{"bundle", name, attest.Passed.String(), detail}
		if !ok {
			check.Result = attest.Failed.String()
			if problem == "" {
				problem = name + ": " + detail
			}
		}
		out.Checks = append(out.Checks, check)
	}
	nonce := r.bundle.Challenge.Nonce()
	if r.nonce != nil {
		line("expected nonce", *r.nonce == nonce, fmt.Sprintf("the bundle's is %x", nonce))
	}
	if r.node != nil {
		line("expected node", *r.node == r.bundle.Challenge.NodeKey, "the bundle's is "+solana.PublicKey(r.bundle.Challenge.NodeKey).String())
	}
	if r.account != nil {
		line("expected account", *r.account == r.bundle.Challenge.Node, "the bundle's is "+solana.PublicKey(r.bundle.Challenge.Node).String())
	}
	if r.hash != nil {
		line("expected hash", *r.hash == c.EvidenceHash, fmt.Sprintf("the bundle's is %x", c.EvidenceHash))
	}
	if r.tier > 0 {
		line("expected tier", int(c.Tier) >= r.tier, fmt.Sprintf("tier %d, at least %d is wanted", c.Tier, r.tier))
	}
	return problem
}

func describeEvidence(r *evidenceRequest, c *policy.Claims) evidenceJSON {
	out := evidenceJSON{
		File: r.file, Verdict: c.Verdict.String(), Tier: c.Tier, Why: []string{}, Hash: fmt.Sprintf("%x", c.EvidenceHash),
		Nonce: fmt.Sprintf("%x", r.bundle.Challenge.Nonce()), Node: solana.PublicKey(r.bundle.Challenge.NodeKey).String(),
		Account: solana.PublicKey(r.bundle.Challenge.Node).String(),
		Created: rfc(r.bundle.Created), Expires: rfc(c.Expiry), At: r.at.UTC().Format(time.RFC3339), Policy: printable.Text(r.policy.Name),
		PolicyHash: fmt.Sprintf("%x", c.PolicyHash), DeviceRoot: fmt.Sprintf("%x", c.DeviceRoot), Simulated: c.Simulated,
		Claims: map[string]string{}, Checks: []evidenceCheck{},
	}
	for _, w := range c.Why {
		out.Why = append(out.Why, printable.Text(w))
	}
	add := func(name string, checks []attest.Check) {
		for _, k := range checks {
			out.Checks = append(out.Checks, evidenceCheck{name, k.Name, k.Outcome.String(), printable.Text(k.Detail)})
		}
	}
	add("bundle", c.Bundle.Checks)
	for _, p := range c.Pieces {
		name := p.Kind.String()
		if p.Kind == attest.KindNVGPU {
			name = fmt.Sprintf("%s %d", name, p.Instance)
		}
		add(name, p.Checks)
		for k, v := range p.Claims {
			out.Claims[name+": "+k] = printable.Text(v)
		}
	}
	return out
}

func printEvidence(w io.Writer, out evidenceJSON, atGiven bool) {
	rows := make([][]string, len(out.Checks))
	count := map[string]int{}
	for i, c := range out.Checks {
		rows[i] = []string{c.Evidence, c.Check, c.Result, c.Detail}
		count[c.Result]++
	}
	table(w, "EVIDENCE|CHECK|RESULT|DETAIL", rows)
	at := out.At
	if !atGiven {
		at += " (when it was made; --at checks for another time)"
	}
	fmt.Fprintln(w)
	simulated := ""
	if out.Simulated {
		simulated = "   SIMULATED GPUs"
	}
	pairs(w,
		[2]string{"tier", fmt.Sprintf("%d%s", out.Tier, simulated)}, [2]string{"verdict", out.Verdict},
		[2]string{"checks", fmt.Sprintf("%d passed, %d FAILED, %d not covered", count[attest.Passed.String()], count[attest.Failed.String()], count[attest.NotCovered.String()])},
		[2]string{"checked for", at}, [2]string{"worth", "until " + out.Expires}, [2]string{"node", out.Account}, [2]string{"node key", out.Node},
		[2]string{"evidence hash", out.Hash}, [2]string{"nonce", out.Nonce}, [2]string{"device root", out.DeviceRoot},
		[2]string{"policy", fmt.Sprintf("%s   %s", out.Policy, out.PolicyHash)},
	)
	for _, why := range out.Why {
		fmt.Fprintf(w, "  %s\n", why)
	}
}

func rfc(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

func readEvidenceRequest(c *cli.Context) (*evidenceRequest, error) {
	if c.NArg() != 1 {
		return nil, usage(fmt.Sprintf("one FILE is needed, got %d", c.NArg()), "write: gantry evidence verify FILE")
	}
	r := &evidenceRequest{file: c.Args().First(), policy: policy.Default(), tier: c.Int("tier")}
	raw, err := readLimited(r.file, bundle.MaxSize)
	if err != nil {
		return nil, err
	}
	if r.bundle, err = bundle.Parse(raw); err != nil {
		return nil, refused(fmt.Sprintf("%s is not a bundle of evidence: %s", r.file, printable.Text(err.Error())), "collect one with: gantry-agent evidence collect")
	}
	if err := r.rules(c); err != nil {
		return nil, err
	}
	r.subject.Challenge = r.bundle.Challenge
	for name, target := range map[string]**[32]byte{"nonce": &r.nonce, "hash": &r.hash} {
		if text := c.String(name); text != "" {
			b, err := hex.DecodeString(text)
			if err != nil || len(b) != 32 {
				return nil, usage(fmt.Sprintf("--%s %q is not 32 bytes in hex", name, text), "it has 64 characters of 0–9 and a–f")
			}
			value := [32]byte(b)
			*target = &value
		}
	}
	for name, target := range map[string]**[32]byte{"node": &r.node, "account": &r.account} {
		if text := c.String(name); text != "" {
			key, err := address(text, "node")
			if err != nil {
				return nil, err
			}
			value := [32]byte(key)
			*target = &value
		}
	}
	for _, text := range c.StringSlice("keeper") {
		key, err := address(text, "keeper")
		if err != nil {
			return nil, err
		}
		r.subject.Keepers = append(r.subject.Keepers, ed25519.PublicKey(key[:]))
	}
	if r.tier < 0 || r.tier > 3 {
		return nil, usage(fmt.Sprintf("--tier %d; there are tiers 0 to 3", r.tier), "see docs/protocol/evidence.md")
	}
	return r, r.when(c.String("at"))
}

// rules reads policy and collateral.
func (r *evidenceRequest) rules(c *cli.Context) error {
	if path := c.String("policy"); path != "" {
		raw, err := readLimited(path, 1<<20)
		if err != nil {
			return err
		}
		if r.policy, err = policy.Parse(raw); err != nil {
			return usage(fmt.Sprintf("%s: %s", path, printable.Text(err.Error())), "see docs/protocol/evidence.md for the form of a policy")
		}
	}
	if dir := c.String("collateral"); dir != "" {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return usage(fmt.Sprintf("--collateral %s is not a folder", dir), "its files are named as docs/protocol/evidence.md says")
		}
		r.sources = append(r.sources, policy.Dir(dir))
	}
	return nil
}

// when reads the time to check for.
func (r *evidenceRequest) when(text string) error {
	r.atGiven = text != ""
	switch seconds, err := strconv.ParseInt(text, 10, 64); {
	case text == "":
		r.at = time.Unix(r.bundle.Created, 0)
	case text == "now":
		r.at = time.Now()
	case err == nil:
		r.at = time.Unix(seconds, 0)
	default:
		if r.at, err = time.Parse(time.RFC3339, text); err != nil {
			return usage(fmt.Sprintf("--at %q is not a time", text), "write 2026-01-31T12:00:00Z, unix seconds, or now")
		}
	}
	return nil
}

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, usage(fmt.Sprintf("%s cannot be read: %v", path, err), "check the path")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, usage(fmt.Sprintf("%s cannot be read: %v", path, err), "check the path")
	}
	if int64(len(raw)) > limit {
		return nil, refused(fmt.Sprintf("%s is larger than %d bytes", path, limit), "it is not what it should be")
	}
	return raw, nil
}
