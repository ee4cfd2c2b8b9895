// Command verify-evidence checks a node's evidence bundle offline: no key, no network.
//
//	verify-evidence [--policy FILE] [--hash HEX] BUNDLE
//
// Keepers archive bundles by the hash that the node's account has on chain. The exit code is 0 if nothing failed. What
// was not covered is not passed: read the list.
package main

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/bundle"
	"github.com/gantry-market/gantry/attest/policy"
)

func main() {
	policyFile := flag.String("policy", "", "the market's policy document (default: built in)")
	hash := flag.String("hash", "", "the evidence hash on chain, in hex")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: verify-evidence [--policy FILE] [--hash HEX] BUNDLE")
		os.Exit(2)
	}
	if err := verify(flag.Arg(0), *policyFile, *hash); err != nil {
		fmt.Fprintln(os.Stderr, "evidence refused:", err)
		os.Exit(1)
	}
}

func verify(file, policyFile, hash string) error {
	// 1. Parse. The format has one encoding for one content; anything else is an error.
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b, err := bundle.Parse(raw)
	if err != nil {
		return err
	}

	// 2. The policy says which roots are trusted and which checks must have passed. The built-in one trusts the makers' roots
	// and no guest image, so that it gives no tier above 1.
	p := policy.Default()
	if policyFile != "" {
		raw, err := os.ReadFile(policyFile)
		if err != nil {
			return err
		}
		if p, err = policy.Parse(raw); err != nil {
			return err
		}
	}

	// 3. Evaluate for the moment at which the bundle was made. The bundle has the collateral that its keeper used (revocation
	// lists, reference measurements); policy.Dir would add a folder of your own.
	verifiers, err := policy.Standard(p, b, policy.Subject{Challenge: b.Challenge})
	if err != nil {
		return err
	}
	claims, failed := policy.Evaluate(b, p, verifiers, time.Unix(b.Created, 0))

	// 4. The verdict.
	printChecks("bundle", claims.Bundle.Checks)
	for _, piece := range claims.Pieces {
		printChecks(piece.Kind.String(), piece.Checks)
	}
	if claims.Simulated {
		fmt.Println("the GPUs are SIMULATED")
	}
	fmt.Printf("tier %d, verdict %s, evidence hash %x\n", claims.Tier, claims.Verdict, claims.EvidenceHash)
	for _, why := range claims.Why {
		fmt.Println(" ", why)
	}
	if hash != "" && hash != hex.EncodeToString(claims.EvidenceHash[:]) {
		return fmt.Errorf("the bundle is not the one on chain: %s", hash)
	}
	return failed
}

func printChecks(of string, checks []attest.Check) {
	for _, c := range checks {
		fmt.Printf("%-18s %-12s %s: %s\n", of, c.Outcome, c.Name, c.Detail)
	}
}
