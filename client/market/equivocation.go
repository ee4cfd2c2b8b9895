package market

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
)

// KindManifests is the kind in EquivocationProven when what was shown is two manifests of one period. Kinds of checks begin
// with 1.
const KindManifests = 0

// Said is a statement with its keeper's signature.
type Said struct {
	Statement records.CheckStatement
	Signature solana.Signature
}

// Listed is a manifest with its keeper's signature.
type Listed struct {
	Manifest  records.Manifest
	Signature solana.Signature
}

// Equivocates reports whether two statements are about one check and say the opposite of each other. It is the twin of
// Statement::equivocates in program/src/state/statement.rs. Statements that differ in anything else are no proof.
func Equivocates(a, b records.CheckStatement) bool {
	return a.Domain == b.Domain && a.Node == b.Node && a.Lease == b.Lease && a.Period == b.Period && a.Kind == b.Kind &&
		a.CheckedAt == b.CheckedAt && a.Passed != b.Passed
}

// TwoFaced reports whether two manifests are of one period and name different sets. It is the twin of
// Manifest::equivocates in program/src/state/manifest.rs.
func TwoFaced(a, b records.Manifest) bool {
	return a.Domain == b.Domain && a.Period == b.Period && a != b
}
