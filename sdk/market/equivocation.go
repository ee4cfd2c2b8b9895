package market

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// EquivocatingManifests is the kind in the event EquivocationProven when the proof is two manifests of one period.
// Kinds of checks begin with 1.
const EquivocatingManifests = 0

// SignedStatement is a check statement with its keeper's signature.
type SignedStatement struct {
	Statement records.CheckStatement
	Signature solana.Signature
}

// SignedManifest is a manifest with its keeper's signature.
type SignedManifest struct {
	Manifest  records.Manifest
	Signature solana.Signature
}

// StatementsEquivocate reports whether two statements are of one check, one passed and the other failed. It is the twin
// of Statement::equivocates in program/src/state/statement.rs. Statements that differ in anything else are no proof.
func StatementsEquivocate(a, b records.CheckStatement) bool {
	return a.Domain == b.Domain && a.Node == b.Node && a.Lease == b.Lease && a.Period == b.Period && a.Kind == b.Kind &&
		a.CheckedAt == b.CheckedAt && a.Passed != b.Passed
}

// ManifestsEquivocate reports whether two manifests are of one period and differ. It is the twin of
// Manifest::equivocates in program/src/state/manifest.rs.
func ManifestsEquivocate(a, b records.Manifest) bool {
	return a.Domain == b.Domain && a.Period == b.Period && a != b
}
