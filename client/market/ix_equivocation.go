package market

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
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

// ProveEquivocationArgs show that a keeper contradicted itself about a check.
type ProveEquivocationArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
	StakeMint solana.PublicKey
	One       Said
	Other     Said
}

// ProveEquivocation returns three instructions that belong together: both checks of the keeper's signature, and the
// proof; anyone may send them. Errors: ErrInstruction, wire.ErrSignature.
func ProveEquivocation(a ProveEquivocationArgs) ([]solana.Instruction, error) {
	if !Equivocates(a.One.Statement, a.Other.Statement) {
		return nil, fmt.Errorf("%w: the statements do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Statement.Encode(), a.Other.Statement.Encode()
	return contradiction(a.Finder, a.Keeper, a.StakeMint, word{one[:], a.One.Signature}, word{other[:], a.Other.Signature})
}

// ProveManifestsArgs show that a keeper signed two manifests of one period.
type ProveManifestsArgs struct {
	Finder    solana.PublicKey // gets its share on its associated stake-token account, which must exist
	Keeper    solana.PublicKey // wallet
	StakeMint solana.PublicKey
	One       Listed
	Other     Listed
}

// ProveManifests does what ProveEquivocation does with two manifests. Errors: ErrInstruction, wire.ErrSignature.
func ProveManifests(a ProveManifestsArgs) ([]solana.Instruction, error) {
	if !TwoFaced(a.One.Manifest, a.Other.Manifest) {
		return nil, fmt.Errorf("%w: the manifests do not contradict each other", ErrInstruction)
	}
	one, other := a.One.Manifest.Encode(), a.Other.Manifest.Encode()
	return contradiction(a.Finder, a.Keeper, a.StakeMint, word{one[:], a.One.Signature}, word{other[:], a.Other.Signature})
}

// word is what a keeper has signed.
type word struct {
	message   []byte
	signature solana.Signature
}

func contradiction(finder, wallet, stakeMint solana.PublicKey, words ...word) ([]solana.Instruction, error) {
	var out []solana.Instruction
	for _, w := range words {
		if !w.signature.Verify(wallet, w.message) {
			return nil, fmt.Errorf("%w: keeper's signature: %w", ErrInstruction, records.ErrSignature)
		}
		signed, err := VerifySignature(wallet, w.signature, w.message)
		if err != nil {
			return nil, err
		}
		out = append(out, signed)
	}
	keeper := KeeperAddress(wallet)
	ix, err := bindings.NewProveEquivocationInstruction(finder, MarketAddress(), keeper, StakeVaultAddress(keeper), stakeMint,
		TokenAddress(finder, stakeMint), solana.SysVarInstructionsPubkey, solana.TokenProgramID)
	if ix, err = finish(ix, err, bindings.Instruction_ProveEquivocation); err != nil {
		return nil, err
	}
	return append(out, ix), nil
}
